"""What the Stop button and the kernel's interrupt do: they stop what the cell is at, at once and once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from runcell_nb.core.errors import TurnError

from .run_end import STOPPED

T = TypeVar("T")


class Stopper:
    """Stops whatever the cell is at: first the work that prepares the run, then the run. Call it to stop."""

    def __init__(self) -> None:
        self._stop: Callable[[], object] | None = None
        self._called = False

    def __call__(self) -> None:
        """Stop what is going on; a call before anything goes on stops what comes first."""
        if self._called:
            return  # a second one would only disturb the clean-up of the first
        self._called = True
        if self._stop is not None:
            self._stop()

    def stops(self, stop: Callable[[], object]) -> None:
        """From now on stopping means calling `stop`; more than one call of it must be harmless."""
        self._stop = stop
        if self._called:
            stop()

    async def during(self, work: Coroutine[Any, Any, T]) -> T:
        """Await work that a stop cancels.

        Raises:
            TurnError: It was stopped.
        """
        task = asyncio.ensure_future(work)
        self.stops(task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            if not self._called:
                raise
            raise TurnError(STOPPED, cause=STOPPED) from None


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
