"""Recordings in files: one of their own, within a notebook, or beside it."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from runcell_nb.core.errors import InvalidOptionError, message_of

from .recording import Recording
from .recording_reading import RecordingError, recording_from_dict

MAX_BYTES = 64 * 1024 * 1024
"""Of a file that is read as a recording."""

BESIDE = ".runcell.json"
"""What follows the name of a notebook, without `.ipynb`, in the name of the recording beside it."""


def beside(notebook: Path) -> Path:
    """Return where the recording of a notebook is when it is not in it."""
    return notebook.with_name(notebook.stem + BESIDE)


def read_recording(path: Path) -> Recording:
    """Read a recording; `Recording.read` documents it."""
    if path.suffix != ".ipynb":
        return _recording(_json(path), path)
    stored: Any = _json(path)
    for name in ("metadata", "runcell", "recordings"):
        stored = stored.get(name) if isinstance(stored, dict) else None
    if stored is not None:
        return _recording(stored, path)
    if beside(path).exists():
        return _recording(_json(beside(path)), beside(path))
    raise RecordingError(
        f"Nothing is recorded in {str(path)!r} or beside it; "
        "record it with %runcell record and run its cells."
    )


def write_recording(recording: Recording, path: Path) -> None:
    """Write a recording; `Recording.write` documents it."""
    if path.suffix == ".ipynb":
        raise InvalidOptionError(
            f"A recording is not written into a notebook by this, got {str(path)!r}; "
            f"write {beside(path).name!r}."
        )
    text = json.dumps(recording.to_dict(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(name, path)  # noqa: PTH105 - the same, without another object
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _recording(value: Any, path: Path) -> Recording:
    try:
        return recording_from_dict(value)
    except RecordingError as error:
        raise RecordingError(f"{path}: {error}", newer=error.newer, cause=error) from error


def _json(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        said = error.strerror or message_of(error)
        raise RecordingError(
            f"There is no recording to read at {str(path)!r} ({said}); record it first.", cause=error
        ) from error
    if len(data) > MAX_BYTES:
        raise RecordingError(f"{path} has more than {MAX_BYTES:,} bytes; that is no recording.")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RecordingError(
            f"{path} is damaged: it is no JSON ({message_of(error)}); "
            "bring back an earlier version, or record anew.",
            cause=error,
        ) from error
