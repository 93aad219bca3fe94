"""How a run is shown in its cell: a live widget that becomes a static copy, or text in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, TypeVarTuple
from uuid import uuid4

from runcell_nb.core.errors import message_of
from runcell_nb.core.events import RunEvent, event_to_dict

from .run_view import RunView
from .shown_text import visible
from .static_bundle import answer_bundle, static_bundle
from .static_text import static_plain
from .tool_display import summary_of
from .transcript import RunState, Transcript

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class CellView(Protocol):
    """What the session tells of a run."""

    def show(self, event: Mapping[str, Any]) -> None:
        """Show one event, as a dict of `event_to_dict`."""

    def end(
        self, state: RunState, message: str | None = None, record: Mapping[str, Any] | None = None
    ) -> None:
        """Show how the run ended and leave a copy that stays.

        Args:
            state: How it ended.
            message: A sentence on what went wrong.
            record: Of the turn, as a MIME bundle to stand beside the copy; None without one.
        """


class GuardedView:
    """A view whose faults never touch the run: the first is told in one line, the run goes on.

    Attributes:
        failed: Whether something could not be shown.
    """

    def __init__(self, view: CellView, *listeners: Callable[[Mapping[str, Any]], None]) -> None:
        """Guard a view.

        Args:
            view: What shows the run.
            *listeners: Called with each event as well; guarded likewise.
        """
        self._view = view
        self._shows = (view.show, *listeners)
        self._record: Mapping[str, Any] | None = None
        self.failed = False

    def tell(self, sentence: str) -> None:
        """Show a sentence about the run."""
        self._tried(self._view.show, {"type": "notice", "text": sentence})

    def show_data(self, data: object) -> None:
        """Show the result of a structured run."""
        text = self._tried(repr, data)  # of a class of the user's, which may raise
        if text is not None:
            self._tried(self._view.show, {"type": "data", "text": text})

    def record(self, record: Mapping[str, Any] | None) -> None:
        """Leave the record of the turn beside the copy that stays."""
        self._record = record

    def show(self, event: RunEvent) -> None:
        """Show one event."""
        told = self._tried(event_to_dict, event)
        if told is not None:
            for show in self._shows:
                self._tried(show, told)

    def end(self, state: RunState, message: str | None = None) -> None:
        """Show how the run ended."""
        self._tried(self._view.end, state, message, self._record)

    def complain(self, what: str, error: Exception) -> None:
        """Tell in one line, once, that something beside the run went wrong.

        Args:
            what: What is incomplete for it: 'the display', say.
            error: Why.
        """
        if not self.failed:
            why = visible(" ".join(f"{type(error).__name__}: {message_of(error)}".split()))
            sys.stderr.write(f"runcell: {what} is incomplete ({why}); the run goes on.\n")
        self.failed = True

    def _tried(self, work: Callable[[*Arguments], T], *arguments: *Arguments) -> T | None:
        try:
            return work(*arguments)
        except Exception as error:
            self.complain("the display", error)
            return None


class LiveCellView:
    """A widget while the run is live; at the end the same output becomes the static copy.

    The copy replaces the widget because a saved notebook outlives the kernel, and a widget without
    its kernel shows nothing.
    """

    def __init__(self, shell: Any, stop: Callable[[], object], **titles: Any) -> None:
        from IPython.display import display

        self._shell = shell
        self._widget = RunView(**titles)
        self._widget.on_stop(stop)
        self._display_id = uuid4().hex
        self.transcript = self._widget.transcript
        display(self._widget, display_id=self._display_id)  # type: ignore[no-untyped-call]

    def show(self, event: Mapping[str, Any]) -> None:
        """Show one event."""
        self._widget.feed(event)

    def end(
        self, state: RunState, message: str | None = None, record: Mapping[str, Any] | None = None
    ) -> None:
        """Replace the widget by the static copy."""
        self._widget.finish(state, message)
        self._shell.display_pub.publish(
            {**static_bundle(self.transcript), **(record or {})},
            transient={"display_id": self._display_id},
            update=True,
        )
        self._widget.close()


class QuietCellView:
    """Shows nothing until the run is over, then the answer and what it cost."""

    def __init__(self, shell: Any, stop: Callable[[], object], **titles: Any) -> None:
        self._shell = shell
        self.transcript = Transcript(**titles)

    def show(self, event: Mapping[str, Any]) -> None:
        """Take in one event."""
        self.transcript.apply(event)

    def end(
        self, state: RunState, message: str | None = None, record: Mapping[str, Any] | None = None
    ) -> None:
        """Show the answer."""
        self.transcript.finish(state, message)
        self._shell.display_pub.publish({**answer_bundle(self.transcript), **(record or {})})


class TextCellView:
    """Plain text for a terminal: the answer as it comes, a line for each call, the cost at the end."""

    def __init__(self, **titles: Any) -> None:
        self.transcript = Transcript(**titles)
        self._fresh_line = True

    def show(self, event: Mapping[str, Any]) -> None:
        """Write what a terminal can show."""
        self.transcript.apply(event)
        if event["type"] == "text":
            self._write(event["text"])
        elif event["type"] in ("notice", "data"):
            self._write_line(event["text"])
        elif event["type"] == "tool-call":
            self._write_line(f"[{event['name']}] {summary_of(event['input'])}")

    def end(
        self, state: RunState, message: str | None = None, record: Mapping[str, Any] | None = None
    ) -> None:
        """Write the summary."""
        self.transcript.finish(state, message)
        self._write_line(static_plain(self.transcript).splitlines()[0])

    def _write_line(self, line: str) -> None:
        self._write(("" if self._fresh_line else "\n") + line + "\n")

    def _write(self, text: str) -> None:
        # Escape sequences of a model's could drive the terminal: only what they look like is written.
        sys.stdout.write(visible(text))
        sys.stdout.flush()
        self._fresh_line = text.endswith("\n") if text else self._fresh_line
