"""What the browser's page asks for, beyond looking: download, upload, new, rename, delete, extract."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Protocol

from runcell_nb.core.errors import InvalidOptionError, message_of
from runcell_nb.core.sandbox import FileInfo, Sandbox

from .file_actions import extract, make_file, packed_files, rename
from .file_listing import FileListing
from .file_uploads import Uploads
from .shown_text import count_text, size_text, visible

MAX_DOWNLOAD_BYTES = 100_000_000
"""Larger files do not go through the browser."""

PART_BYTES = 4_000_000
"""What one message of a download carries: servers and proxies bound a message."""

Request = Mapping[str, Any]
Answer = dict[str, Any]


class Page(Protocol):
    """Where answers go."""

    def send(self, content: Any, buffers: Any = None) -> None:
        """Send one message to every front end."""

    async def refresh(self) -> None:
        """Show what changed."""


class FileRequests:
    """Serves requests that carry an `id`: each gets one answer with it, which may hold a `problem`."""

    def __init__(self, sandbox: Sandbox, listing: FileListing, page: Page) -> None:
        self._sandbox = sandbox
        self._listing = listing
        self._page = page
        self._uploads = Uploads(sandbox)
        self._handlers: dict[str, Callable[[Request, Sequence[Any]], Awaitable[Answer]]] = {
            "download": self._download,
            "upload": self._upload,
            "part": self._part,
            "cancel": self._cancel,
            "new": self._new,
            "rename": self._rename,
            "delete": self._delete,
            "extract": self._extract,
        }

    async def serve(self, request: Request, buffers: Sequence[Any]) -> None:
        """Do what is asked and answer; a request that nobody knows is left alone."""
        handler = self._handlers.get(str(request.get("type")))
        if handler is None:
            return
        try:
            answer = await handler(request, buffers)
        except Exception as error:
            answer = {"problem": message_of(error)}
        self._page.send({"type": "answer", "id": request.get("id"), **answer})

    async def read(self, path: str, limit: int) -> bytes | int | None:
        """Return a listed file, its size when it is larger than the limit, None when it is gone.

        The size in the listing keeps large files from being read; a file can have grown since.
        """
        entry = self._listing.entries.get(path)
        if entry is None:
            return None
        if entry[0] > limit:
            return entry[0]
        data = await self._sandbox.read_file(path)
        return len(data) if data is not None and len(data) > limit else data

    async def _download(self, request: Request, _: Sequence[Any]) -> Answer:
        """Send a file, or a folder as a zip ('' is everything), in parts."""
        path = _text(request, "path")
        if path in self._listing.entries:
            data = await self.read(path, MAX_DOWNLOAD_BYTES)
            name, note = PurePosixPath(path).name, ""
            if data is None:
                raise InvalidOptionError(f"{path!r} is gone.")
            if isinstance(data, int):
                raise InvalidOptionError(f"{path!r} has {size_text(data)}; read it with sandbox.read_file.")
        else:
            zipped = await packed_files(
                self._sandbox, PurePosixPath(path).name or "sandbox", self._listed(path)
            )
            name, data, note = zipped.name, zipped.data, zipped.note
        for at in range(0, len(data), PART_BYTES):
            self._page.send({"type": "piece", "id": request.get("id")}, [data[at : at + PART_BYTES]])
        said = visible(f"Downloaded {name}, {size_text(len(data))}.{note}")
        return {"name": name, "size": len(data), "said": said}

    async def _upload(self, request: Request, _: Sequence[Any]) -> Answer:
        size = request.get("size")
        if not isinstance(size, int) or size < 0:
            raise InvalidOptionError(f"An upload needs its size in bytes, got {size!r}.")
        clash = str(request.get("clash", "ask"))
        begun = self._uploads.begin(_text(request, "key"), _text(request, "path"), size, clash)
        return await self._uploaded(await begun)

    async def _part(self, request: Request, buffers: Sequence[Any]) -> Answer:
        taken = self._uploads.take(_text(request, "key"), b"".join(bytes(piece) for piece in buffers))
        return await self._uploaded(await taken)

    async def _uploaded(self, answer: Answer) -> Answer:
        if answer["state"] == "done":
            await self._page.refresh()
        return answer

    async def _cancel(self, request: Request, _: Sequence[Any]) -> Answer:
        self._uploads.cancel(_text(request, "key"))
        return {}

    async def _new(self, request: Request, _: Sequence[Any]) -> Answer:
        path = await make_file(self._sandbox, _text(request, "path"))
        return await self._done(f"Made {path}.", path)

    async def _rename(self, request: Request, _: Sequence[Any]) -> Answer:
        path = _one_path(request)
        to = await rename(self._sandbox, path, _text(request, "to"), self._listed(path))
        return await self._done(f"Renamed {path} to {to}.", to)

    async def _delete(self, request: Request, _: Sequence[Any]) -> Answer:
        path = _one_path(request)
        count = len(self._listed(path))
        await self._sandbox.remove(path)
        many = "" if path in self._listing.entries else f" and the {count_text(count, 'file')} in it"
        return await self._done(f"Deleted {path}{many}.")

    async def _extract(self, request: Request, _: Sequence[Any]) -> Answer:
        path = _text(request, "path")
        if path not in self._listing.entries:
            raise InvalidOptionError(f"There is no file {path!r} in the listing; refresh it.")
        folder, count = await extract(self._sandbox, path, self._listing.entries[path][0])
        return await self._done(f"Extracted {count_text(count, 'file')} into {folder}.", folder)

    async def _done(self, sentence: str, path: str | None = None) -> Answer:
        await self._page.refresh()
        return {"said": visible(sentence), "path": path}

    def _listed(self, path: str) -> list[FileInfo]:
        files = self._listing.below(path)
        if not files:
            what = f"no file or folder {path!r}" if path else "no file"
            raise InvalidOptionError(f"There is {what} in the listing; refresh it.")
        return files


def _text(request: Request, name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise InvalidOptionError(f"A request of the file browser needs {name} as text, got {value!r}.")
    return value


def _one_path(request: Request) -> str:
    path = _text(request, "path")
    if not path:
        raise InvalidOptionError("The path is empty: the workspace itself is neither renamed nor deleted.")
    return path
