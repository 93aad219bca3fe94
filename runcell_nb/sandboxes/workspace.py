"""The directory workspace: a folder used by plain file operations that cannot lead out of it.

What runs commands in a folder of this machine shares it; the backends differ in who runs them. Every
path that arrives here has passed `assert_safe_workspace_path`; what is left to guard against are
symbolic links, so containment goes by the resolved path (FACTS 14.25). All I/O runs in threads.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.paths import STATE_FOLDER, assert_safe_workspace_path
from runcell_nb.core.sandbox import FileInfo


class DirectoryWorkspace:
    """The file operations of a sandbox session over one folder.

    Args:
        root: The folder; it exists.
    """

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)

    async def read_file(self, path: str) -> bytes | None:
        """Return the content of a regular file, None where there is none.

        Raises:
            InvalidOptionError: The path leads outside, or the file cannot be read.
        """
        return await asyncio.to_thread(self._read, path)

    async def read_files(self, paths: Sequence[str]) -> list[bytes | None]:
        """Return many files in one go, None for each that is missing, outside or unreadable."""
        return await asyncio.to_thread(self._read_all, paths)

    async def write_file(self, path: str, data: bytes) -> None:
        """Write a file, creating its parents.

        Raises:
            InvalidOptionError: The path leads outside, is a folder, or cannot be written.
        """
        await asyncio.to_thread(self._write, path, data)

    async def remove(self, path: str) -> None:
        """Remove a file, a link (never what it points to) or a folder; no-op when missing.

        Raises:
            InvalidOptionError: The path leads outside or cannot be removed.
        """
        await asyncio.to_thread(self._remove, path)

    async def list_files(self) -> list[FileInfo]:
        """Return every regular file, unsorted; links are neither listed nor followed.

        Left out are the state folder and names that no workspace path can spell (a backslash, say).
        """
        return await asyncio.to_thread(self._scan)

    async def list_directory(self, path: str) -> list[str] | None:
        """Return the names in a folder ('' is the workspace), folders with a trailing `/`.

        Returns:
            Sorted names; None when the path is no folder.

        Raises:
            InvalidOptionError: The path leads outside or cannot be read.
        """
        return await asyncio.to_thread(self._names, path)

    def resolve(self, path: str) -> Path:
        """Return the real place of a path; '' is the workspace itself.

        Raises:
            InvalidOptionError: It lies outside, by way of a symbolic link.
        """
        real = os.path.realpath(os.path.join(self._root, path))  # noqa: PTH118 - 10,000 of these are quick
        if real != self._root and not real.startswith(self._root.rstrip(os.sep) + os.sep):
            raise InvalidOptionError(
                f"Path {path!r} leads outside the workspace through a symbolic link; use a file inside it."
            )
        return Path(real)

    def _read(self, path: str) -> bytes | None:
        target = self.resolve(path)
        with _told("read", path):
            try:
                # A pipe or a device would block for ever.
                return target.read_bytes() if stat.S_ISREG(target.stat().st_mode) else None
            except (FileNotFoundError, NotADirectoryError):
                return None

    def _read_all(self, paths: Sequence[str]) -> list[bytes | None]:
        return [self._read_or_none(path) for path in paths]

    def _read_or_none(self, path: str) -> bytes | None:
        try:
            return self._read(path)
        except InvalidOptionError:
            return None

    def _write(self, path: str, data: bytes) -> None:
        target = self.resolve(path)
        with _told("write", path):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    def _remove(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        target = self.resolve(folder) / name
        with _told("remove", path):
            try:
                if target.is_dir() and not target.is_symlink():
                    shutil.rmtree(target)
                else:
                    target.unlink()
            except (FileNotFoundError, NotADirectoryError):
                return

    def _names(self, path: str) -> list[str] | None:
        folder = self.resolve(path)
        if not folder.is_dir():
            return None
        with _told("list", path or "."), os.scandir(folder) as entries:
            return sorted(
                entry.name + "/" if entry.is_dir(follow_symlinks=False) else entry.name for entry in entries
            )

    def _scan(self) -> list[FileInfo]:
        found: list[FileInfo] = []
        folders = [("", self._root)]
        while folders:
            prefix, folder = folders.pop()
            for entry in _entries(folder):
                path = prefix + entry.name
                if path == STATE_FOLDER or not _can_be_named(path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append((path + "/", entry.path))
                elif entry.is_file(follow_symlinks=False):
                    found.extend(_info(path, entry))
        return found


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # gone since its parent was read, or closed to us
        return []


def _info(path: str, entry: os.DirEntry[str]) -> Iterator[FileInfo]:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:  # gone since its folder was read
        return
    yield FileInfo(path, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))


def _can_be_named(path: str) -> bool:
    if "\\" not in path and ":" not in path and path.isascii():
        return True  # the usual case, for speed
    try:
        path.encode("utf-8")
        return bool(assert_safe_workspace_path(path))
    except (InvalidOptionError, UnicodeEncodeError):
        return False


@contextmanager
def _told(action: str, path: str) -> Iterator[None]:
    """Turn an error of the operating system into one sentence without paths of this machine."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidOptionError(f"Cannot {action} {path!r}: {reason}.", cause=error) from error
