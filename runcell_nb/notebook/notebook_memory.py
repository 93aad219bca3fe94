"""What the notebook keeps of its threads and files between kernels: taken up once, kept after each run."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from functools import reduce
from typing import Any

from runcell_nb.core.errors import message_of
from runcell_nb.core.sandbox import Sandbox

from .file_history import FileHistory
from .notebook_file import find_notebook, read_notebook
from .notebook_state import LoadedState, merged, state_from_metadata, state_to_metadata
from .notebook_thread import NotebookThread
from .sandbox_shelf import MAIN
from .shown_text import count_text, visible
from .turn_record import TURN_MIME, threads_from_outputs, turn_record, with_cell_ids
from .turns import ThreadBook

ASK_SECONDS = 1.0
"""How long the front end may take to answer what the notebook holds; one with 2 MB to send took 0.36 s."""


class NotebookMemory:
    """Reads and writes the three places where a notebook keeps its threads (NOTEBOOK.md, section 4).

    Args:
        shell: The IPython shell; without a kernel nothing is kept.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._keeper: Any = None
        self._read = self._asked = False
        self._kept: dict[str, Any] = {}
        self._files: str | None = None
        self._cells: list[Any] = []
        self._told: set[str] = set()
        self._news = False
        self._sequence = self._latest = 0

    async def load(
        self, namespace: Mapping[str, Any], cell_id: str | None, *, ask: bool
    ) -> LoadedState | None:
        """Return what the notebook has kept, once; None afterwards and where there is nothing.

        Args:
            namespace: Of the notebook.
            cell_id: Of the running cell; None where no front end told it.
            ask: Whether the front end can answer: a line magic blocks it.
        """
        if getattr(self._shell, "kernel", None) is None:
            return None
        self._take(await asyncio.to_thread(self._from_file, namespace, cell_id))
        if ask and cell_id is not None and not self._asked and self.has_person():
            self._take([await self._from_front_end()])
            self._asked = True
        if not self._news:  # an interrupt before this line loses nothing: the next call goes on here
            return None
        loaded = state_from_metadata(with_cell_ids(self._kept, self._cells))
        self._cells, self._news = [], False
        self._files = loaded.sandbox_files
        for problem in loaded.problems:
            if problem not in self._told:
                sys.stderr.write(f"runcell: {visible(problem)}\n")
        self._told.update(loaded.problems)
        return loaded

    def _from_file(self, namespace: Mapping[str, Any], cell_id: str | None) -> list[dict[str, Any]]:
        if self._read:
            return []
        path = find_notebook(os.environ, namespace, cell_id)
        if path is None:
            return []
        self._read = True
        notebook = read_notebook(path) or {}
        metadata, cells = notebook.get("metadata"), notebook.get("cells")
        kept = metadata.get("runcell") if isinstance(metadata, dict) else None
        outputs = threads_from_outputs(cells, kept) if isinstance(cells, list) else {}
        self._cells = cells if isinstance(cells, list) else []
        return [state for state in (kept, outputs) if isinstance(state, dict)]

    def _take(self, found: list[dict[str, Any]]) -> None:
        states = [state for state in found if state]
        if states:
            self._kept, self._news = reduce(merged, states, self._kept), True

    def forget_files(self) -> None:
        """Do not bring the kept files back: the sandbox has files of its own by now."""
        self._files = None

    def has_person(self) -> bool:
        """Return whether somebody sits at the front end: runners that execute a notebook answer nothing."""
        kernel = getattr(self._shell, "kernel", None)
        request = {} if kernel is None else kernel.get_parent() or {}
        return kernel is not None and request.get("content", {}).get("allow_stdin") is not False

    async def _from_front_end(self) -> dict[str, Any]:
        try:
            return await self._widget().ask(ASK_SECONDS) or {}
        except Exception as error:  # a front end without widgets
            sys.stderr.write(f"runcell: the front end could not be asked ({message_of(error)}).\n")
            return {}

    async def rebuild(self, name: str, sandbox: Sandbox, files: FileHistory) -> str | None:
        """Bring the files that were kept into the notebook's new main sandbox, once.

        Returns:
            A sentence on what is there again and what is gone; None where nothing had to be rebuilt.
        """
        state = self._files
        if name != MAIN or state is None:
            return None
        problem = await files.restore(sandbox, state)
        self._files = None
        count = count_text(len(await sandbox.list_files()), "file")
        rebuilt = f"The sandbox is a new one since the kernel restarted; {count} of before are back."
        return f"{rebuilt} {problem}" if problem else rebuilt

    async def keep(
        self, book: ThreadBook, files: FileHistory, sandbox_files: str | None, thread: NotebookThread
    ) -> dict[str, Any] | None:
        """Keep threads and files in the notebook.

        Args:
            book: All threads.
            files: States of the files.
            sandbox_files: State of the main sandbox now; None when that was not kept.
            thread: The one with a new turn.

        Returns:
            The record of that turn, as a MIME bundle for the cell's output; None outside a kernel.
        """
        if getattr(self._shell, "kernel", None) is None:
            return None
        self._sequence += 1
        mine = self._sequence
        kept, record = await asyncio.to_thread(self._written, book, files, sandbox_files, thread)
        if mine > self._latest:  # another run may have been kept meanwhile, with more in it
            self._latest, self._kept = mine, kept
            self._widget().keep(kept)
        return {TURN_MIME: record}

    def _written(
        self, book: ThreadBook, files: FileHistory, sandbox_files: str | None, thread: NotebookThread
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        return state_to_metadata(book, files, sandbox_files, self._kept), turn_record(thread)

    def _widget(self) -> Any:
        if self._keeper is None:
            from .keeper import MetadataKeeper

            self._keeper = MetadataKeeper()
        return self._keeper
