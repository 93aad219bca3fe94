"""Runs whose cell has returned: one a thread; the next cell of that thread waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.run import AgentRun

from .notebook_thread import NotebookThread

Go = Callable[[Callable[[AgentRun[Any]], object]], Coroutine[Any, Any, Any]]

CLOSE_SECONDS = 10.0
"""How long runs that are stopped when the session closes may take."""


class BackgroundRuns:
    """The runs of a notebook that go on by themselves."""

    def __init__(self) -> None:
        self._tasks: dict[NotebookThread, asyncio.Task[Any]] = {}

    async def free(self, thread: NotebookThread) -> None:
        """Wait until no run in the background has a thread; however that run ends.

        Raises:
            InvalidOptionError: It runs on another event loop, which this one may be holding up.
        """
        task = self._tasks.get(thread)
        if task is None or task.done():
            return
        if task.get_loop() is not asyncio.get_running_loop():
            raise InvalidOptionError(
                f"Thread {thread.name!r} has a run in the background; wait for it, or let %%runcell be the "
                "first line of the cell."
            )
        await asyncio.wait({task})

    @property
    def going_on(self) -> bool:
        """Whether any is."""
        return bool(self._tasks)

    async def start(self, thread: NotebookThread, go: Go, out: str | None, namespace: dict[str, Any]) -> None:
        """Start a run and return once it goes on by itself.

        Args:
            thread: Its conversation.
            go: Runs a cell to its end, and tells when its session has started; its view has a Stop button.
            out: Name that gets the live `AgentRun`, and the `RunResult` when it is done.
            namespace: Of the notebook.

        Raises:
            RuncellError: It could not start.
        """
        loop = asyncio.get_running_loop()
        started: asyncio.Future[AgentRun[Any]] = loop.create_future()
        # The task has the context of this cell, so that what it shows lands there and nowhere else.
        task = asyncio.ensure_future(go(started.set_result))
        self._tasks[thread] = task
        task.add_done_callback(lambda done: self._ended(thread, done))
        try:
            either: set[asyncio.Future[Any]] = {task, started}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not started.done():
            await task  # raises why it did not start
        if out is not None and not task.done():
            namespace[out] = started.result()

    async def close(self) -> None:
        """Stop all of them, a bounded time."""
        here = asyncio.get_running_loop()
        for task in list(self._tasks.values()):
            task.get_loop().call_soon_threadsafe(task.cancel)
        tasks = {task for task in self._tasks.values() if task.get_loop() is here}
        if tasks:  # another loop may be held up by whoever waits for this
            with suppress(asyncio.CancelledError):
                await asyncio.wait(tasks, timeout=CLOSE_SECONDS)

    def _ended(self, thread: NotebookThread, task: asyncio.Task[Any]) -> None:
        if self._tasks.get(thread) is task:
            del self._tasks[thread]
        if not task.cancelled():
            task.exception()  # its view has told it
