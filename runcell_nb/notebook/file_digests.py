"""The digests of a sandbox's files, read again only where a file may have changed."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from weakref import WeakKeyDictionary

from runcell_nb.core.bulk_read import read_in_batches
from runcell_nb.core.sandbox import FileInfo, Sandbox

MAX_FILE_BYTES = 1024 * 1024
"""Bytes of a file whose content is kept; of a larger one only the digest is."""

_RACY = timedelta(milliseconds=50)


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a sandbox.

    Attributes:
        files: Sorted by path.
        started: When the list was asked for.
    """

    files: Sequence[FileInfo]
    started: datetime


@dataclass(frozen=True, slots=True)
class _Seen:
    size: int
    modified: datetime
    digest: str
    racy: bool  # so fresh that a second write could bear the same time


class FileDigests:
    """What is known of the files of each sandbox handle."""

    def __init__(self) -> None:
        self._seen: WeakKeyDictionary[Sandbox, dict[str, _Seen]] = WeakKeyDictionary()

    async def list(self, sandbox: Sandbox) -> Listing:
        """Return the files of a sandbox."""
        started = datetime.now(UTC)
        return Listing(await sandbox.list_files(), started)

    async def read(
        self, sandbox: Sandbox, listing: Listing, contents: dict[str, bytes] | None = None
    ) -> dict[str, str]:
        """Return the SHA-256 of each file of a listing; a file that is gone or unreadable is left out.

        Args:
            sandbox: Where they are.
            listing: From `list`.
            contents: Those of small files that are known already, by digest; gets the missing ones.
                None: they are not needed.
        """
        seen = self._seen.setdefault(sandbox, {})
        doubtful = await asyncio.to_thread(_doubtful, seen, listing.files, contents)
        async for batch, data in read_in_batches(sandbox, doubtful):
            digests = await asyncio.to_thread(_digests, data)
            for info, content, digest in zip(batch, data, digests, strict=True):
                if content is None or digest is None:
                    seen.pop(info.path, None)
                    continue
                racy = info.modified > listing.started - _RACY
                seen[info.path] = _Seen(info.size, info.modified, digest, racy)
                if contents is not None and len(content) <= MAX_FILE_BYTES:
                    contents[digest] = content
        return await asyncio.to_thread(_pruned, seen, listing.files)

    def forget(self, sandbox: Sandbox, paths: Iterable[str]) -> None:
        """Have these files read the next time."""
        seen = self._seen.get(sandbox, {})
        for path in paths:
            seen.pop(path, None)


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of a content, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _doubtful(
    seen: dict[str, _Seen], infos: Iterable[FileInfo], kept: Container[str] | None
) -> Sequence[FileInfo]:
    found = []
    for info in infos:
        known = seen.get(info.path)
        same = known is not None and (known.size, known.modified) == (info.size, info.modified)
        if known is None or not same or known.racy or _lacks(known, kept):
            found.append(info)
    return found


def _lacks(known: _Seen, kept: Container[str] | None) -> bool:
    return kept is not None and known.size <= MAX_FILE_BYTES and known.digest not in kept


def _pruned(seen: dict[str, _Seen], infos: Sequence[FileInfo]) -> dict[str, str]:
    """Forget the files that are gone; return the digests of the others."""
    for path in seen.keys() - {info.path for info in infos}:
        del seen[path]
    return {info.path: seen[info.path].digest for info in infos if info.path in seen}


def _digests(contents: Iterable[bytes | None]) -> Sequence[str | None]:
    return [None if data is None else digest_of(data) for data in contents]
