"""Runs whose cell has returned: one a thread; the next cell of that thread waits for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from runcell_nb.core.run import AgentRun

from .cell_run import CellRun
from .interrupt import Stopper

CLOSE_SECONDS = 10.0
"""How long runs that are stopped when the session closes may take."""


class BackgroundRuns:
    """The runs of a notebook that go on by themselves."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    async def free(self, thread: str) -> None:
        """Wait until no run in the background has a thread; however that run ends."""
        task = self._tasks.get(thread)
        if task is not None:
            await asyncio.wait({task})

    async def start(self, thread: str, run: CellRun, out: str | None, namespace: dict[str, Any]) -> None:
        """Start a run and return once it goes on by itself.

        Args:
            thread: Name of its thread.
            run: Of a cell; its view has a Stop button of its own.
            out: Name that gets the live `AgentRun`, and the `RunResult` when it is done.
            namespace: Of the notebook.

        Raises:
            RuncellError: It could not start.
        """
        loop = asyncio.get_running_loop()
        started: asyncio.Future[AgentRun[Any]] = loop.create_future()
        # The task has the context of this cell, so that what it shows lands there and nowhere else.
        task = asyncio.ensure_future(run.go(Stopper(), started.set_result))
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
        tasks = set(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            with suppress(asyncio.CancelledError):
                await asyncio.wait(tasks, timeout=CLOSE_SECONDS)

    def _ended(self, thread: str, task: asyncio.Task[Any]) -> None:
        if self._tasks.get(thread) is task:
            del self._tasks[thread]
        if not task.cancelled():
            task.exception()  # its view has told it
