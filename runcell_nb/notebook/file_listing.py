"""The files of a sandbox as the file browser shows them: sizes, and marks for what changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from runcell_nb.core.sandbox import FileInfo

from .shown_text import count_text, size_text

Entry = tuple[int, str]
"""Size in bytes and mark: 'N' new, 'M' modified, '' neither."""

_Stamp = tuple[int, datetime]


class FileListing:
    """Compares the listings of a sandbox with the one that was marked, and with what was told last.

    Attributes:
        entries: Size and mark by path, sorted by path.
        deleted: How many of the marked files are gone.
        unnamed: How many files have a name that is no text; they cannot be shown.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.deleted = self.unnamed = 0
        self._stamps: dict[str, _Stamp] = {}
        self._marked: dict[str, _Stamp] | None = None
        self._told: dict[str, Entry] = {}

    def take(self, infos: Iterable[FileInfo]) -> None:
        """Take a new listing; the first one is marked."""
        every = list(infos)
        self._stamps = {info.path: (info.size, info.modified) for info in every if _is_text(info.path)}
        self.unnamed = len(every) - len(self._stamps)
        if self._marked is None:
            self._marked = self._stamps
        self._compare(self._marked)

    def mark(self) -> None:
        """From now on marks say what changed since the present listing."""
        self._marked = self._stamps
        self._compare(self._marked)

    def stamp(self, path: str) -> _Stamp | None:
        """Return size and time of a file; None when it is not there."""
        return self._stamps.get(path)

    def whole(self) -> list[list[Any]]:
        """Return every file as `[path, size, mark]`."""
        self._told = self.entries
        return [[path, *entry] for path, entry in self.entries.items()]

    def changes(self) -> tuple[list[list[Any]], list[str]]:
        """Return what differs from what was told last: `[path, size, mark]`, and paths that are gone."""
        told = self._told
        new = [[path, *entry] for path, entry in self.entries.items() if told.get(path) != entry]
        gone = [path for path in told if path not in self.entries]
        self._told = self.entries
        return new, gone

    def summary(self) -> str:
        """Return `4 files · 96 kB · 1 new`."""
        marks = [mark for _, mark in self.entries.values()]
        size = sum(size for size, _ in self.entries.values())
        parts = [count_text(len(self.entries), "file"), size_text(size)]
        counts = (
            (marks.count("N"), "new"),
            (marks.count("M"), "modified"),
            (self.deleted, "deleted"),
            (self.unnamed, "with a name that is no text"),
        )
        return " · ".join(parts + [f"{count:,} {word}" for count, word in counts if count])

    def _compare(self, marked: dict[str, _Stamp]) -> None:
        self.entries = {
            path: (stamp[0], "" if marked.get(path) == stamp else "M" if path in marked else "N")
            for path, stamp in self._stamps.items()
        }
        self.deleted = len(marked.keys() - self._stamps.keys())


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
