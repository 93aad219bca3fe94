"""What the notebook keeps of its threads and files between kernels: taken up once, kept after each run."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from runcell_nb.core.errors import message_of

from .file_history import FileHistory
from .kept_sandboxes import KeptShelf
from .notebook_file import find_notebook, read_notebook
from .notebook_state import LoadedState, merged, state_from_metadata, state_to_metadata
from .notebook_thread import NotebookThread
from .shown_text import visible
from .turn_record import TURN_MIME, threads_from_outputs, turn_record, with_cell_ids
from .turns import ThreadBook

Contents = tuple[ThreadBook, FileHistory, KeptShelf]
"""All threads, states of the files, and the sandboxes, as they are at one moment."""

ASK_SECONDS = 1.0
"""How long the front end may take to answer what the notebook holds; one with 2 MB to send took 0.36 s."""


class NotebookMemory:
    """Reads and writes the three places where a notebook keeps its threads (NOTEBOOK.md, section 4).

    Args:
        shell: The IPython shell; without a kernel nothing is kept.
        told: Is called, on any thread, when a front end tells unasked what it holds: see `news`.

    Attributes:
        path: Of the notebook's file; None while it is not known.
    """

    def __init__(self, shell: Any, told: Callable[[], object] = lambda: None) -> None:
        self._shell = shell
        self._tell = told
        self._keeper: Any = None
        self._read = self._asked = False
        self._kept: dict[str, Any] = {}
        self._found: list[dict[str, Any]] = []
        self._seen: list[dict[str, Any]] = []
        self._cells: list[Any] = []
        self._told: set[str] = set()
        self._recordings: dict[str, Any] | None = None
        self.path: Path | None = None
        self._sequence = self._latest = 0

    async def look(self, namespace: Mapping[str, Any], cell_id: str | None, *, ask: bool) -> None:
        """Look once, where the notebook may be, for what it has kept; `news` then tells it.

        Args:
            namespace: Of the notebook.
            cell_id: Of the running cell; None where no front end told it.
            ask: Whether the front end can answer: a line magic blocks it.
        """
        if getattr(self._shell, "kernel", None) is None:
            return
        self._found += await asyncio.to_thread(self._from_file, namespace, cell_id)
        if ask and cell_id is not None and not self._asked and self.has_person():
            self._found += await self._from_front_end()
            self._asked = True

    def news(self) -> LoadedState | None:
        """Return what was found since the last call; None when that is nothing.

        Whoever calls takes it in before anything is kept: a front end then lets it be replaced.
        """
        found = list(self._found)
        if not found:
            return None
        state = with_cell_ids(reduce(merged, found, {}), self._cells)
        loaded = state_from_metadata(state)
        self._kept = self._with_recordings(merged(self._kept, state))
        self._seen += found
        del self._found[: len(found)]  # more may have come on another thread
        self._cells = []
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
        self._read, self.path = True, path
        notebook = read_notebook(path) or {}
        metadata, cells = notebook.get("metadata"), notebook.get("cells")
        kept = metadata.get("runcell") if isinstance(metadata, dict) else None
        outputs = threads_from_outputs(cells, kept) if isinstance(cells, list) else {}
        self._cells = cells if isinstance(cells, list) else []
        return [state for state in (kept, outputs) if isinstance(state, dict)]

    def has_person(self) -> bool:
        """Return whether somebody sits at the front end: runners that execute a notebook answer nothing."""
        kernel = getattr(self._shell, "kernel", None)
        request = {} if kernel is None else kernel.get_parent() or {}
        return kernel is not None and request.get("content", {}).get("allow_stdin") is not False

    async def _from_front_end(self) -> list[dict[str, Any]]:
        try:
            found = await self._widget().ask(ASK_SECONDS)
        except Exception as error:  # a front end without widgets
            sys.stderr.write(f"runcell: the front end could not be asked ({message_of(error)}).\n")
            return []
        return [found] if found else []

    @property
    def recordings(self) -> Any:
        """The value of `recordings` in the notebook's metadata; None for none."""
        return self._kept.get("recordings")

    def put_recordings(self, value: dict[str, Any] | None) -> None:
        """Let the notebook have these recordings the next time that it is kept.

        Args:
            value: Plain JSON; None for none.
        """
        self._recordings = {} if value is None else value
        self._kept = self._with_recordings(self._kept)

    def _with_recordings(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return a state with what this kernel has recorded, whatever others hold."""
        if self._recordings is None:
            return state
        others = {key: value for key, value in state.items() if key != "recordings"}
        return {**others, "recordings": self._recordings} if self._recordings else others

    @property
    def has_news(self) -> bool:
        """Whether `news` has something to tell."""
        return bool(self._found)

    @property
    def has_kept(self) -> bool:
        """Whether anything was kept by this kernel."""
        return self._latest > 0

    def _held(self, state: dict[str, Any]) -> None:
        """Take what a front end holds and has not let itself be overwritten; it can come on any thread."""
        self._found.append(state)
        self._tell()

    async def keep(self, now: Callable[[], Contents]) -> None:
        """Keep threads and files in the notebook; does nothing outside a kernel.

        Args:
            now: Returns what there is; is called again when more was found meanwhile.

        Raises:
            ValueError: What the notebook holds cannot be written again; it stays.
        """
        if getattr(self._shell, "kernel", None) is None:
            return
        self._sequence += 1
        mine, before = self._sequence, None
        while before is not self._kept:
            if mine < self._latest:
                return  # another call that began later has kept more
            before = self._kept
            kept = await asyncio.to_thread(state_to_metadata, *now(), before)
        self._latest, self._kept = mine, kept
        widget = self._widget()
        for held in self._seen:
            widget.saw(held)
        self._seen = []
        widget.keep(kept)

    async def record(self, thread: NotebookThread) -> dict[str, Any] | None:
        """Return the record of a thread's last turn, as a MIME bundle for the cell's output.

        None outside a kernel.
        """
        if getattr(self._shell, "kernel", None) is None:
            return None
        return {TURN_MIME: await asyncio.to_thread(turn_record, thread)}

    def _widget(self) -> Any:
        if self._keeper is None:
            from .keeper import MetadataKeeper

            self._keeper = MetadataKeeper(self._held)
        return self._keeper
