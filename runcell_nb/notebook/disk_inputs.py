"""Files on disk that `--in` names: found and weighed first, read only when they are not too much."""

from __future__ import annotations

import errno
import glob
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from runcell_nb.core.errors import InvalidOptionError

from .shown_text import size_text

MAX_INPUT_FILES = 10_000
MAX_INPUT_BYTES = 512 * 1024 * 1024


class InputRoom:
    """How much may still be put into the sandbox by one cell, and whether anyone still waits for it."""

    def __init__(self) -> None:
        self.files, self.bytes = MAX_INPUT_FILES, MAX_INPUT_BYTES
        self.given_up = threading.Event()

    def take(self, name: str, size: int, files: int = 1) -> None:
        """Make room for more.

        Args:
            name: As it stands behind `--in`.
            size: Bytes that come in.
            files: Files that come in; 0 when one that is in has grown.

        Raises:
            InvalidOptionError: It is too much.
        """
        self.files, self.bytes = self.files - files, self.bytes - size
        if self.files < 0 or self.bytes < 0:
            limit = f"{MAX_INPUT_FILES:,} files and {size_text(MAX_INPUT_BYTES)}"
            raise InvalidOptionError(f"--in {name!r} is too much: one cell takes at most {limit}; narrow it.")

    def check(self) -> None:
        """End the work in the thread when nobody waits for it any more.

        Raises:
            InvalidOptionError: The cell was stopped; nobody sees this.
        """
        if self.given_up.is_set():
            raise InvalidOptionError("--in: the cell was stopped.")


@dataclass(frozen=True, slots=True)
class DiskFile:
    """A file on disk and its place in the sandbox.

    Attributes:
        name: What stands behind `--in`.
        path: On disk.
        target: Path in the sandbox.
        size: Bytes when it was found.
    """

    name: str
    path: Path
    target: str
    size: int


def disk_files(name: str, room: InputRoom) -> list[DiskFile]:
    """Find what a name stands for, without reading it.

    A file lands under its name; a folder under its own name with everything below; what a glob finds
    from the last folder on that the pattern names: `../data/*.csv` gives `data/x.csv`.

    Args:
        name: A path, a folder or a glob.
        room: Files and bytes that may still be put in; what is found is taken from it.

    Raises:
        InvalidOptionError: It is too much, or a folder cannot be listed.
    """
    try:
        found = list(_weighed(name, room))
    except RuntimeError:  # the home of nobody
        return []
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # so no file has it
            return []
        raise _unreadable(name, error) from error
    return sorted(found, key=lambda file: file.target)


def read_disk_file(file: DiskFile, room: InputRoom) -> bytes:
    """Return the content of a file that was found.

    Args:
        file: It may have grown since.
        room: What it has grown by is taken from it.

    Raises:
        InvalidOptionError: It cannot be read, or has grown too large.
    """
    room.check()
    try:
        with file.path.open("rb") as opened:
            data = opened.read(file.size + 1)
            if len(data) > file.size:
                data += opened.read(room.bytes + 1)
    except OSError as error:
        raise _unreadable(file.name, error, file.path) from error
    room.take(file.name, max(0, len(data) - file.size), files=0)
    return data


def _weighed(name: str, room: InputRoom) -> Iterator[DiskFile]:
    for path, target in _places(name):
        room.check()
        if path.is_file():
            size = path.stat().st_size
            room.take(name, size)
            yield DiskFile(name, path, target, size)


def _places(name: str) -> Iterator[tuple[Path, str]]:
    """Yield what may be files, with their places in the sandbox."""
    path = Path(name).expanduser()
    if path.is_file():
        yield path, path.name
    elif path.is_dir():
        for file in _below(path):
            yield file, (PurePath(path.resolve().name) / file.relative_to(path)).as_posix()
    else:
        fixed = _fixed_parts(path)
        # Path.glob takes no absolute pattern.
        for match in glob.iglob(str(path), recursive=True):  # noqa: PTH207
            yield Path(match), _glob_target(Path(match), fixed)


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder; links are left out, they could lead anywhere."""

    def fail(error: OSError) -> None:
        raise error  # what cannot be listed would be missing without a word

    for root, _, names in os.walk(folder, onerror=fail):
        for file in (Path(root, file_name) for file_name in names):
            if not file.is_symlink():
                yield file


def _fixed_parts(pattern: Path) -> int:
    """Return how many parts of a pattern stand before the first with a wildcard."""
    return next((at for at, part in enumerate(pattern.parts) if glob.has_magic(part)), len(pattern.parts))


def _glob_target(match: Path, fixed: int) -> str:
    """Return the match from its last fixed folder name on; `..` and the root are no names."""
    folder = (
        [part for part in match.parts[fixed - 1 : fixed] if part not in ("..", match.anchor)] if fixed else []
    )
    below = match.parts[fixed:]
    return match.name if ".." in below else PurePath(*folder, *below).as_posix()


def _unreadable(name: str, error: OSError, path: Path | None = None) -> InvalidOptionError:
    what = error.filename or str(path or name)  # a failing read does not name the file
    return InvalidOptionError(f"--in {name!r}: {what!r} cannot be read: {error.strerror}.", cause=error)
