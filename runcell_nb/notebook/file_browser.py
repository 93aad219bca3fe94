"""The file browser: the tree of a sandbox, the content of a file, live while an agent works (API 15)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from html import escape
from typing import Any

import anywidget

from runcell_nb.core.errors import InvalidOptionError, message_of
from runcell_nb.core.sandbox import FileInfo, Sandbox, is_live_sandbox

from .file_listing import FileListing
from .file_preview import preview_of
from .front_files import front_text
from .home_loop import call_at_home, running_loop
from .shown_text import size_text, visible

REFRESH_SECONDS = 0.1
"""How long changes are gathered before the listing is read again."""

MAX_SHOWN_BYTES = 30_000_000
"""Larger files are not read to be shown."""

MAX_DOWNLOAD_BYTES = 100_000_000
"""Larger files do not go through the browser."""

MAX_LISTED_FILES = 200
"""Files of the static listing."""


class FileBrowser(anywidget.AnyWidget):
    """Shows the files of a sandbox: tree with sizes and change marks, content, download.

    It reads through the sandbox's own handle. Call `refresh` when files may have changed and `follow` to
    show the file that is being written; `feed` does both from the events of a run. Needs a running
    event loop.

    Args:
        sandbox: The live handle.
        files: What is in it, where that is known: the first display, and a static copy of it, then
            need not wait for the listing.

    Raises:
        InvalidOptionError: `sandbox` is no live handle, or no event loop is running.
    """

    _esm = front_text("dom.js", "store.js", "file_tree.js", "file_browser.js")
    _css = front_text("theme.css", "file_browser.css")

    def __init__(self, sandbox: Sandbox, files: Iterable[FileInfo] | None = None) -> None:
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        if not is_live_sandbox(sandbox):
            raise InvalidOptionError(
                f"FileBrowser needs a live sandbox of create_sandbox(), got {sandbox!r}."
            )
        self._loop = _needed_loop()
        super().__init__()
        self._sandbox = sandbox
        self._listing = FileListing()
        if files is not None:
            self._listing.take(files)
        self._refreshing: asyncio.Task[None] | None = None
        self._again = False
        self._seq = 0
        self._wanted: str | None = None
        self._open: str | None = None
        self._open_stamp: object = None
        self.on_msg(self._received)
        self._start(self.refresh())

    async def refresh(self) -> None:
        """Read the listing again and show what changed.

        Calls during a refresh are served by one more refresh after it.
        """
        if self._refreshing is not None and not self._refreshing.done():
            self._again = True
        else:
            self._refreshing = asyncio.ensure_future(self._refresh())
        await asyncio.shield(self._refreshing)

    async def mark(self) -> None:
        """Forget the change marks: from now on they say what changed since this call."""
        await self.refresh()
        self._listing.mark()
        self._tell_changes()

    def follow(self, path: str) -> None:
        """Select a file and show its content, unless the person has switched following off.

        Calls in quick succession are served by one: the last file wins. May be called on any thread;
        does nothing once the browser is closed.
        """
        self._wanted = path
        self._refresh_soon()

    def feed(self, event: Mapping[str, Any]) -> None:
        """Follow a run by its events, as dicts of `event_to_dict`: refresh, and show what was written.

        May be called on any thread; does nothing once the browser is closed.
        """
        if event.get("type") == "file-change" and event.get("change") != "delete":
            self.follow(str(event["path"]))
        elif event.get("type") in ("file-change", "tool-result"):
            self._refresh_soon()

    def close(self) -> None:
        """Remove the widget from every front end and stop following."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        super().close()

    def static_bundle(self) -> dict[str, str]:
        """Return the listing as a MIME bundle of HTML and plain text, for where widgets do not live."""
        title = f"{self._sandbox.kind} sandbox, {self._listing.summary()}"
        rows = [
            (mark, visible(path), size_text(size)) for path, (size, mark) in self._listing.entries.items()
        ]
        shown, more = rows[:MAX_LISTED_FILES], len(rows) - MAX_LISTED_FILES
        note = f"and {more:,} more" if more > 0 else ""
        plain = [title, *(f"{mark or ' '} {path}  {size}" for mark, path, size in shown), note]
        cells = (
            f"<tr><td>{mark}</td><td><code>{escape(path)}</code></td><td>{size}</td></tr>"
            for mark, path, size in shown
        )
        html = f"<div><b>{escape(title)}</b><table>{''.join(cells)}</table>{note}</div>"
        return {"text/html": html, "text/plain": "\n".join(line for line in plain if line)}

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            bundle[0].update(self.static_bundle())
        return bundle

    async def _refresh(self) -> None:
        while True:
            self._again = False
            self._listing.take(await self._sandbox.list_files())
            self._tell_changes()
            if self._wanted in self._listing.entries:
                self.send({"type": "follow", "path": self._wanted})
                self._wanted = None
            if self._open is not None and self._listing.stamp(self._open) != self._open_stamp:
                await self._show(self._open)
            if not self._again:
                return

    def _refresh_soon(self) -> None:
        call_at_home(self._loop, self._gather)

    def _gather(self) -> None:
        if self._timer is None and not self._closed:
            self._timer = self._loop.call_later(REFRESH_SECONDS, self._refresh_now)

    def _refresh_now(self) -> None:
        self._timer = None
        self._start(self.refresh())

    async def _show(self, path: str) -> None:
        """Send the content of a file, or why there is none."""
        self._open, self._open_stamp = path, self._listing.stamp(path)
        content, buffers = await self._content(path)
        self.send({"type": "content", "path": path, **content}, buffers)

    async def _content(self, path: str) -> tuple[dict[str, Any], list[bytes]]:
        data = await self._read(path, MAX_SHOWN_BYTES)
        if data is None:
            return {"kind": "missing", "note": "This file is gone."}, []
        if isinstance(data, int):
            return {"kind": "binary", "note": f"A file of {size_text(data)}, too large to show."}, []
        content, buffers = await asyncio.to_thread(preview_of, path, data)
        return {"size": len(data), **content}, buffers

    async def _download(self, path: str) -> None:
        data = await self._read(path, MAX_DOWNLOAD_BYTES)
        if data is None:
            self._complain(f"{visible(path)} is gone.")
        elif isinstance(data, int):
            self._complain(f"{visible(path)} has {size_text(data)}; read it with sandbox.read_file.")
        else:
            self.send({"type": "file", "path": path}, [data])

    async def _read(self, path: str, limit: int) -> bytes | int | None:
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

    def _tell_changes(self) -> None:
        files, gone = self._listing.changes()
        self._seq += 1
        self.send({"type": "changes", "files": files, "gone": gone, **self._state()})

    def _tell_whole(self) -> None:
        self._tell_changes()
        self.send({"type": "whole", "files": self._listing.whole(), **self._state()})

    def _state(self) -> dict[str, Any]:
        return {"seq": self._seq, "title": self._sandbox.kind, "summary": self._listing.summary()}

    def _complain(self, sentence: str) -> None:
        self.send({"type": "problem", "text": sentence})

    def _received(self, _widget: object, content: Mapping[str, Any], _buffers: object) -> None:
        """Take a message from a front end; it can come on another thread."""
        call_at_home(self._loop, self._answer, dict(content))

    def _answer(self, content: dict[str, Any]) -> None:
        kind, path = content.get("type"), content.get("path")
        if kind == "resync":
            self._tell_whole()
            if self._open is not None:
                self._start(self._show(self._open))
        elif kind == "refresh":
            self._start(self.refresh())
        elif kind in ("open", "download") and isinstance(path, str):
            # Limits go by the listing, so only its own paths are taken: "./big" would have no size there.
            if path not in self._listing.entries:
                self._complain(f"There is no file {path!r} in the listing; refresh it.")
            else:
                self._start(self._show(path) if kind == "open" else self._download(path))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work for a message in the background; a failure is one sentence in the browser."""
        task = self._loop.create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self._complain(message_of(error))


def _needed_loop() -> asyncio.AbstractEventLoop:
    loop = running_loop()
    if loop is None:
        raise InvalidOptionError(
            "FileBrowser needs a running event loop; a notebook has one, in a script use asyncio.run()."
        )
    return loop
