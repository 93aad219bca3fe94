"""`--in`: variables and files of the notebook as files of the sandbox, with a note for the model."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.files import FileInput
from runcell_nb.core.jsontext import compact_json

MAX_INPUT_FILES = 10_000
MAX_INPUT_BYTES = 512 * 1024 * 1024

NOTE_HEADING = "Files put into the sandbox:"
"""First line of the paragraph that tells the model what it was given."""


@dataclass(frozen=True, slots=True)
class CellInput:
    """One file for the sandbox and a line that describes it."""

    file: FileInput
    note: str


def cell_inputs(names: Iterable[str], namespace: Mapping[str, Any]) -> list[CellInput]:
    """Read what `--in` names.

    Args:
        names: Variables first; what is no variable is a path, a folder or a glob on disk.
        namespace: Of the notebook.

    Raises:
        InvalidOptionError: Nothing of that name, a value of a kind that has no file form, or too much.
    """
    found = [entry for name in names for entry in _inputs_of(name, namespace)]
    total = sum(len(entry.file.bytes or b"") for entry in found)
    if len(found) > MAX_INPUT_FILES or total > MAX_INPUT_BYTES:
        raise InvalidOptionError(f"--in names {len(found)} files of {total} bytes; narrow it down.")
    return found


def note_of(inputs: Iterable[CellInput]) -> str:
    """Return the paragraph for the model; empty without inputs."""
    lines = [f"- {entry.note}" for entry in inputs]
    return "\n".join([NOTE_HEADING, *lines]) if lines else ""


def _inputs_of(name: str, namespace: Mapping[str, Any]) -> list[CellInput]:
    if name in namespace:
        return [_variable(name, namespace[name])]
    path = Path(name).expanduser()
    if path.is_file():
        return [_file(path, path.name)]
    if path.is_dir():
        return [
            _file(file, f"{path.resolve().name}/{file.relative_to(path).as_posix()}")
            for file in _files_below(path)
        ]
    # Path.glob takes no absolute pattern.
    matches = [Path(match) for match in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207
    files = [
        _file(match, match.name if match.is_absolute() else match.as_posix())
        for match in matches
        if match.is_file()
    ]
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


def _file(path: Path, target: str) -> CellInput:
    data = path.read_bytes()
    return _described(target, data, f"a copy of a file on disk, {len(data)} bytes")


def _described(path: str, data: bytes, note: str) -> CellInput:
    return CellInput(FileInput(path, bytes=data), f"{path} ({note})")


def _files_below(folder: Path) -> list[Path]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    if len(files) > MAX_INPUT_FILES:
        raise InvalidOptionError(
            f"--in {str(folder)!r} has more than {MAX_INPUT_FILES} files; name a part of it."
        )
    return files


def _length(value: Any) -> str:
    return f", {len(value):,} entries" if isinstance(value, (list, tuple, dict, set)) else ""


def _nearest(name: str, namespace: Mapping[str, Any]) -> str:
    known = [known for known in namespace if not known.startswith("_")]
    close = difflib.get_close_matches(name, known, n=3)
    return f" (did you mean {', '.join(close)}?)" if close else ""
