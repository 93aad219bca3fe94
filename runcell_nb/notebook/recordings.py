"""What the notebook has recorded: where it is, what of it a cell is answered from, and what is added."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from runcell_nb.core.gateway import ModelGateway
from runcell_nb.models.recorded_cell import RecordedCell, prompt_digest
from runcell_nb.models.recording import Recording
from runcell_nb.models.recording_file import beside
from runcell_nb.models.recording_reading import RecordingError
from runcell_nb.models.replay_gateway import HOW_TO_RENEW
from runcell_nb.models.scripted import ScriptedModel

from .notebook_by_cells import ids_of, notebooks_with
from .notebook_file import read_notebook
from .notebook_memory import NotebookMemory
from .playback import AskedCell, Playback
from .replay_mode import Mode, ModeChoice, chosen_mode, recording_is_on
from .replay_trust import ReplayTrust, calls_outside
from .settings import Runcell
from .thread_draft import json_bytes

MAX_IN_NOTEBOOK = 256 * 1024
"""Bytes of JSON from which a recording goes into a file beside the notebook."""

MAX_WITHOUT_FILE = 4 * 1024 * 1024
"""Bytes of JSON that the notebook itself takes."""

_TOO_BIG = (
    "The recording is too big for the notebook, and where that is on disk is not known: what is new is in "
    "this kernel only. Save the notebook, or set RUNCELL_NOTEBOOK to its path, and run the cell again."
)
_TOO_BIG_FOR_NOTEBOOK = (
    "The recording is too big for the notebook: what is new is in this kernel only. "
    "%runcell record file puts all of it beside the notebook."
)

PATH_VARIABLE = "RUNCELL_RECORDING"
"""Path of the notebook, or of the recording's own file, where a kernel cannot find it by itself."""

T = TypeVar("T")

Place = Literal["notebook", "file"]


@dataclass(frozen=True, slots=True)
class FoundCell:
    """What is recorded of a cell.

    Attributes:
        cell: Its id.
        choice: The mode that counts for it.
        known: None for nothing.
    """

    cell: str
    choice: ModeChoice
    known: RecordedCell | None


class NotebookRecordings:
    """The recording of a notebook, for all cells of a kernel.

    Args:
        shell: Of the kernel.
        settings: Of the user.
        memory: Where the notebook's metadata is.

    Attributes:
        mode: Of the last `%runcell replay MODE`; None before one.
        is_on: Of the last `%runcell record on` or `off`; None before one.
        timing: Whether replays take the time that the model took.
        place: Where it was asked to be; None for the notebook while it is small.
        replayed: Requests of this kernel that were answered from the recording.
        problem: Why the recording cannot be read; None when it can.
    """

    def __init__(self, shell: Any, settings: Runcell, memory: NotebookMemory) -> None:
        self._shell, self._settings, self._memory = shell, settings, memory
        self._trust = ReplayTrust(shell)
        self._recording: Recording | None = None
        self._guard = threading.Lock()  # of its content, for some ten milliseconds
        self._looked = False
        self._file: Path | None = None
        self._taken: dict[RecordedCell, str] = {}  # matched by what they ask, by which cell
        self._ids: list[tuple[str, str]] = []  # of the notebook's cells, with their sources, in a runner
        self._all_ids: set[str] = set()
        self._own: set[str] = set()  # cells that this kernel recorded itself
        self.mode: Mode | None = None
        self.is_on: bool | None = None
        self.timing = False
        self.place: Place | None = None
        self.replayed = 0
        self.problem: RecordingError | None = None

    @property
    def recording(self) -> Recording | None:
        """What is recorded; None for nothing, or for what cannot be read."""
        return self._recording

    @property
    def file(self) -> Path | None:
        """The file beside the notebook in which the recording is; None when it is in the notebook."""
        return self._file

    def choice(self, option: str | None = None) -> ModeChoice:
        """Return the mode that counts for a cell.

        Args:
            option: Of the cell; None without one.

        Raises:
            InvalidOptionError: A variable or setting is no mode.
        """
        return chosen_mode(os.environ, option, self.mode, self._settings.replay)

    @property
    def records(self) -> bool:
        """Whether what is asked live is recorded."""
        return recording_is_on(os.environ, self.is_on)

    async def load(self, *, by_cells: bool = False) -> None:
        """Look for the recording, once it is needed.

        Args:
            by_cells: Whether the running cell tells which notebook this is; the first cells of many
                notebooks, which only set things up, are alike.

        Raises:
            RecordingError: Two notebooks of the folder could be this one, and are recorded differently.
        """
        came_late = self._recording is None and self.problem is None and self._memory.recordings is not None
        if self._looked and not came_late:
            return
        try:
            self._recording = await asyncio.to_thread(self._found, by_cells)
        except _AmbiguousError:
            raise
        except RecordingError as error:
            self.problem = error
        placed = (self._memory.recordings, os.environ.get(PATH_VARIABLE), self._memory.path)
        self._looked = by_cells or any(placed)

    def _found(self, by_cells: bool) -> Recording | None:
        value = self._memory.recordings
        if value is not None:
            return Recording.from_dict(value)
        named = os.environ.get(PATH_VARIABLE, "").strip()
        if named:
            path = Path(named).expanduser()
            if path.suffix == ".ipynb":
                self._know(path)
            return self._read(path)
        if self._memory.path is not None:
            return self._read(self._memory.path)
        return self._by_cells() if by_cells else None

    def _read(self, path: Path) -> Recording | None:
        """Return the recording of a path; None where nothing is recorded yet."""
        notebook = path.suffix == ".ipynb"
        own = beside(path) if notebook else path
        self._file = own if own.exists() else None
        if notebook and self._file is None and not _has_recordings(path):
            return None
        if not notebook and self._file is None:
            self._file = path
            return None
        recording = Recording.read(path)
        if notebook and _has_recordings(path):
            self._file = None
        return recording

    def _by_cells(self) -> Recording | None:
        """Return the recording of the notebook whose cells are running: runners tell no name."""
        running, before = self._sources()
        paths = notebooks_with(Path.cwd(), running, before)
        found = {path: recording for path in paths if (recording := self._read(path)) is not None}
        if not found:
            if len(paths) == 1:
                self._know(paths[0])
            return None
        (first, recording), *others = found.items()
        for path, other in others:
            if other.to_dict() != recording.to_dict():
                raise _AmbiguousError(
                    f"This could be {first.name!r} or {path.name!r}, and they are recorded differently; "
                    f"set {PATH_VARIABLE} to the path of the notebook."
                )
        self._know(first)
        return self._read(first)

    def _know(self, path: Path) -> None:
        """Learn the ids of the cells of a notebook."""
        self._ids = ids_of(read_notebook(path))
        self._all_ids = {cell for _, cell in self._ids}

    def _sources(self) -> tuple[str, Sequence[str]]:
        kernel = getattr(self._shell, "kernel", None)
        request = {} if kernel is None else kernel.get_parent() or {}
        history = getattr(getattr(self._shell, "history_manager", None), "input_hist_raw", [])
        return str(request.get("content", {}).get("code") or ""), [str(source) for source in history]

    async def find(
        self, cell: str, prompt: str, live: str | ModelGateway, option: Mode | None
    ) -> FoundCell | None:
        """Return what is recorded of a cell that is about to run, once for each run.

        Args:
            cell: Its id, or its place ('#3').
            prompt: As typed.
            live: What answers when the recording does not.
            option: Of the cell.

        Returns:
            None where it is neither replayed nor recorded: a script says what it is told to say in any case.

        Raises:
            InvalidOptionError: A mode that is none.
            RecordingError: The recording is needed and cannot be read.
        """
        choice = self.choice(option)
        if isinstance(live, ScriptedModel) or (choice.mode == "off" and not self.records):
            return None
        await self.load(by_cells=True)
        if self.problem is not None and (choice.mode != "off" or not recording_is_on(os.environ, None)):
            raise RecordingError(
                f"{self.problem}\n{HOW_TO_RENEW} (In a notebook %runcell record clear comes first.)",
                newer=self.problem.newer,
                cause=self.problem,
            )
        named = self._named(cell)
        return FoundCell(named, choice, self._known(named, prompt))

    async def playback(self, found: FoundCell, asked: AskedCell, live: str | ModelGateway) -> Playback:
        """Return how a cell is replayed and recorded.

        Args:
            found: By `find`.
            asked: What the cell asks.
            live: What answers when the recording does not.

        Raises:
            InvalidOptionError: A replay that is not trusted.
        """
        mode, known = found.choice.mode, found.known
        playback = Playback(
            asked,
            live,
            mode,
            self._recording,
            known,
            is_recorded=self.records and mode != "strict",
            timing=self.timing,
        )
        source = playback.source
        if source is not None and (known is None or known.cell not in self._own):
            await self._trust.check(calls_outside(source, asked, strict=mode == "strict"))
        return playback

    def _known(self, cell: str, prompt: str) -> RecordedCell | None:
        """Return what is recorded of a cell: by its id, else by what it asks, in order."""
        cells = [] if self._recording is None else self._recording.cells
        same = next((known for known in cells if known.cell == cell), None)
        if same is not None:
            return same
        digest, by_place = prompt_digest(prompt), cell.startswith("#")
        alike = [
            known
            for known in cells
            if known.prompt_digest == digest
            and (by_place or known.cell.startswith("#"))
            and self._taken.get(known, cell) == cell
        ]
        if not alike:
            return None
        self._taken[alike[0]] = cell
        return alike[0]

    def _named(self, cell: str) -> str:
        """Return the id of the running cell where only its place is known: from the notebook's file.

        Args:
            cell: Its id, or its place ('#3').
        """
        running = self._sources()[0].strip()
        found = next((pair for pair in self._ids if pair[0] == running), None)
        if found is None or not cell.startswith("#"):
            return cell
        self._ids.remove(found)
        return found[1]

    async def take(self, playback: Playback, *, failed: bool) -> str | None:
        """Take what a run has recorded.

        Args:
            playback: Of the run.
            failed: The run failed by itself.

        Returns:
            A sentence for the person; None for nothing to say.
        """
        self.replayed += playback.replayed
        new = playback.recorded(failed=failed)
        if new is None:
            return None
        fresh, cell = new
        recording = self._recording = self._recording or Recording()
        self._own.add(cell.cell)
        kept = self._all_ids | self._own  # a front end may have cells that its file has not yet
        with self._guard:
            recording.renew(fresh)
            recording.record_cell(cell)
            gone = [one.cell for one in recording.cells if self._all_ids and one.cell not in kept]
            if playback.known is not None and playback.known.cell != cell.cell:
                gone.append(playback.known.cell)  # it was recorded by its place
            for one in gone:
                recording.forget_cell(one)
        return await self.store()

    async def store(self) -> str | None:
        """Put the recording where it belongs: into the notebook, or into a file beside it.

        Returns:
            A sentence when the place is a new one.

        Raises:
            OSError: The file cannot be written.
        """
        recording = self._recording
        value = None if recording is None else await asyncio.to_thread(self._guarded, recording.to_dict)
        path = self._own_file()
        big = value is not None and json_bytes(value) > MAX_IN_NOTEBOOK
        to_file = path is not None and (
            self.place == "file" or (self.place is None and (big or self._file is not None))
        )
        if value is not None and not to_file and json_bytes(value) > MAX_WITHOUT_FILE:
            return _TOO_BIG if path is None else _TOO_BIG_FOR_NOTEBOOK
        if recording is None or value is None or not to_file or path is None:
            self._memory.put_recordings(value)
            self._file = None  # one that is there stays, until the notebook is saved at least
            return None
        await asyncio.to_thread(self._guarded, partial(recording.write, path))
        self._memory.put_recordings(None)
        new, self._file = self._file != path, path
        return f"The recording is in {path.name}, beside the notebook." if new else None

    def _guarded(self, read: Callable[[], T]) -> T:
        """Read the recording on a thread, while no other run adds to it."""
        with self._guard:
            return read()

    def _own_file(self) -> Path | None:
        if self._file is not None:
            return self._file
        named = os.environ.get(PATH_VARIABLE, "").strip()
        path = self._memory.path or (Path(named).expanduser() if named else None)
        return None if path is None else beside(path) if path.suffix == ".ipynb" else path

    async def clear(self) -> Path | None:
        """Forget the recording, also one that cannot be read.

        Returns:
            The file beside the notebook that was renamed: `.old` follows its name now; None without one.
        """
        file = self._own_file()
        there = file is not None and file.exists()
        if file is not None and there:
            await asyncio.to_thread(file.replace, file.with_name(file.name + ".old"))
        self._recording, self.problem, self._looked = None, None, True
        self._memory.put_recordings(None)
        return file if there else None


class _AmbiguousError(RecordingError):
    """More than one notebook could be meant."""


def _has_recordings(notebook: Path) -> bool:
    content: Any = read_notebook(notebook)
    for name in ("metadata", "runcell", "recordings"):
        content = content.get(name) if isinstance(content, dict) else None
    return content is not None
