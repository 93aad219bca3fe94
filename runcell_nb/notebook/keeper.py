"""Keeps the threads in the notebook's metadata through the front end that shows the notebook (NOTEBOOK 4).

The kernel never writes the .ipynb itself: the front end holds it and would overwrite it, or ask the user.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Mapping
from typing import Any

import anywidget
import traitlets
from IPython.core.getipython import get_ipython

from .front_files import front_text
from .home_loop import call_at_home

MAX_REVISION = 2**53 - 1
"""The largest integer that is exact in the browser."""


class MetadataKeeper(anywidget.AnyWidget):
    """A widget without a view: it puts a state into `metadata.runcell` of the notebook, and reads it back.

    The front end that ran the cell sets the metadata and saves the notebook; when it is gone (a page that
    was reloaded during a run), another one that shows the running cell asks to do it, and the first that
    asks may. One front end writes: a second tab with an older copy of the file would overwrite it or be
    asked what to do. Headless runners (nbclient, nbconvert, papermill) store the traits in
    `metadata.widgets` instead. Nothing happens where there is neither.

    Traits:
        state: The value kept last; `{}` before. Its `revision` is a number that grows with every `keep`,
            about the milliseconds since 1970: a front end never replaces metadata of the same or a higher
            revision, also not those of another kernel.
        writer: Id of the client that may write: the sender of the running request, or its successor.
        cell: Id of the running cell; a notebook without it is another one that shares the kernel.
        question: Number of the open question for the metadata; 0 for none.
    """

    _esm = front_text("keeper.js")

    state = traitlets.Dict().tag(sync=True)
    writer = traitlets.Unicode().tag(sync=True)
    cell = traitlets.Unicode().tag(sync=True)
    question = traitlets.Int().tag(sync=True)

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._written = True
        self._asked = 0
        self._waiting: dict[asyncio.Future[dict[str, Any] | None], asyncio.AbstractEventLoop] = {}
        super().__init__()
        self.on_msg(self._received)

    def keep(self, state: Mapping[str, Any]) -> None:
        """Keep a state, once a run; may be called on any thread.

        The same content as last time does nothing.

        Args:
            state: Plain JSON; it is copied. A `revision` in it (as loaded from the notebook) is outdone.

        Raises:
            ValueError: It holds NaN, or text that is no Unicode (half a surrogate pair leaves the
                notebook as a file of 0 bytes); what was kept before stays.
            TypeError: It is no JSON.
        """
        copy = _plain(state)
        with self._lock:
            if self.state and copy | {"revision": self.state["revision"]} == self.state:
                return
            copy["revision"] = self._next_revision(copy.get("revision"))
            self._written = False
            with self.hold_sync():
                self._address()
                self.state = copy

    async def ask(self, seconds: float) -> dict[str, Any] | None:
        """Return `metadata.runcell` as the front end holds it, which may not be saved yet.

        Only an awaiting cell gets an answer while it runs, and that from ipykernel 7.4 on.

        Args:
            seconds: The longest wait.

        Returns:
            What stands there, unchecked: it is the content of somebody's file. None when there is nothing
            or nobody answers in time.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[dict[str, Any] | None] = loop.create_future()
        with self._lock:
            self._waiting[answer] = loop
            self._asked += 1
            with self.hold_sync():
                self._address()
                self.question = self._asked
        try:
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            return None
        finally:
            with self._lock:
                del self._waiting[answer]
                if not self._waiting:
                    self.question = 0  # a page that is loaded later need not answer any more

    def _next_revision(self, loaded: object) -> int:
        known = loaded if isinstance(loaded, int) and loaded < MAX_REVISION else 0
        last: int = self.state.get("revision", 0)
        return max(time.time_ns() // 1_000_000, known + 1, last + 1)

    def _address(self) -> None:
        self.writer, self.cell = _running_request()

    def _received(self, _widget: object, content: Mapping[str, Any], _buffers: object) -> None:
        """Take a message from a front end; it can come on another thread."""
        with self._lock:
            match content.get("type"):
                case "answer":
                    state = content.get("state")
                    for waiting, loop in self._waiting.items():
                        call_at_home(loop, _answer, waiting, state if isinstance(state, dict) else None)
                case "kept" if content.get("revision") == self.state.get("revision"):
                    self._written = True
                case "may write" if not self._written:
                    self.writer = str(content.get("client"))


def _answer(waiting: asyncio.Future[dict[str, Any] | None], state: dict[str, Any] | None) -> None:
    if not waiting.done():
        waiting.set_result(state)


def _plain(state: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(dict(state), allow_nan=False, ensure_ascii=False)
    text.encode()
    copy: dict[str, Any] = json.loads(text)
    return copy


def _running_request() -> tuple[str, str]:
    """Return who sent the request that is running, and the id of its cell; empty where that is unknown."""
    kernel = getattr(get_ipython(), "kernel", None)
    request = {} if kernel is None else kernel.get_parent() or {}
    sender = request.get("header", {}).get("session")
    return str(sender or ""), str(request.get("metadata", {}).get("cellId") or "")
