"""The files of a sandbox as the file browser shows them: sizes, and marks for what changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from runcell_nb.core.sandbox import FileInfo

from .marked_files import MAX_COMPARED_FILE_BYTES, MarkedFiles
from .shown_text import count_text, size_text

Entry = tuple[int, str]
"""Size in bytes and mark: 'N' new, 'M' modified, 'D' deleted, '' none of them."""

MAX_DELETED_SHOWN = 500
"""Deleted files that are listed; the summary counts them all."""

_Stamp = tuple[int, datetime]


class FileListing:
    """Compares the listings of a sandbox with the one that was marked, and with what was told last.

    Size and time decide what may have changed, and content decides whether it did, where content at the
    mark is known.

    Attributes:
        entries: Size and mark by path of the files that are there, sorted by path.
        deleted: Size by path of the marked files that are gone.
        unnamed: How many files have a name that is no text; they cannot be shown.
        marked: What the marked files held.
    """

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.deleted: dict[str, int] = {}
        self.unnamed = 0
        self.marked = MarkedFiles()
        self._infos: dict[str, FileInfo] = {}
        self._stamps: dict[str, _Stamp] = {}
        self._base: dict[str, _Stamp] | None = None
        self._unchanged: dict[str, _Stamp] = {}
        self._judged: dict[str, _Stamp] = {}
        self._told: dict[str, Entry] = {}

    def take(self, infos: Iterable[FileInfo]) -> None:
        """Take a new listing; the first one is marked."""
        every = list(infos)
        self._infos = {info.path: info for info in every if _is_text(info.path)}
        self._stamps = {path: (info.size, info.modified) for path, info in self._infos.items()}
        self.unnamed = len(every) - len(self._infos)
        if self._base is None:
            self._base = self._stamps
        self._compare()

    def mark(self) -> None:
        """From now on marks say what changed since the present listing."""
        self._base = self._stamps
        self.marked = MarkedFiles()
        self._unchanged, self._judged = {}, {}
        self._compare()

    def know(self, marked: MarkedFiles, infos: Iterable[FileInfo]) -> None:
        """Take what files held at the mark.

        Args:
            marked: Contents, read after `infos` were listed and before the present listing.
            infos: Those files; what changed since the mark or while it was read is forgotten.
        """
        base = self._base or {}
        for info in infos:
            stamp = (info.size, info.modified)
            if not stamp == base.get(info.path) == self._stamps.get(info.path):
                marked.forget(info.path)
        self.marked = marked

    def doubtful(self, count: int) -> list[str]:
        """Return files, `count` at most, whose content tells whether they changed: same size, other time."""
        base = self._base or {}
        found: list[str] = []
        for path, (size, mark) in self.entries.items():
            if mark == "M" and size == base[path][0] and size <= MAX_COMPARED_FILE_BYTES:
                if path in self.marked and self._judged.get(path) != self._stamps[path]:
                    found.append(path)
                if len(found) == count:
                    break
        return found

    def judge(self, path: str, data: bytes | None) -> None:
        """Take the content of a doubtful file, None when it could not be read."""
        self._judged[path] = self._stamps[path]
        if data is not None and path in self.marked and self.marked.same(path, data):
            self._unchanged[path] = self._stamps[path]
            self.entries[path] = (self.entries[path][0], "")

    def stamp(self, path: str) -> _Stamp | None:
        """Return size and time of a file; None when it is not there."""
        return self._stamps.get(path)

    def below(self, folder: str) -> list[FileInfo]:
        """Return the files of a folder, or the one file of that path; all files for ''."""
        if folder in self._infos:
            return [self._infos[folder]]
        prefix = folder + "/" if folder else ""
        return [info for path, info in self._infos.items() if path.startswith(prefix)]

    def was_there(self, path: str) -> bool:
        """Tell whether a file was there at the mark."""
        return path in (self._base or {})

    def shown(self) -> dict[str, Entry]:
        """Return the files that are there and the first of the deleted ones."""
        gone = list(self.deleted.items())[:MAX_DELETED_SHOWN]
        return self.entries | {path: (size, "D") for path, size in gone}

    def whole(self) -> list[list[Any]]:
        """Return every shown file as `[path, size, mark]`."""
        self._told = self.shown()
        return [[path, *entry] for path, entry in self._told.items()]

    def changes(self) -> tuple[list[list[Any]], list[str]]:
        """Return what differs from what was told last: `[path, size, mark]`, and paths that are gone."""
        told, now = self._told, self.shown()
        new = [[path, *entry] for path, entry in now.items() if told.get(path) != entry]
        gone = [path for path in told if path not in now]
        self._told = now
        return new, gone

    def summary(self) -> str:
        """Return `4 files · 96 kB · 1 new`."""
        marks = [mark for _, mark in self.entries.values()]
        size = sum(size for size, _ in self.entries.values())
        parts = [count_text(len(self.entries), "file"), size_text(size)]
        counts = (
            (marks.count("N"), "new"),
            (marks.count("M"), "modified"),
            (len(self.deleted), "deleted"),
            (self.unnamed, "with a name that is no text"),
        )
        return " · ".join(parts + [f"{count:,} {word}" for count, word in counts if count])

    def _compare(self) -> None:
        base = self._base or {}
        self.entries = {
            path: (stamp[0], self._mark(path, stamp, base)) for path, stamp in self._stamps.items()
        }
        self.deleted = {path: stamp[0] for path, stamp in base.items() if path not in self._stamps}

    def _mark(self, path: str, stamp: _Stamp, base: dict[str, _Stamp]) -> str:
        if path not in base:
            return "N"
        return "" if stamp in (base[path], self._unchanged.get(path)) else "M"


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
