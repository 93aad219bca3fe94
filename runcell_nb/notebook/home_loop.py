"""Which event loop a widget lives on, and how calls from other threads get there.

Widgets are touched from more threads than one: a kernel may deliver messages of the front end on another
thread, and a nested magic runs on the thread of the sync bridge. Timers of a loop are not thread-safe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVarTuple

Arguments = TypeVarTuple("Arguments")


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that is running in this thread, if one is."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def call_at_home(
    home: asyncio.AbstractEventLoop | None,
    work: Callable[[*Arguments], object],
    *arguments: *Arguments,
) -> None:
    """Call at once on the loop's own thread, else hand the call over; calls stay in order.

    Args:
        home: Where the widget lives; None for a widget without a loop, which is called at once.
        work: What to do.
        *arguments: Its arguments.
    """
    if home is None or running_loop() is home:
        work(*arguments)
    else:
        home.call_soon_threadsafe(work, *arguments)
