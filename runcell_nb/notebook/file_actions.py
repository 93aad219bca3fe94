"""What a person does to the files of a sandbox from the file browser: nothing is ever overwritten unasked."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.paths import STATE_FOLDER, assert_safe_workspace_path, is_state_path
from runcell_nb.core.sandbox import FileInfo, Sandbox

from .marked_files import is_reachable
from .shown_text import count_text, size_text
from .zip_files import packed, unpacked

MAX_MOVED_BYTES = 100_000_000
"""Files that are renamed, packed or opened as an archive may have this many bytes, together."""

_BATCH_FILES = 100
_MAX_NAME_BYTES = 255
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class ClashError(InvalidOptionError):
    """There is something of that name."""


@dataclass(frozen=True, slots=True)
class Packed:
    """An archive for a person.

    Attributes:
        name: For the file.
        data: The zip.
        note: What was left out, as a sentence; empty when nothing was.
    """

    name: str
    data: bytes
    note: str


def checked_path(path: str) -> str:
    """Return a path that a person may give to a file, normalised.

    Raises:
        InvalidOptionError: It leads outside, is the package's own, too long, or has signs that hide what
            they are.
    """
    clean = assert_safe_workspace_path(path)
    if is_state_path(clean):
        raise InvalidOptionError(
            f"{STATE_FOLDER!r} is kept for the package's own files; choose another name."
        )
    if _CONTROL.search(clean):
        raise InvalidOptionError(f"{clean!r} has a control or direction sign in it; choose another name.")
    if any(len(part.encode()) > _MAX_NAME_BYTES for part in clean.split("/")):
        raise InvalidOptionError(f"{clean[:40]!r}… is too long: a name has {_MAX_NAME_BYTES} bytes at most.")
    return clean


async def assert_free(sandbox: Sandbox, path: str) -> None:
    """Check that a file can be made here.

    Raises:
        ClashError: There is a file or folder of that name.
        InvalidOptionError: A folder of the path is a file.
    """
    folder = ""
    *parents, last = path.split("/")
    for part in parents:
        names = await sandbox.list_directory(folder or ".") or []
        folder = f"{folder}/{part}" if folder else part
        if part in names:
            raise InvalidOptionError(f"{folder!r} is a file, so nothing can be put into it.")
        if part + "/" not in names:
            break
    names = await sandbox.list_directory(folder or ".") or []
    # Read as well: a disk that takes A for a has no such name in its listing.
    if last in names or last + "/" in names or await sandbox.read_file(path) is not None:
        raise ClashError(f"There is {path!r} already.")


async def free_path(sandbox: Sandbox, path: str) -> str:
    """Return the path, or the first of `name (2).txt`, `name (3).txt` … that is free."""
    pure = PurePosixPath(path)
    stem, suffix = (pure.stem, pure.suffix) if pure.stem.strip(".") else (pure.name, "")
    number, free = 1, path
    while True:
        try:
            await assert_free(sandbox, free)
        except ClashError:
            number += 1
            free = str(pure.with_name(f"{stem} ({number}){suffix}"))
        else:
            return free


async def make_file(sandbox: Sandbox, path: str) -> str:
    """Make an empty file; folders of its path are made too. Return its path."""
    if path.endswith("/"):
        raise InvalidOptionError(
            f"A folder comes with its first file; give a name such as {path + 'notes.txt'!r}."
        )
    clean = checked_path(path)
    await assert_free(sandbox, clean)
    await sandbox.write_file(clean, b"")
    return clean


async def rename(sandbox: Sandbox, path: str, to: str, files: Sequence[FileInfo]) -> str:
    """Move a file, or all files of a folder. Return the new path.

    Args:
        sandbox: Where.
        path: The file or folder.
        to: Its new path.
        files: What is below `path`.
    """
    clean = checked_path(to)
    if clean == path:
        return clean
    if clean.startswith(path + "/"):
        raise InvalidOptionError(f"{path!r} cannot be moved into itself.")
    if not files:
        raise InvalidOptionError(f"{path!r} is gone.")
    _assert_small(files, f"{path!r} is too large to be renamed here")
    contents = await _contents(sandbox, [info.path for info in files])
    if len(contents) < len(files):
        raise InvalidOptionError(f"{path!r} cannot be renamed: some files in it cannot be read.")
    moved = {clean + old.removeprefix(path): data for old, data in contents.items()}
    if _folded(clean) == _folded(path):
        # On some disks both names are one file, which must not be removed after it was written.
        await _remove_all(sandbox, contents)
        await _write_or_put_back(sandbox, moved, contents)
    else:
        await assert_free(sandbox, clean)
        await _write_all(sandbox, moved)
        await _remove_all(sandbox, contents)
    return clean


async def _write_or_put_back(sandbox: Sandbox, moved: dict[str, bytes], contents: dict[str, bytes]) -> None:
    try:
        await _write_all(sandbox, moved)
    except BaseException:
        await _write_all(sandbox, contents)
        raise


async def _remove_all(sandbox: Sandbox, paths: Iterable[str]) -> None:
    """Remove files one by one, for what a folder holds beside them must stay; then the folders left empty."""
    folders: set[str] = set()
    for path in paths:
        await sandbox.remove(path)
        folders.update(map(str, PurePosixPath(path).parents))
    for folder in sorted(folders - {"."}, key=len, reverse=True):
        if await sandbox.list_directory(folder) == []:
            await sandbox.remove(folder)


async def extract(sandbox: Sandbox, path: str, size: int) -> tuple[str, int]:
    """Open a zip archive into a new folder beside it.

    Returns:
        The folder, and how many files it got. When something goes wrong there is no folder.
    """
    if size > MAX_MOVED_BYTES:
        raise InvalidOptionError(
            f"{path!r} has {size_text(size)}; archives are opened up to {size_text(MAX_MOVED_BYTES)}."
        )
    data = await sandbox.read_file(path)
    if data is None:
        raise InvalidOptionError(f"{path!r} is gone.")
    contents = await asyncio.to_thread(unpacked, data)
    if not contents:
        raise InvalidOptionError(f"{path!r} holds no files.")
    name = PurePosixPath(path)
    folder = await free_path(
        sandbox, checked_path(str(name.with_suffix("") if name.suffix else f"{name} files"))
    )
    try:
        await _write_all(sandbox, {f"{folder}/{inner}": content for inner, content in contents.items()})
    except BaseException:
        await sandbox.remove(folder)
        raise
    return folder, len(contents)


async def packed_files(sandbox: Sandbox, name: str, files: Sequence[FileInfo]) -> Packed:
    """Return files as a zip archive; names in it are relative to the workspace."""
    _assert_small(files, "The files are too large to be downloaded as one archive")
    contents = await _contents(sandbox, [info.path for info in files])
    left_out = len(files) - len(contents)
    note = (
        f" {count_text(left_out, 'file')} could not be read and {'is' if left_out == 1 else 'are'} left out."
    )
    data = await asyncio.to_thread(packed, contents.items())
    return Packed(f"{name}.zip", data, note if left_out else "")


async def _contents(sandbox: Sandbox, paths: Sequence[str]) -> dict[str, bytes]:
    """Read files; those that are gone, or whose name the sandbox refuses, are left out."""
    contents: dict[str, bytes] = {}
    reachable = [path for path in paths if is_reachable(path)]
    for at in range(0, len(reachable), _BATCH_FILES):
        batch = reachable[at : at + _BATCH_FILES]
        for path, data in zip(batch, await sandbox.read_files(batch), strict=True):
            if data is not None:
                contents[path] = data
    return contents


async def _write_all(sandbox: Sandbox, contents: dict[str, bytes]) -> None:
    for path, data in contents.items():
        await sandbox.write_file(path, data)


def _assert_small(files: Sequence[FileInfo], sentence: str) -> None:
    size = sum(info.size for info in files)
    if size > MAX_MOVED_BYTES:
        raise InvalidOptionError(
            f"{sentence}: {size_text(size)}, and the limit is {size_text(MAX_MOVED_BYTES)}."
        )


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
