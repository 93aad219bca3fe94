"""The file browser: the files of a sandbox, live while an agent works, to see and to change (API 15)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from runcell_nb.core.errors import InvalidOptionError, message_of
from runcell_nb.core.sandbox import FileInfo, Sandbox, is_live_sandbox

from .file_listing import FileListing
from .file_preview import diff_preview, preview_of
from .file_requests import FileRequests
from .file_static import static_listing
from .front_end import draws_in_outputs
from .front_files import front_text
from .home_loop import call_at_home, running_loop
from .marked_files import read_marked
from .shown_text import size_text

REFRESH_SECONDS = 0.1
"""How long changes are gathered before the listing is read again; with very many files longer."""

MAX_SHOWN_BYTES = 30_000_000
"""Larger files are not read to be shown."""

_DOUBTFUL_FILES = 200
_REST = 3
"""After a refresh that took a second, the next waits that many: the agent needs the event loop too."""


class FileBrowser(anywidget.AnyWidget):
    """Shows the files of a sandbox: tree with sizes and change marks, content, differences; and changes them.

    It works through the sandbox's own handle. Call `refresh` when files may have changed and `follow` to
    show the file that is being written; `feed` does both from the events of a run. Needs a running
    event loop.

    What is displayed, and saved in the notebook, is a static listing; a live page draws the browser in its
    place. So a notebook that is opened without its kernel shows the listing.

    Args:
        sandbox: The live handle.
        files: What is in it, where that is known: the first display, and a static copy of it, then
            need not wait for the listing.

    Raises:
        InvalidOptionError: `sandbox` is no live handle, or no event loop is running.
    """

    _esm = front_text(
        "dom.js",
        "store.js",
        "file_tree.js",
        "file_rows.js",
        "highlight.js",
        "json_folds.js",
        "file_content.js",
        "ask_bar.js",
        "file_transfer.js",
        "own_keys.js",
        "placed_store.js",
        "file_actions.js",
        "file_browser.js",
    )
    _css = front_text("theme.css", "file_browser.css")
    place = traitlets.Unicode().tag(sync=True)

    def __init__(self, sandbox: Sandbox, files: Iterable[FileInfo] | None = None) -> None:
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        if not is_live_sandbox(sandbox):
            raise InvalidOptionError(
                f"FileBrowser needs a live sandbox of create_sandbox(), got {sandbox!r}."
            )
        self._loop = _needed_loop()
        super().__init__(place=uuid4().hex)
        self._sandbox = sandbox
        self._listing = FileListing()
        self._requests = FileRequests(sandbox, self._listing, self)
        if files is not None:
            self._listing.take(files)
        self._refreshing: asyncio.Task[None] | None = None
        self._again = False
        self._took = 0.0
        self._seq = 0
        self._wanted: str | None = None
        self._open: str | None = None
        self._open_diff = False
        self._open_stamp: object = None
        self.on_msg(self._received)
        self._start(self._begin())

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
        """Forget the change marks: from now on they and the differences say what changed since this call."""
        await self.refresh()
        self._listing.mark()
        self._tell_changes()
        await self._learn()
        if self._open is not None and self._open_diff:
            await self._show(self._open)

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
        return static_listing(self._sandbox.kind, self._listing, self.place)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The static listing; front ends whose page our script cannot reach get the widget itself too."""
        own = None if draws_in_outputs() else super()._repr_mimebundle_(**kwargs)
        data, metadata = own or ({}, {})
        return {**data, **self.static_bundle()}, metadata

    async def _begin(self) -> None:
        await self.refresh()
        await self._learn()

    async def _learn(self) -> None:
        """Read what the files held at the mark, as far as they still do."""
        infos = self._listing.below("")
        marked = await read_marked(self._sandbox, infos)
        await self.refresh()
        self._listing.know(marked, infos)

    async def _refresh(self) -> None:
        while True:
            self._again = False
            begun = self._loop.time()
            self._listing.take(await self._sandbox.list_files())
            doubtful = self._listing.doubtful(_DOUBTFUL_FILES)
            for path, data in zip(doubtful, await self._sandbox.read_files(doubtful), strict=True):
                self._listing.judge(path, data)
            self._tell_changes()
            self._took = self._loop.time() - begun
            if self._wanted in self._listing.entries:
                self.send({"type": "follow", "path": self._wanted})
                self._wanted = None
            if self._open is not None and self._listing.stamp(self._open) != self._open_stamp:
                await self._show(self._open)
            if not self._again and len(doubtful) < _DOUBTFUL_FILES:
                return

    def _refresh_soon(self) -> None:
        call_at_home(self._loop, self._gather)

    def _gather(self) -> None:
        if self._timer is None and not self._closed:
            wait = max(REFRESH_SECONDS, _REST * self._took)
            self._timer = self._loop.call_later(wait, self._refresh_now)

    def _refresh_now(self) -> None:
        self._timer = None
        self._start(self.refresh())

    async def _show(self, path: str) -> None:
        """Send the content of a file or its difference, or why there is none."""
        self._open, self._open_stamp = path, self._listing.stamp(path)
        content, buffers = await (self._difference(path) if self._open_diff else self._content(path))
        self.send({"type": "content", "path": path, **content}, buffers)

    async def _content(self, path: str) -> tuple[dict[str, Any], list[bytes]]:
        data = await self._requests.read(path, MAX_SHOWN_BYTES)
        if data is None:
            return {"kind": "missing", "note": "This file is gone."}, []
        if isinstance(data, int):
            return {"kind": "binary", "note": f"A file of {size_text(data)}, too large to show."}, []
        content, buffers = await asyncio.to_thread(preview_of, path, data)
        return {"size": len(data), **content}, buffers

    async def _difference(self, path: str) -> tuple[dict[str, Any], list[bytes]]:
        before = self._listing.marked.content(path)
        if before is None and self._listing.was_there(path):
            return {
                "kind": "binary",
                "note": "What it held before is not kept, so there is no difference.",
            }, []
        after = await self._requests.read(path, MAX_SHOWN_BYTES)
        if isinstance(after, int):
            return {"kind": "binary", "note": f"A file of {size_text(after)}, too large to compare."}, []
        return await asyncio.to_thread(diff_preview, before, after), []

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

    def _received(self, _widget: object, content: Mapping[str, Any], buffers: Sequence[Any]) -> None:
        """Take a message from a front end; it can come on another thread."""
        call_at_home(self._loop, self._answer, dict(content), list(buffers or []))

    def _answer(self, content: dict[str, Any], buffers: list[Any]) -> None:
        kind = content.get("type")
        if kind == "resync":
            self._tell_whole()
            if self._open is not None:
                self._start(self._show(self._open))
        elif kind == "refresh":
            self._start(self.refresh())
        elif kind == "mark":
            self._start(self.mark())
        elif kind == "static":
            self.send({"type": "static", "bundle": self.static_bundle()})
        elif kind in ("open", "diff"):
            self._open_asked(str(content.get("path")), kind == "diff")
        else:
            self._start(self._requests.serve(content, buffers))

    def _open_asked(self, path: str, diff: bool) -> None:
        # Limits go by the listing, so only its own paths are taken: "./big" would have no size there.
        if path not in (self._listing.shown() if diff else self._listing.entries):
            self._complain(f"There is no file {path!r} in the listing; refresh it.")
        else:
            self._open_diff = diff
            self._start(self._show(path))

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
