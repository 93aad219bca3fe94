"""Files on their way from a person's disk into the sandbox, part by part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.sandbox import Sandbox

from .file_actions import ClashError, assert_free, checked_path, free_path
from .shown_text import size_text

MAX_UPLOAD_BYTES = 100_000_000
"""Larger files do not go through the browser."""

_MAX_OPEN = 4


@dataclass(slots=True)
class _Upload:
    path: str
    size: int
    clash: str
    parts: list[bytes] = field(default_factory=list)
    got: int = 0


class Uploads:
    """The uploads of one browser. A file is written when its last part is there."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._open: dict[str, _Upload] = {}

    async def begin(self, key: str, path: str, size: int, clash: str) -> dict[str, Any]:
        """Start one file.

        Args:
            key: Names it in `take`.
            path: Where it shall be.
            size: In bytes.
            clash: What to do when there is such a file: 'ask', 'replace' or 'both'.

        Returns:
            `state` 'clash' with a `free` path when the person has to decide, 'done' for an empty file,
            else 'more'.

        Raises:
            InvalidOptionError: It is too large, or its path cannot be used.
        """
        if size > MAX_UPLOAD_BYTES:
            raise InvalidOptionError(
                f"{path!r} has {size_text(size)}; files up to {size_text(MAX_UPLOAD_BYTES)} can be uploaded."
            )
        clean = checked_path(path)
        try:
            await assert_free(self._sandbox, clean)
        except ClashError:
            if clash == "ask":
                return {"state": "clash", "path": clean, "free": await free_path(self._sandbox, clean)}
            if clash == "replace" and await self._sandbox.list_directory(clean) is not None:
                raise InvalidOptionError(f"{clean!r} is a folder; it cannot be replaced by a file.") from None
        # What a closed page left behind goes first.
        while len(self._open) >= _MAX_OPEN:
            del self._open[next(iter(self._open))]
        self._open[key] = _Upload(clean, size, clash)
        return {"state": "more"} if size else await self.take(key, b"")

    async def take(self, key: str, data: bytes) -> dict[str, Any]:
        """Take the next part; with the last one the file is written.

        Returns:
            `state` 'more', or 'done' with the `path` it got.

        Raises:
            InvalidOptionError: The upload is unknown or brings more than it said.
        """
        upload = self._open.get(key)
        if upload is None:
            raise InvalidOptionError("This upload is no longer known; start it again.")
        upload.got += len(data)
        upload.parts.append(data)
        if upload.got < upload.size:
            return {"state": "more"}
        del self._open[key]
        if upload.got > upload.size:
            raise InvalidOptionError(f"{upload.path!r} changed while it was uploaded; start it again.")
        # Looked up again: the agent may have made such a file meanwhile.
        replace = upload.clash == "replace"
        path = upload.path if replace else await free_path(self._sandbox, upload.path)
        await self._sandbox.write_file(path, b"".join(upload.parts))
        return {"state": "done", "path": path}

    def cancel(self, key: str) -> None:
        """Forget an upload that is not finished."""
        self._open.pop(key, None)
