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
from .static_bundle import static_bundle
from .static_text import static_plain
from .tool_display import summary_of
from .transcript import RunState, Transcript

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class CellView(Protocol):
    """What the session tells of a run."""

    def show(self, event: Mapping[str, Any]) -> None:
        """Show one event, as a dict of `event_to_dict`."""

    def end(self, state: RunState, message: str | None = None) -> None:
        """Show how the run ended and leave a copy that stays."""


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
        self.failed = False

    def show(self, event: RunEvent) -> None:
        """Show one event."""
        told = self._tried(event_to_dict, event)
        if told is not None:
            for show in self._shows:
                self._tried(show, told)

    def end(self, state: RunState, message: str | None = None) -> None:
        """Show how the run ended."""
        self._tried(self._view.end, state, message)

    def _tried(self, work: Callable[[*Arguments], T], *arguments: *Arguments) -> T | None:
        try:
            return work(*arguments)
        except Exception as error:
            if not self.failed:
                why = visible(" ".join(f"{type(error).__name__}: {message_of(error)}".split()))
                sys.stderr.write(f"runcell: the display is incomplete ({why}); the run goes on.\n")
            self.failed = True
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

    def end(self, state: RunState, message: str | None = None) -> None:
        """Replace the widget by the static copy."""
        self._widget.finish(state, message)
        self._shell.display_pub.publish(
            static_bundle(self.transcript), transient={"display_id": self._display_id}, update=True
        )
        self._widget.close()


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
        elif event["type"] == "tool-call":
            self._write_line(f"[{event['name']}] {summary_of(event['input'])}")

    def end(self, state: RunState, message: str | None = None) -> None:
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
