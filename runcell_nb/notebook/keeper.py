"""Keeps the threads in the notebook's metadata through the front end that shows the notebook (NOTEBOOK 4).

The kernel never writes the .ipynb itself: the front end holds it and would overwrite it, or ask the user.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets
from IPython.core.getipython import get_ipython

from .front_files import front_text
from .home_loop import call_at_home

MAX_REVISION = 2**52
"""Larger ones that were loaded are not outdone: soon after them integers are not exact in the browser."""

_MAX_SEEN = 20
"""Revisions that go to the front end; what it holds of before is told to the kernel once more."""


class MetadataKeeper(anywidget.AnyWidget):
    """A widget without a view: it puts a state into `metadata.runcell` of the notebook, and reads it back.

    The front end that ran the cell sets the metadata and saves the notebook; when it is gone (a page that
    was reloaded during a run), another one that shows the running cell asks to do it, and the first that
    asks may. One front end writes: a second tab with an older copy of the file would overwrite it or be
    asked what to do. Headless runners (nbclient, nbconvert, papermill) store the traits in
    `metadata.widgets` instead. Nothing happens where there is neither.

    A front end never replaces metadata that the kernel has not seen: a file that was not found, a page that
    answered late, another kernel. It sends them instead, once; whoever uses the keeper takes them in, calls
    `saw` and keeps again.

    Args:
        held: Is called, on any thread, with such metadata, and with an answer that came too late.

    Traits:
        state: The value kept last; `{}` before. Its `revision` is a number that grows with every `keep`,
            about the milliseconds since 1970.
        seen: Revisions of the metadata that `state` may replace, 0 for those without one.
        writer: Id of the client that may write: the sender of the running request, or its successor.
        cell: Id of the running cell; a notebook without it is another one that shares the kernel.
        question: Number of the open question for the metadata; 0 for none.
    """

    _esm = front_text("keeper.js")

    state = traitlets.Dict().tag(sync=True)
    seen: traitlets.List[int] = traitlets.List().tag(sync=True)
    writer = traitlets.Unicode().tag(sync=True)
    cell = traitlets.Unicode().tag(sync=True)
    question = traitlets.Int().tag(sync=True)

    def __init__(self, held: Callable[[dict[str, Any]], object] = lambda _: None) -> None:
        self._lock = threading.RLock()
        self._held = held
        self._written = True
        self._asked = 0
        self._seen: dict[int, None] = {}  # oldest first
        self._waiting: dict[asyncio.Future[dict[str, Any] | None], asyncio.AbstractEventLoop] = {}
        super().__init__()
        self.on_msg(self._received)

    def keep(self, state: Mapping[str, Any]) -> None:
        """Keep a state, once a run; may be called on any thread.

        The same content as last time does nothing, unless other metadata were seen since.

        Args:
            state: Plain JSON; it is copied. A `revision` in it (as loaded from the notebook) is outdone.

        Raises:
            ValueError: It holds NaN, or text that is no Unicode (half a surrogate pair leaves the
                notebook as a file of 0 bytes); what was kept before stays.
            TypeError: It is no JSON.
        """
        copy = _plain(state)
        with self._lock:
            same = self.state and copy | {"revision": self.state["revision"]} == self.state
            if same and self._seen.keys() <= set(self.seen):
                return
            copy["revision"] = self._next_revision(copy.get("revision"))
            self._saw(copy["revision"])
            self._written = False
            with self.hold_sync():
                self._address()
                self.seen = list(self._seen)
                self.state = copy

    def saw(self, held: object) -> None:
        """Let the next `keep` replace metadata; their threads are in it.

        Args:
            held: The metadata, as a front end or the file holds them.
        """
        with self._lock:
            self._saw(_revision_of(held))

    def _saw(self, revision: int) -> None:
        self._seen.pop(revision, None)
        self._seen[revision] = None
        while len(self._seen) > _MAX_SEEN:
            del self._seen[next(iter(self._seen))]

    async def ask(self, seconds: float) -> dict[str, Any] | None:
        """Return `metadata.runcell` as the front end holds it, which may not be saved yet.

        Only an awaiting cell gets an answer while it runs, and that from ipykernel 7.4 on.

        Args:
            seconds: The longest wait.

        Returns:
            What stands there, unchecked: it is the content of somebody's file, and counts as seen. None
            when there is nothing or nobody answers in time.
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
            found = await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            return None
        else:
            if found is not None:
                self.saw(found)
            return found
        finally:
            with self._lock:
                del self._waiting[answer]
                if not self._waiting:
                    self.question = 0  # a page that is loaded later need not answer any more

    def _next_revision(self, loaded: object) -> int:
        known = loaded if type(loaded) is int and loaded < MAX_REVISION else 0
        last: int = self.state.get("revision", 0)
        return max(time.time_ns() // 1_000_000, known + 1, last + 1)

    def _address(self) -> None:
        self.writer, cell = _running_request()
        self.cell = cell or self.cell  # what a page asks for belongs to no cell

    def _received(self, _widget: object, content: Mapping[str, Any], _buffers: object) -> None:
        """Take a message from a front end; it can come on another thread."""
        found = content.get("state")
        state = found if isinstance(found, dict) else None
        with self._lock:
            match content.get("type"):
                case "answer" if self._waiting:
                    for waiting, loop in self._waiting.items():
                        call_at_home(loop, _answer, waiting, state)
                case "held" | "answer" if found is not None and _revision_of(state) not in self._seen:
                    self._held(state or {})
                case "kept" if content.get("revision") == self.state.get("revision"):
                    self._written = True
                case "may write" if not self._written:
                    self.writer = str(content.get("client"))


def _answer(waiting: asyncio.Future[dict[str, Any] | None], state: dict[str, Any] | None) -> None:
    if not waiting.done():
        waiting.set_result(state)


def _revision_of(held: object) -> int:
    """Return the number by which the front end knows metadata; the same there."""
    revision = held.get("revision") if isinstance(held, dict) else None
    return revision if type(revision) is int and 0 <= revision < 2**53 else 0


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
