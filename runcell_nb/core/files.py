"""Files that go into a run and files that come out of it (FACTS 2, 3)."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .errors import InvalidOptionError
from .paths import assert_safe_workspace_path


@dataclass(frozen=True, slots=True)
class FileInput:
    """A file that is written into the workspace before the first request.

    Attributes:
        path: Where, relative to the workspace.
        text: Content as text; given both, bytes decide.
        bytes: Content as bytes.
        media_type: Kept for binary content; ignored for text.
    """

    path: str
    text: str | None = None
    bytes: builtins.bytes | None = None
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class NormalizedFile:
    """An input file after checks: clean path and content as bytes."""

    kind: Literal["text", "binary"]
    path: str
    data: bytes
    media_type: str | None = None


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that the run created or modified.

    Attributes:
        path: Relative to the workspace.
        change: 'create' or 'modify', folded over the run.
        bytes: Content as read back from the workspace.
    """

    path: str
    change: Literal["create", "modify"]
    bytes: builtins.bytes

    def text(self) -> str:
        """Return the content as UTF-8 text, undecodable bytes replaced."""
        return self.bytes.decode("utf-8", "replace")

    def __repr__(self) -> str:
        return f"ChangedFile({self.path!r}, {self.change!r}, {len(self.bytes)} bytes)"


def normalize_files(files: object) -> list[NormalizedFile]:
    """Check the files of a run.

    Args:
        files: An iterable of `FileInput` or mappings with `path`, `text` or `bytes`, `media_type`.

    Returns:
        One entry a file, in order, with clean paths.

    Raises:
        InvalidOptionError: An unsafe path, a wrong type, or two entries for one path.
    """
    if files is None:
        return []
    if isinstance(files, (str, bytes, Mapping)) or not isinstance(files, Iterable):
        raise InvalidOptionError(f"files must be a list of FileInput or dicts, got {type(files).__name__}.")
    entries = [_normalize(index, entry) for index, entry in enumerate(files)]
    seen: set[str] = set()
    for entry in entries:
        if entry.path in seen:
            raise InvalidOptionError(f"files names {entry.path!r} twice.")
        seen.add(entry.path)
    return entries


def _normalize(index: int, entry: Any) -> NormalizedFile:
    if isinstance(entry, Mapping):
        media_type = entry.get("media_type", entry.get("mediaType"))
        path, text, data = entry.get("path"), entry.get("text"), entry.get("bytes")
    elif isinstance(entry, FileInput):
        path, text, data, media_type = entry.path, entry.text, entry.bytes, entry.media_type
    else:
        raise InvalidOptionError(f"files[{index}] must be a FileInput or a dict, got {type(entry).__name__}.")
    clean = assert_safe_workspace_path(path)
    if data is not None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise InvalidOptionError(
                f"files[{index}] ({clean!r}): bytes must be bytes, got {type(data).__name__}."
            )
        return NormalizedFile("binary", clean, bytes(data), media_type)
    if not isinstance(text, str):
        raise InvalidOptionError(
            f"files[{index}] ({clean!r}) needs text= as a string or bytes= as bytes, got {text!r}."
        )
    return NormalizedFile("text", clean, text.encode("utf-8", "replace"))
