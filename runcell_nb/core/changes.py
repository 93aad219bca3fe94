"""What changed in a workspace, told by the file system and never by what a model claims (FACTS 3.10).

Two scans are compared by size and modification time, and where these differ by content, so that
`touch` is no change. Contents are kept, within bounds, so that a change can be shown as a difference.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from .bulk_read import read_in_batches
from .outcome import Change
from .sandbox import FileInfo, Sandbox

MAX_KEPT_FILE = 256 * 1024
"""Bytes of a text file that is kept for differences; of a larger one only a digest is."""

MAX_KEPT_TOTAL = 32 * 1024 * 1024
"""Bytes kept of all files together."""

_RACY = timedelta(milliseconds=50)


@dataclass(slots=True)
class _Known:
    size: int
    modified: datetime | None  # None: written by a tool, not seen in a scan yet
    digest: bytes | None  # None: the file could not be read
    kept: bytes | None = None
    racy: bool = False


class WorkspaceWatch:
    """Compares a workspace with how it was last seen.

    Args:
        sandbox: Its workspace is watched; `.runcell/` never counts.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._files: dict[str, _Known] = {}
        self._total = 0
        self._scanning = asyncio.Lock()

    async def baseline(self) -> None:
        """Take the workspace as it is now for unchanged."""
        await self.changes()

    async def changes(self) -> list[Change]:
        """Return what changed since the last look, sorted by path, and take that for unchanged.

        Returns:
            One entry a file; `before` is its former content where that was kept.
        """
        async with self._scanning:
            started = datetime.now(UTC)
            infos = await self._sandbox.list_files()
            found = self._gone({info.path for info in infos})
            doubtful = [info for info in infos if self._may_differ(info)]
            async for batch, contents in read_in_batches(self._sandbox, doubtful):
                digests = await asyncio.to_thread(_digests, contents)
                for info, data, digest in zip(batch, contents, digests, strict=True):
                    found.extend(self._compared(info, data, digest))
            # So fresh that a second write could bear the same time: read again next time.
            for info in infos:
                if (known := self._files.get(info.path)) is not None:
                    known.racy = info.modified > started - _RACY
        return sorted(found, key=lambda change: change.path)

    def note(self, path: str, data: bytes | None) -> None:
        """Take a write that a tool reports itself for seen, so that no scan reports it again.

        Args:
            path: Relative to the workspace, normalised.
            data: The content written; None when the file was removed.
        """
        if data is None:
            self._forget(path)
        else:
            self._remember(path, data, _Known(len(data), None, _digest(data)))

    def _may_differ(self, info: FileInfo) -> bool:
        known = self._files.get(info.path)
        return known is None or known.racy or (known.size, known.modified) != (info.size, info.modified)

    def _gone(self, paths: set[str]) -> list[Change]:
        gone = self._files.keys() - paths
        found = [Change(path, "delete", self._files[path].kept) for path in gone]
        for path in gone:
            self._forget(path)
        return found

    def _compared(self, info: FileInfo, data: bytes | None, digest: bytes | None) -> Iterator[Change]:
        known = self._files.get(info.path)
        if known is not None and known.digest == digest:
            known.size, known.modified = info.size, info.modified
            return
        self._remember(info.path, data, _Known(info.size, info.modified, digest))
        if known is None:
            yield Change(info.path, "create")
        else:
            yield Change(info.path, "modify", known.kept)

    def _remember(self, path: str, data: bytes | None, known: _Known) -> None:
        self._forget(path)
        if data is not None and self._can_keep(data):
            known.kept = data
            self._total += len(data)
        self._files[path] = known

    def _forget(self, path: str) -> None:
        known = self._files.pop(path, None)
        if known is not None:
            self._total -= len(known.kept or b"")

    def _can_keep(self, data: bytes) -> bool:
        fits = len(data) <= MAX_KEPT_FILE and self._total + len(data) <= MAX_KEPT_TOTAL
        return fits and b"\0" not in data[:8192]


def _digests(contents: Sequence[bytes | None]) -> list[bytes | None]:
    return [_digest(data) for data in contents]


def _digest(data: bytes | None) -> bytes | None:
    return None if data is None else hashlib.blake2b(data, digest_size=16).digest()
