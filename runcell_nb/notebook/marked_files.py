"""What files held when they were marked: tells change from rewriting, and differences start from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.paths import assert_safe_workspace_path
from runcell_nb.core.sandbox import FileInfo, Sandbox

MAX_KEPT_FILE_BYTES = 256 * 1024
"""Content of larger files is not kept: they are compared by a digest and have no difference."""

MAX_KEPT_BYTES = 16 * 1024 * 1024
"""Content that is kept of all files together."""

MAX_COMPARED_FILE_BYTES = 4 * 1024 * 1024
"""Larger files are not read: they count as changed when their size or time has changed."""

MAX_READ_BYTES = 64 * 1024 * 1024
"""What one mark reads at most."""

_BATCH_FILES = 100
_BATCH_BYTES = 4 * 1024 * 1024


class MarkedFiles:
    """Contents, as far as they are kept, and digests of files; filled by `read_marked`."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        self._digests: dict[str, bytes] = {}
        self._room = MAX_KEPT_BYTES

    def keep(self, path: str, data: bytes) -> None:
        """Keep the content of a file when it is small and there is room, else its digest."""
        if len(data) <= min(MAX_KEPT_FILE_BYTES, self._room):
            self._room -= len(data)
            self._contents[path] = data
        else:
            self._digests[path] = hashlib.sha256(data).digest()

    def forget(self, path: str) -> None:
        """Drop a file whose content at the mark turned out to be unknown."""
        self._contents.pop(path, None)
        self._digests.pop(path, None)

    def __contains__(self, path: object) -> bool:
        return path in self._contents or path in self._digests

    def same(self, path: str, data: bytes) -> bool:
        """Tell whether a file that is known holds what it held."""
        if path in self._contents:
            return self._contents[path] == data
        return self._digests[path] == hashlib.sha256(data).digest()

    def content(self, path: str) -> bytes | None:
        """Return what a file held; None when that was not kept."""
        return self._contents.get(path)


async def read_marked(sandbox: Sandbox, infos: Iterable[FileInfo]) -> MarkedFiles:
    """Read files that are small enough, a batch at a time, and return what they hold."""
    marked = MarkedFiles()
    for batch in _batches(infos):
        paths = [info.path for info in batch]
        for path, data in zip(paths, await sandbox.read_files(paths), strict=True):
            if data is not None:
                marked.keep(path, data)
    return marked


def is_reachable(path: str) -> bool:
    """Tell whether the sandbox takes this path; a command may have made names that it refuses."""
    try:
        return assert_safe_workspace_path(path) == path
    except InvalidOptionError:
        return False


def _batches(infos: Iterable[FileInfo]) -> Iterator[Sequence[FileInfo]]:
    batch: list[FileInfo] = []
    size, room = 0, MAX_READ_BYTES
    for info in infos:
        if info.size > min(MAX_COMPARED_FILE_BYTES, room) or not is_reachable(info.path):
            continue
        room -= info.size
        if batch and (len(batch) >= _BATCH_FILES or size + info.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(info)
        size += info.size
    if batch:
        yield batch
