"""Zip archives: made of files, and opened although they come from a stranger."""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.paths import assert_safe_workspace_path

from .shown_text import one_line, size_text

MAX_UNPACKED_BYTES = 200_000_000
"""What the files of an archive may hold together."""

MAX_UNPACKED_FILES = 10_000
"""Files of an archive."""

_MAX_PATH_CHARS = 1_000
_MAX_NAME_BYTES = 255
_CHUNK = 1 << 20
_ENTRY_SIGN = b"PK\x01\x02"
_PLAIN_KINDS = (0, stat.S_IFREG, stat.S_IFDIR)
_ODD = re.compile(r'[\\\x00-\x1f\x7f<>:"|?*\u202a-\u202e\u2066-\u2069]')


def packed(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip archive of files.

    Signs that some system takes for a separator, a drive or a device become `_`: a name of the sandbox
    must not lead out of the folder where a person opens the archive.
    """
    buffer = io.BytesIO()
    used: set[str] = set()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files:
            archive.writestr(_fresh(_ODD.sub("_", path), used), data)
    return buffer.getvalue()


def _fresh(name: str, used: set[str]) -> str:
    number, fresh = 1, name
    while fresh in used:
        number += 1
        fresh = f"{name} ({number})"
    used.add(fresh)
    return fresh


def unpacked(data: bytes) -> dict[str, bytes]:
    """Return the files of a zip archive by their path.

    Args:
        data: The archive. Nothing in it is believed: sizes are counted while it is read.

    Raises:
        InvalidOptionError: It is no zip, too large, encrypted, or an entry would leave its folder or is
            a link; then nothing of it is used.
    """
    try:
        # Counted before it is parsed: the parser makes an object for each entry.
        if data.count(_ENTRY_SIGN) > 2 * MAX_UNPACKED_FILES:
            raise InvalidOptionError(f"The archive has more than {MAX_UNPACKED_FILES:,} entries.")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _contents(archive, _checked(archive.infolist()))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
        # The reason may quote the archive.
        raise InvalidOptionError(f"This is no readable zip archive: {one_line(str(error), 120)}.") from error


def _checked(infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Return the entries that are files by their path, or refuse the archive."""
    if len(infos) > MAX_UNPACKED_FILES:
        raise InvalidOptionError(f"The archive has more than {MAX_UNPACKED_FILES:,} entries.")
    files: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        path = _checked_entry(info)
        if info.is_dir():
            continue
        if path in files:
            raise InvalidOptionError(f"The archive holds {path!r} twice.")
        files[path] = info
    for path in files:
        parts = path.split("/")
        if any("/".join(parts[:n]) in files for n in range(1, len(parts))):
            raise InvalidOptionError(f"In the archive a folder of {path!r} is a file as well.")
    return files


def _checked_entry(info: zipfile.ZipInfo) -> str:
    # The name as it stands in the archive: the parser cuts it at a NUL.
    name = info.orig_filename
    if len(name) > _MAX_PATH_CHARS or any(len(part.encode()) > _MAX_NAME_BYTES for part in name.split("/")):
        raise InvalidOptionError(f"The archive has a name that is too long: {name[:40]!r}….")
    try:
        path = assert_safe_workspace_path(name)
    except InvalidOptionError as error:
        raise InvalidOptionError(
            f"The archive has a name that leaves its folder or is odd: {error}"
        ) from None
    if stat.S_IFMT(info.external_attr >> 16) not in _PLAIN_KINDS:
        raise InvalidOptionError(f"The archive holds {name!r}, which is a link or a device and no file.")
    if info.flag_bits & 1:
        raise InvalidOptionError(f"The archive is encrypted ({name!r}); encrypted archives are not opened.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InvalidOptionError(f"{name!r} is compressed in a way that is not supported; use plain zip.")
    return path


def _contents(archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> dict[str, bytes]:
    room = MAX_UNPACKED_BYTES
    contents: dict[str, bytes] = {}
    for path, info in entries.items():
        pieces: list[bytes] = []
        with archive.open(info) as stream:
            while piece := stream.read(_CHUNK):
                room -= len(piece)
                if room < 0:
                    raise InvalidOptionError(
                        f"The archive unpacks to more than {size_text(MAX_UNPACKED_BYTES)}; it is not used."
                    )
                pieces.append(piece)
        contents[path] = b"".join(pieces)
    return contents
