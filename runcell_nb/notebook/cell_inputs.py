"""`--in`: variables and files of the notebook as files of the sandbox, with a note for the model."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.files import FileInput
from runcell_nb.core.jsontext import compact_json

from .disk_inputs import DiskFile, InputRoom, disk_files, read_disk_file

NOTE_HEADING = "Files put into the sandbox:"
"""First line of the paragraph that tells the model what it was given."""

MAX_NOTED = 50
"""Files that the note names; the others are counted."""


@dataclass(frozen=True, slots=True)
class CellInput:
    """One file for the sandbox and a line that describes it."""

    file: FileInput
    note: str


async def read_cell_inputs(names: Sequence[str], namespace: Mapping[str, Any]) -> list[CellInput]:
    """Read what `--in` names, in a thread; cancelling gives it up.

    Args:
        names: Variables first; what is no variable is a path, a folder or a glob on disk.
        namespace: Of the notebook.

    Raises:
        InvalidOptionError: Nothing of that name, a value of a kind that has no file form, or too much.
    """
    room = InputRoom()
    try:
        return await asyncio.to_thread(_read, names, namespace, room) if names else []
    finally:
        room.given_up.set()


def note_of(inputs: Sequence[CellInput]) -> str:
    """Return the paragraph for the model; empty without inputs."""
    if not inputs:
        return ""
    more = len(inputs) - MAX_NOTED
    counted = [f"- and {more:,} more"] if more > 0 else []
    return "\n".join([NOTE_HEADING, *(f"- {entry.note}" for entry in inputs[:MAX_NOTED]), *counted])


def _read(names: Sequence[str], namespace: Mapping[str, Any], room: InputRoom) -> list[CellInput]:
    """Find everything first: what is too much or missing is told before anything is read."""
    found = [(name, None if name in namespace else _found(name, namespace, room)) for name in names]
    inputs: list[CellInput] = []
    for name, files in found:
        if files is None:
            inputs.append(_variable(name, namespace[name]))
            room.take(name, len(inputs[-1].file.bytes or b""))
        else:
            inputs.extend(_copy(file, read_disk_file(file, room)) for file in files)
    return inputs


def _found(name: str, namespace: Mapping[str, Any], room: InputRoom) -> list[DiskFile]:
    files = disk_files(name, room)
    if not files:
        raise InvalidOptionError(
            f"--in {name!r}: no variable, file or folder of that name{_nearest(name, namespace)}."
        )
    return files


def _variable(name: str, value: Any) -> CellInput:
    if isinstance(value, str):
        return _described(
            f"{name}.txt", value.encode("utf-8", "replace"), f"text `{name}`, {len(value)} characters"
        )
    if isinstance(value, (bytes, bytearray)):
        return _described(f"{name}.bin", bytes(value), f"bytes `{name}`, {len(value)} bytes")
    if hasattr(value, "to_csv") and hasattr(value, "columns"):
        return _table(name, value)
    try:
        text = compact_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        kind = type(value).__name__
        message = f"--in {name!r}: a {kind} has no file form; give text, bytes, a DataFrame or JSON values."
        raise InvalidOptionError(message, cause=error) from error
    return _described(
        f"{name}.json", text.encode("utf-8"), f"{type(value).__name__} `{name}` as JSON{_length(value)}"
    )


def _table(name: str, frame: Any) -> CellInput:
    columns = [f"{column} ({dtype})" for column, dtype in list(frame.dtypes.items())[:40]]
    more = "" if len(frame.columns) <= 40 else f" and {len(frame.columns) - 40} more"
    note = f"DataFrame `{name}`, {len(frame):,} rows, columns: {', '.join(columns)}{more}"
    return _described(f"{name}.csv", frame.to_csv(index=False).encode("utf-8"), note)


def _copy(file: DiskFile, data: bytes) -> CellInput:
    return _described(file.target, data, f"a copy of a file on disk, {len(data)} bytes")


def _described(path: str, data: bytes, note: str) -> CellInput:
    line = " ".join(f"{path} ({note})".splitlines())  # names of files and columns may hold line ends
    return CellInput(FileInput(path, bytes=data), line)


def _length(value: Any) -> str:
    return f", {len(value):,} entries" if isinstance(value, (list, tuple, dict, set)) else ""


_SHELL_NAMES = frozenset(("In", "Out", "exit", "quit", "open", "get_ipython"))
"""What IPython puts into every namespace; nobody means these."""


def _nearest(name: str, namespace: Mapping[str, Any]) -> str:
    known = [known for known in list(namespace) if not known.startswith("_") and known not in _SHELL_NAMES]
    close = difflib.get_close_matches(name, known, n=3)
    return f" (did you mean {', '.join(close)}?)" if close else ""
