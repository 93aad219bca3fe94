"""Async code for plain callers: one event loop on one daemon thread, started on first use.

One loop for all calls, because libraries below (HTTP clients, logging workers) stay bound to the
first loop that used them; on a thread of its own, so that it also works where a loop is running.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import InvalidOptionError

T = TypeVar("T")

_STOP_SECONDS = 6.0
_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


@dataclass(slots=True)
class _Caller:
    """Who waits in `run_blocking`: the event loop of its thread stands still until that is over."""

    loop: asyncio.AbstractEventLoop | None
    waits: bool = True


_callers: ContextVar[tuple[_Caller, ...]] = ContextVar("runcell_callers", default=())


def waits_for_us(loop: asyncio.AbstractEventLoop) -> bool:
    """Tell whether an event loop stands still until the work that asks this is done."""
    return any(caller.waits and caller.loop is loop for caller in _callers.get())


def run_blocking(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end and return its value.

    Args:
        work: Makes the coroutine; called on the loop's thread.

    Raises:
        InvalidOptionError: Called from the loop's own thread, where it would wait for itself.
        BaseException: What the coroutine raised; KeyboardInterrupt after it was stopped.
    """
    loop = _running_loop()
    if threading.current_thread() is _thread:
        raise InvalidOptionError(
            "run_sync was called from inside an async tool or callback; use `await agent.run(…)`."
        )
    stopped = threading.Event()

    async def whole() -> T:
        try:
            return await work()
        finally:
            stopped.set()

    caller = _Caller(asyncio._get_running_loop())
    token = _callers.set((*_callers.get(), caller))  # the coroutine's context is a copy of this one
    try:
        future = asyncio.run_coroutine_threadsafe(whole(), loop)
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        _wait_for(stopped)
        raise
    except CancelledError:
        raise asyncio.CancelledError from None
    finally:
        caller.waits = False  # work that outlives the call has the context still
        _callers.reset(token)


def _wait_for(stopped: threading.Event) -> None:
    """Wait a bounded time; more interrupts meanwhile do nothing more."""
    deadline = time.monotonic() + _STOP_SECONDS
    while not stopped.is_set() and time.monotonic() < deadline:
        with suppress(KeyboardInterrupt):
            stopped.wait(deadline - time.monotonic())


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop, _thread
    with _lock:
        if _loop is None or _thread is None or not _thread.is_alive():
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="runcell-sync", daemon=True)
            _thread.start()
            atexit.register(_close, _loop, _thread)
        return _loop


def _close(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """End the loop before the interpreter: connections that are still open close themselves with it."""
    loop.call_soon_threadsafe(loop.stop)
    thread.join(_STOP_SECONDS)
    if not thread.is_alive():
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
