"""The live view of a run: a widget that is fed with events and tells when Stop is pressed (API 15)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import anywidget

from runcell_nb.core.events import event_to_dict

from .front_files import front_text
from .home_loop import call_at_home, running_loop
from .run_end import STOPPED, end_of
from .transcript import RunState, Transcript
from .updates import UpdateFeed

if TYPE_CHECKING:
    from runcell_nb.core.run import AgentRun

BATCH_SECONDS = 0.05
"""Shortest time between two messages to the browser."""


class RunView(anywidget.AnyWidget):
    """Shows a run while it goes on: header, answer, tool calls, changed files, Stop button.

    Only what is new crosses to the browser, at most 20 times a second, in numbered messages; a front end
    that was not there from the start, or missed one, asks and gets the whole display.

    Args:
        run: A run to follow: its events are shown and Stop cancels it. Needs a running event loop.
            None for a view that is fed by hand with `feed` and `finish`.
        model: Name of what will answer, until the run tells it.
        note: One sentence beside the name.
        thread: Name of the thread.
        turn: Number of the turn in the thread; 0 when unknown.
    """

    _esm = front_text(
        "dom.js",
        "store.js",
        "markdown_inline.js",
        "markdown.js",
        "run_blocks.js",
        "own_keys.js",
        "following_window.js",
        "run_view.js",
    )
    _css = front_text("theme.css", "run_view.css")

    def __init__(
        self,
        run: AgentRun[Any] | None = None,
        *,
        model: str = "",
        note: str = "",
        thread: str = "",
        turn: int = 0,
    ) -> None:
        self._timer: asyncio.TimerHandle | None = None
        super().__init__()
        self.transcript = Transcript(model=model, note=note, thread=thread, turn=turn)
        self._updates = UpdateFeed(self.transcript)
        self._stop_callbacks: list[Callable[[], object]] = []
        self._loop = running_loop()
        self._sent_at = float("-inf")
        self.on_msg(self._received)
        self._following = None if run is None else asyncio.ensure_future(self._follow(run))

    def feed(self, event: Mapping[str, Any]) -> None:
        """Show one more event, as a dict of `event_to_dict`; may be called on any thread."""
        call_at_home(self._loop, self._feed, event)

    def _feed(self, event: Mapping[str, Any]) -> None:
        self.transcript.apply(event)
        self._send_soon()

    def finish(self, state: RunState, message: str | None = None) -> None:
        """Show that the run is over; may be called on any thread.

        Args:
            state: 'done', 'failed' or 'stopped'.
            message: A sentence on what went wrong, in place of the error event's.
        """
        call_at_home(self._loop, self._finish, state, message)

    def _finish(self, state: RunState, message: str | None) -> None:
        self.transcript.finish(state, message)
        self._send_changes()

    def on_stop(self, callback: Callable[[], object]) -> None:
        """Call `callback` without arguments when Stop is pressed, on the event loop of the view."""
        self._stop_callbacks.append(callback)

    async def flush(self) -> None:
        """Send what is waiting and let the event loop pass it on."""
        self._send_changes()
        await asyncio.sleep(0)

    def close(self) -> None:
        """Remove the widget from every front end."""
        self._cancel_timer()
        # Runners without a browser (nbclient, nbconvert) save the last state of every widget, closed ones
        # too; the script would stand in the notebook once for each cell.
        self._esm, self._css = "export default {}", ""
        super().close()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            name = self.transcript.model or "a model"
            bundle[0]["text/plain"] = f"RunView of {name} ({self.transcript.state})"
        return bundle

    async def _follow(self, run: AgentRun[Any]) -> None:
        self.on_stop(lambda: run.cancel(STOPPED))
        async for event in run.events():
            self.feed(event_to_dict(event))
        try:
            await run.result()
        except BaseException as error:  # a run that never started says why only here
            self.finish(*end_of(error))
        else:
            self.finish("done")

    def _send_soon(self) -> None:
        wait = self._sent_at + BATCH_SECONDS - time.monotonic()
        if wait <= 0 or self._loop is None:
            self._send_changes()
        elif self._timer is None:
            self._timer = self._loop.call_later(wait, self._send_changes)

    def _send_changes(self) -> None:
        self._cancel_timer()
        self._sent_at = time.monotonic()
        self.send(self._updates.changes())

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _received(self, _widget: object, content: Mapping[str, Any], _buffers: object) -> None:
        """Take a message from a front end; it can come on another thread."""
        call_at_home(self._loop, self._answer, content)

    def _answer(self, content: Mapping[str, Any]) -> None:
        if content.get("type") == "resync":
            self._send_changes()
            self.send(self._updates.everything())
        elif content.get("type") == "stop" and self.transcript.state == "running":
            for callback in self._stop_callbacks:
                callback()
