"""Bounded text differences for display."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

MAX_DIFF_BYTES = 256 * 1024
"""Contents larger than this are counted, not compared: difflib is quadratic."""

MAX_DIFF_LINES = 400
"""Lines of a difference that are kept; what is left out is stated."""

_MAX_COMPARED_LINES = 4000


@dataclass(frozen=True, slots=True)
class FileDiff:
    """How a file's text changed.

    Attributes:
        added: Lines added; None when the texts were too big to compare.
        removed: Lines removed; None likewise.
        lines: Lines of the unified difference, each with its sign, without file headers.
        omitted: How many lines of the difference were left out.
    """

    added: int | None
    removed: int | None
    lines: tuple[str, ...]
    omitted: int = 0


def diff_of(before: bytes | None, after: bytes | None) -> FileDiff | None:
    """Compare two contents of a file.

    Args:
        before: None when the file did not exist or its content is unknown.
        after: None when the file is gone.

    Returns:
        None when either content is binary or both are missing.
    """
    old, new = _text_lines(before), _text_lines(after)
    if old is None or new is None:
        return None
    if len(before or b"") + len(after or b"") > MAX_DIFF_BYTES or len(old) + len(new) > _MAX_COMPARED_LINES:
        return _uncompared(old, new)
    lines = list(difflib.unified_diff(old, new, lineterm="", n=3))[2:]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return FileDiff(added, removed, tuple(lines[:MAX_DIFF_LINES]), max(0, len(lines) - MAX_DIFF_LINES))


def _uncompared(old: list[str], new: list[str]) -> FileDiff:
    if old and new:
        return FileDiff(None, None, ())
    lines = ["+" + line for line in new[:MAX_DIFF_LINES]] or ["-" + line for line in old[:MAX_DIFF_LINES]]
    return FileDiff(len(new), len(old), tuple(lines), max(0, len(new) + len(old) - MAX_DIFF_LINES))


def _text_lines(data: bytes | None) -> list[str] | None:
    if data is None:
        return []
    if b"\0" in data[:8192]:
        return None
    try:
        return data.decode("utf-8").split("\n")[: None if not data.endswith(b"\n") else -1] if data else []
    except UnicodeDecodeError:
        return None
