"""Private folders: made in memory where there is room, gone with their owner, swept after a crash.

Each process has one folder of its own and holds a lock on a file in it. The system lets go of that
lock however the process ends, so a folder whose lock is free belongs to nobody and is removed by
whoever makes the next private folder. Process ids would not do: containers share folders, not ids.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import IO

_PREFIX = "runcell-"
_LOCK = "lock"
_MEMORY = Path("/dev/shm")  # tmpfs on Linux
_ROOM = 1 << 30
_GRACE = 60.0
"""Seconds in which a process folder may not be locked yet."""

_guard = threading.Lock()


class PrivateFolder:
    """A folder that only this object's owner uses.

    Attributes:
        path: Where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.remove = weakref.finalize(self, _remove_tree, path, os.getpid())
        """Remove the folder with all that is in it; also done when this object or the process ends."""


class _ProcessFolder:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_base()))
        self._lock = (self.path / _LOCK).open("w")
        _try_lock(self._lock)
        weakref.finalize(self, _end_process_folder, self.path, self._lock, self.pid)


_own: list[_ProcessFolder] = []


def new_private_folder() -> PrivateFolder:
    """Make a private folder, and remove those of processes that died. It blocks: call it in a thread."""
    with _guard:
        if not _own or _own[0].pid != os.getpid():  # the first one here, or after a fork
            _own[:] = [_ProcessFolder()]
        folder = PrivateFolder(Path(tempfile.mkdtemp(dir=_own[0].path)))
    for base in {_MEMORY, Path(tempfile.gettempdir())}:
        _sweep(base)
    return folder


def _base() -> Path:
    if os.access(_MEMORY, os.W_OK | os.X_OK) and shutil.disk_usage(_MEMORY).free >= _ROOM:
        return _MEMORY
    return Path(tempfile.gettempdir())


def _sweep(base: Path) -> None:
    try:
        with os.scandir(base) as entries:
            stale = [Path(entry.path) for entry in entries if _may_be_stale(entry)]
    except OSError:
        return
    for path in stale:
        _remove_if_unlocked(path)


def _may_be_stale(entry: os.DirEntry[str]) -> bool:
    if not entry.name.startswith(_PREFIX) or not entry.is_dir(follow_symlinks=False):
        return False
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return mine and time.time() - found.st_mtime > _GRACE


def _remove_if_unlocked(path: Path) -> None:
    try:
        with (path / _LOCK).open("r+") as lock:
            if not _try_lock(lock):
                return
    except FileNotFoundError:  # died before it made the lock, or the folder is not one of these
        if any(path.iterdir()):
            return
    except OSError:
        return
    _remove_tree(path, os.getpid())


def _try_lock(file: IO[str]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _end_process_folder(path: Path, lock: IO[str], pid: int) -> None:
    lock.close()
    _remove_tree(path, pid)


def _remove_tree(path: Path, pid: int) -> None:
    if os.getpid() != pid:  # a forked child must not remove what its parent uses
        return
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():  # a command may have closed a folder to us
        for folder, names, _ in os.walk(path):
            for inner in (Path(folder, name) for name in names):
                if not inner.is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)
