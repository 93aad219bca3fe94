"""Reading many files without holding them all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence

from .sandbox import FileInfo, Sandbox

_BATCH_BYTES = 64 * 1024 * 1024
_BATCH_FILES = 2000


async def read_in_batches(
    sandbox: Sandbox, infos: Sequence[FileInfo]
) -> AsyncIterator[tuple[list[FileInfo], list[bytes | None]]]:
    """Read files in their order, some at a time.

    Args:
        sandbox: Where they are.
        infos: The files, as listed.

    Yields:
        Files with their contents, None for each that is gone by now. One batch holds at most 64 MiB,
        or one file.
    """
    for batch in _batches(infos):
        yield batch, await sandbox.read_files([info.path for info in batch])


def _batches(infos: Sequence[FileInfo]) -> Iterator[list[FileInfo]]:
    batch: list[FileInfo] = []
    size = 0
    for info in infos:
        if batch and (size + info.size > _BATCH_BYTES or len(batch) == _BATCH_FILES):
            yield batch
            batch, size = [], 0
        batch.append(info)
        size += info.size
    if batch:
        yield batch
