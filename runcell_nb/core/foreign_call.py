"""Calls a host's own function: whatever it raises becomes an error that the model reads.

A function of the user's may call `sys.exit`, run off the end of an iterator or sleep for minutes. asyncio
passes `SystemExit` on to whoever runs the loop (a notebook's kernel, which then dies), never delivers
`StopIteration`, and keeps a few threads for everything, which a handful of sleeping tools would block.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .errors import message_of
from .outcome import ToolFailure


async def call_foreign(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a sync function on a thread of its own, or await an async one.

    Args:
        function: What to call; a sync one may return an awaitable.
        *args: Positional arguments.
        **kwargs: Keyword arguments.

    Raises:
        ToolFailure: The function raised; the message has the class and the text.
        asyncio.CancelledError: The calling task was cancelled. A sync function then goes on by itself.
    """
    value, error = await settled(function, *args, **kwargs)
    if error is not None:
        raise _failure(error)
    return value


async def settled(
    function: Callable[..., Any], *args: Any, **kwargs: Any
) -> tuple[Any, BaseException | None]:
    """Call a function as `call_foreign` does and return its value and what it raised.

    Raises:
        asyncio.CancelledError: The calling task was cancelled. A sync function then goes on by itself.
    """
    if inspect.iscoroutinefunction(function):
        value = function(*args, **kwargs)
    else:
        value, error = await _in_thread(lambda: function(*args, **kwargs))
        if error is not None or not inspect.isawaitable(value):
            return value, error
    try:
        return await value, None
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        return None, error
    except GeneratorExit:
        raise
    except BaseException as error:
        return None, error


def is_cancelled() -> bool:
    """Return whether somebody has asked to cancel the current task, delivered or not."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def heed_cancellation() -> None:
    """End a cancelled task also where what it waited for has swallowed the cancellation.

    Raises:
        asyncio.CancelledError: The task was cancelled.
    """
    if is_cancelled():
        raise asyncio.CancelledError


def _in_thread(call: Callable[[], Any]) -> asyncio.Future[tuple[Any, BaseException | None]]:
    """Run a call on a daemon thread; the future gets its value and what it raised."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def deliver(outcome: tuple[Any, BaseException | None]) -> None:
        if not done.done():
            done.set_result(outcome)

    def work() -> None:
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = (call(), None)
        except BaseException as error:
            outcome = (None, error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, outcome)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=[work], name="runcell-tool", daemon=True).start()
    return done


def _failure(error: BaseException) -> ToolFailure:
    if isinstance(error, ToolFailure):
        return error
    return ToolFailure(f"{type(error).__name__}: {message_of(error)}")
