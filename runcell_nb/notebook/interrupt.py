"""The kernel's interrupt stops the run of the cell, at once and once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupt_stops(stop: Callable[[], object], loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """While the block runs, let SIGINT call `stop` on the loop.

    The kernel's own handler cancels the cell's task through the loop without waking it: with an idle
    loop that can take many seconds. A call through `call_soon_threadsafe` wakes it. Further interrupts
    of the same cell do nothing more: every clean-up has a time limit.

    Args:
        stop: Stops the run; calling it again is harmless.
        loop: Where the run lives.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread has signals; a kernel's subshell cancels the cell's task instead
        return

    def handle(_signal: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
