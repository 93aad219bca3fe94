"""What a run returns (API 1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any, Generic, TypeVar

from .files import ChangedFile
from .usage import RunUsage

T = TypeVar("T")


@dataclass(frozen=True)
class RunResult(Generic[T]):
    """The outcome of a successful run.

    Attributes:
        data: The validated value of a structured run; None on plain runs.
        text: Everything the model said.
        files: Files created or modified, in order of first appearance.
        finish_reason: Why the last turn ended: 'stop', 'length', 'content-filter', …
        session_id: Of the engine session.
        usage: Tokens and cost of all requests.
        pending: What waits for a decision; None when nothing does.
    """

    data: T
    text: str
    files: list[ChangedFile] = field(default_factory=list)
    finish_reason: str = "stop"
    session_id: str = ""
    usage: RunUsage = field(default_factory=RunUsage)
    pending: Any = None

    def _repr_html_(self) -> str:
        """Show text, files and usage in a notebook; everything escaped."""
        files = "".join(f"<li><code>{escape(file.path)}</code> ({file.change})</li>" for file in self.files)
        listed = f"<ul>{files}</ul>" if files else ""
        usage = self.usage
        foot = f"{usage.total_tokens:,} tokens, finished: {escape(self.finish_reason)}"
        data = "" if self.data is None else f"<p><code>{escape(repr(self.data))}</code></p>"
        text = f'<p style="white-space:pre-wrap">{escape(self.text)}</p>'
        return f"<div>{text}{data}{listed}<p><small>{foot}</small></p></div>"
