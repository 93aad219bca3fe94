"""What a tool call came to, as the engine gets it from every kind of tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .messages import ImageBlock, TextBlock


class ToolFailure(Exception):
    """A tool error: the model reads the message as a failing result and the turn goes on."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file that a tool call changed.

    Attributes:
        path: Relative to the workspace, normalised.
        kind: What happened in this call.
        before: Content before the call; None when the file did not exist or was too big to keep.
    """

    path: str
    kind: Literal["create", "modify", "delete"]
    before: bytes | None = None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The answer of a tool.

    Attributes:
        content: What the model reads.
        output: What events show: the text, or the value that a host tool returned.
        is_error: The model reads a failing result.
        exit_code: Of a shell command, else None.
        changes: Files that this call changed, in the order they should be told.
    """

    content: tuple[TextBlock | ImageBlock, ...]
    output: Any
    is_error: bool = False
    exit_code: int | None = None
    changes: tuple[Change, ...] = ()


def text_outcome(
    text: str, *, is_error: bool = False, exit_code: int | None = None, changes: tuple[Change, ...] = ()
) -> ToolOutcome:
    """Return an outcome that is one text for model and events alike."""
    return ToolOutcome((TextBlock(text=text),), text, is_error, exit_code, changes)
