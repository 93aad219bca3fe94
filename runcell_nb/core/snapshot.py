"""Snapshots: the files of a workspace as one JSON document (FACTS 14.17-14.20)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, TypedDict

from .errors import InvalidOptionError
from .paths import assert_safe_workspace_path, is_state_path

VERSION = 1


class SnapshotFile(TypedDict):
    """One file: its path and its bytes as canonical base64 text."""

    path: str
    data: str


class SandboxSnapshot(TypedDict):
    """The document: version 1 and the files, sorted by code point of their path."""

    version: int
    files: list[SnapshotFile]


def snapshot_of(files: Mapping[str, bytes]) -> SandboxSnapshot:
    """Return the snapshot document for these files; `.runcell/` is left out."""
    kept = sorted(path for path in files if not is_state_path(path))
    return {
        "version": VERSION,
        "files": [{"path": path, "data": base64.b64encode(files[path]).decode("ascii")} for path in kept],
    }


def files_of(snapshot: object) -> dict[str, bytes]:
    """Validate a snapshot document and return its files.

    Raises:
        InvalidOptionError: Wrong version, shape, path, base64, or two entries for one path.
    """
    if not isinstance(snapshot, Mapping):
        raise InvalidOptionError(f"A snapshot must be a mapping, got {type(snapshot).__name__}.")
    version, entries = snapshot.get("version"), snapshot.get("files")
    if isinstance(version, bool) or version != VERSION:
        raise InvalidOptionError(
            f"Unsupported snapshot version {version!r}; this package reads version {VERSION}."
        )
    if not isinstance(entries, list):
        raise InvalidOptionError(f"A snapshot's 'files' must be a list, got {type(entries).__name__}.")
    files: dict[str, bytes] = {}
    for index, entry in enumerate(entries):
        path, data = _file_of(index, entry)
        if path in files:
            raise InvalidOptionError(f"Snapshot names {path!r} twice.")
        files[path] = data
    return files


def _file_of(index: int, entry: Any) -> tuple[str, bytes]:
    if not isinstance(entry, Mapping):
        raise InvalidOptionError(f"Snapshot entry {index} must be a mapping, got {type(entry).__name__}.")
    path, data = assert_safe_workspace_path(entry.get("path")), entry.get("data")
    if not isinstance(data, str):
        raise InvalidOptionError(f"Snapshot entry {index} ({path!r}): data must be base64 text.")
    try:
        decoded = base64.b64decode(data, validate=True)
    except ValueError as error:
        raise InvalidOptionError(
            f"Snapshot entry {index} ({path!r}): data is not base64.", cause=error
        ) from error
    if base64.b64encode(decoded).decode("ascii") != data:
        raise InvalidOptionError(f"Snapshot entry {index} ({path!r}): data is not canonical base64.")
    return path, decoded
