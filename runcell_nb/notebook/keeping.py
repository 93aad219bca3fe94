"""When the notebook's threads and sandboxes are taken up and kept: after each run, command and action."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from runcell_nb.core.errors import message_of

from .file_history import FileHistory
from .home_loop import call_at_home, running_loop
from .notebook_memory import Contents, NotebookMemory
from .notebook_thread import NotebookThread
from .sandbox_shelf import SandboxShelf
from .shown_text import visible
from .thread_joining import joined
from .turns import ThreadBook

FINISH_SECONDS = 5.0
"""How long an interrupted cell may still take to keep its turn."""


class Kept(Protocol):
    """What a notebook keeps; `NotebookSession` documents each."""

    book: ThreadBook
    shelf: SandboxShelf
    files: FileHistory


class Keeping:
    """Takes up what a notebook has kept, and keeps what has changed.

    Args:
        shell: The IPython shell. To be made on the thread of its event loop.
        notebook: What is kept; its threads are replaced when others are taken up.
    """

    def __init__(self, shell: Any, notebook: Kept) -> None:
        self._notebook = notebook
        self._home = None if getattr(shell, "kernel", None) is None else running_loop()
        self._memory = NotebookMemory(shell, self.soon)
        self._loaded = self._due = False
        self._working = 0
        self._unsaid: list[str] = []  # until a cell or command runs, where somebody reads it
        self._tasks: set[asyncio.Task[None]] = set()
        self._kept = self._marks()

    async def load(self, namespace: Mapping[str, Any], cell_id: str | None, *, awaiting: bool) -> None:
        """Take up, once, what the notebook has kept of its threads and files.

        Args:
            namespace: Of the notebook.
            cell_id: Of the running cell; None where no front end told it.
            awaiting: Whether the cell awaits this, so that its front end can answer meanwhile.
        """
        if not self._loaded:
            await self._memory.look(namespace, cell_id, ask=awaiting)
        await self._take_in()
        self._loaded = self._loaded or awaiting
        notes, self._unsaid = self._unsaid, []
        for note in notes:
            sys.stderr.write(f"runcell: {visible(note)}\n")

    def has_person(self) -> bool:
        """Return whether somebody sits at the front end: runners that execute a notebook answer nothing."""
        return self._memory.has_person()

    @property
    def memory(self) -> NotebookMemory:
        """Where the notebook's metadata is read and written."""
        return self._memory

    async def turn(self, thread: NotebookThread) -> dict[str, Any] | None:
        """Keep a new turn, whatever interrupts the cell meanwhile.

        Args:
            thread: With the turn.

        Returns:
            The record of the turn, as a MIME bundle for the cell's output; None outside a kernel.

        Raises:
            Exception: It could not be kept.
        """
        await _to_its_end(self._keep())
        return await self._memory.record(thread)

    async def changes(self) -> None:
        """Keep what is not as it was kept last; a fault is one line, since what was done is done."""
        try:
            await self._take_in()
            if self._is_new():
                await _to_its_end(self._keep())
        except Exception as error:
            sys.stderr.write(f"runcell: this change is not kept in the notebook ({_said(error)}).\n")

    def soon(self) -> None:
        """Keep what has changed as soon as the loop comes to it; may be called on any thread.

        While cells run it waits for their end: what they are about is in between.
        """
        if self._home is not None:
            call_at_home(self._home, self._start)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Tell that a cell runs: until its end, threads keep their places."""
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1
            self.soon()  # a run that failed has put back what others may have kept meanwhile

    def _start(self) -> None:
        if self._working or not (self._memory.has_news or self._is_new()):
            return
        task = asyncio.ensure_future(self.changes())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _take_in(self) -> None:
        """Take in what the memory has found."""
        state = self._memory.news()
        if state is None:
            return
        notebook = self._notebook
        unchanged = self._marks() == self._kept
        notebook.book, notes = joined(notebook.book, state.book, replacing=not self._working)
        notebook.files.take_in(state.files)
        self._unsaid += notes
        await notebook.shelf.take_up(state.shelf)
        if unchanged and not notes:
            self._kept = self._marks()
        self._due = self._memory.has_kept  # which the front end has not taken, then

    async def _keep(self) -> None:
        marks = self._marks()
        await self._memory.keep(self._contents)
        self._kept, self._due = marks, False

    def _is_new(self) -> bool:
        return self._due or self._marks() != self._kept

    def _contents(self) -> Contents:
        notebook = self._notebook
        return notebook.book, notebook.files, notebook.shelf.kept()

    def _marks(self) -> object:
        """Return what tells whether there is anything new to keep; cheap, and equal for equal contents."""
        book = self._notebook.book
        threads = [
            (thread.name, thread.thread.id, thread.rewound_from, thread.made_by, tuple(thread.turns))
            for thread in book
        ]
        return book.active.name, threads, self._notebook.shelf.kept(), id(self._memory.recordings)


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await work that an interrupt does not stop, unless it takes long."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=FINISH_SECONDS)
        raise


def _said(error: Exception) -> str:
    return visible(message_of(error))
