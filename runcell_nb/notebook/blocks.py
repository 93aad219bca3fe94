"""The parts of a run as they are shown: text, tool call, notice, changed file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .shown_text import Clip, visible

MAX_TEXT_CHARS = 200_000
"""Characters of one text block that are kept; what came after is counted."""

MAX_DIFF_LINES = 200
"""Lines of one difference that are kept."""

MAX_CALL_DIFFS = 20
"""Differences kept with one tool call; further changed files are only listed."""

_MAX_LINE_CHARS = 400
_SHORT_LINES = 12

CallStatus = Literal["writing", "running", "done", "failed", "interrupted"]


@dataclass(slots=True)
class TextBlock:
    """A piece of the answer or of the model's thinking, growing at its end.

    Attributes:
        kind: 'text' or 'reasoning'.
        pieces: The text in the pieces in which it came.
        length: Characters kept.
        omitted: Characters that came after the limit and were not kept.
    """

    kind: Literal["text", "reasoning"]
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    omitted: int = 0

    def append(self, text: str) -> None:
        """Add text at the end, as far as the limit allows."""
        room = MAX_TEXT_CHARS - self.length
        kept = text[: max(room, 0)]
        self.omitted += len(text) - len(kept)
        if kept:
            self.pieces.append(visible(kept))
            self.length += len(kept)

    def text(self) -> str:
        """Return the whole text, with a sentence on what was not kept."""
        note = f"\n\n… {self.omitted:,} more characters left out …" if self.omitted else ""
        return "".join(self.pieces) + note


@dataclass(frozen=True, slots=True)
class DiffView:
    """How one file changed in one tool call.

    Attributes:
        path: Of the file, cleaned for display.
        change: 'create', 'modify' or 'delete'.
        added: Lines added; None when not compared.
        removed: Lines removed; None when not compared.
        lines: Lines of the unified difference, each with its sign.
        omitted: Lines left out.
    """

    path: str
    change: str
    added: int | None
    removed: int | None
    lines: tuple[str, ...] = ()
    omitted: int = 0

    def counts_only(self) -> DiffView:
        """Return the same without its lines."""
        return DiffView(self.path, self.change, self.added, self.removed)


def counts_text(added: int | None, removed: int | None) -> str:
    """Return lines added and removed, with a true minus sign; zeros and unknowns are left out."""
    parts = [f"+{added:,}" if added else "", f"\u2212{removed:,}" if removed else ""]
    return " ".join(part for part in parts if part)


def diff_view(event: Mapping[str, Any]) -> DiffView:
    """Return the difference of a file-change event, bounded."""
    diff = event.get("diff") or {}
    path, change = visible(str(event.get("path", ""))), str(event.get("change", "modify"))
    lines: Sequence[str] = diff.get("lines") or ()
    if change == "create" and lines and lines[0].startswith("@@"):
        lines = lines[1:]  # a new file is one hunk from line 1
    kept = tuple(_diff_line(line) for line in lines[:MAX_DIFF_LINES])
    omitted = int(diff.get("omitted") or 0) + len(lines) - len(kept)
    return DiffView(path, change, diff.get("added"), diff.get("removed"), kept, omitted)


def _diff_line(line: str) -> str:
    """Return a line of a difference with a blank after its sign."""
    text = visible(line.rstrip("\r\n")).replace("\n", "\u240a")
    text = text if len(text) <= _MAX_LINE_CHARS else text[:_MAX_LINE_CHARS] + "…"
    return text if text.startswith("@@") else f"{text[:1] or ' '} {text[1:]}"


@dataclass(slots=True)
class CallBlock:
    """A tool call.

    Attributes:
        id: Of the call.
        name: Of the tool.
        status: Where it is.
        written: Characters of its arguments that have arrived while it is being written.
        summary: Its arguments on one line.
        input: What the summary does not say of them.
        result: What came back.
        note: A few words on the size of the result.
        duration: Seconds; None until it has answered.
        exit_code: Of a shell command.
        diffs: What it changed.
        trimmed: Its texts were dropped, because the run has very many calls.
    """

    id: str
    name: str
    status: CallStatus = "writing"
    written: int = 0
    summary: str = ""
    input: Clip = field(default_factory=Clip)
    result: Clip = field(default_factory=Clip)
    note: str = ""
    duration: float | None = None
    exit_code: int | None = None
    diffs: list[DiffView] = field(default_factory=list)
    trimmed: bool = False
    kind: Literal["call"] = "call"

    @property
    def counts(self) -> tuple[int, int]:
        """Lines added and removed by this call."""
        return sum(diff.added or 0 for diff in self.diffs), sum(diff.removed or 0 for diff in self.diffs)

    @property
    def opened(self) -> bool:
        """Whether it should be shown unfolded: a failure, or a short output or difference."""
        if self.status == "failed" or self.exit_code:
            return True
        lines = sum(len(diff.lines) + 1 for diff in self.diffs) or self.result.shown_lines
        return self.name in ("bash", "write", "edit") and 0 < lines <= _SHORT_LINES

    def add_diff(self, diff: DiffView) -> None:
        """Attach what the call did to a file, as far as the limit allows."""
        if len(self.diffs) < MAX_CALL_DIFFS:
            self.diffs.append(diff)

    def trim(self) -> None:
        """Drop the long texts and say so."""
        self.input = self.result = Clip()
        self.diffs = [diff.counts_only() for diff in self.diffs]
        self.trimmed = True


@dataclass(frozen=True, slots=True)
class NoticeBlock:
    """A sentence about the run itself: a retry, a repair, an answer that was cut."""

    text: str
    kind: Literal["notice"] = "notice"


Block = TextBlock | CallBlock | NoticeBlock


@dataclass(slots=True)
class FileTotal:
    """What the run did to one file.

    Attributes:
        path: Cleaned for display.
        change: Folded over the run: 'create', 'modify' or 'delete'.
        added: Lines added, summed over its changes; None when not all were compared.
        removed: Lines removed, likewise.
        diffs: The differences of which lines are kept, in order, at most `MAX_CALL_DIFFS`.
        block: Index of the last tool call that changed it; None when unknown.
    """

    path: str
    change: str
    added: int | None = 0
    removed: int | None = 0
    diffs: list[DiffView] = field(default_factory=list)
    block: int | None = None

    def add(self, diff: DiffView, block: int | None) -> None:
        """Count one more change of the file."""
        self.change, self.block = diff.change, block if block is not None else self.block
        known = self.added is not None and self.removed is not None
        if not known or diff.added is None or diff.removed is None:
            self.added = self.removed = None
        else:
            self.added = (self.added or 0) + diff.added
            self.removed = (self.removed or 0) + diff.removed
        if diff.lines and len(self.diffs) < MAX_CALL_DIFFS:
            self.diffs.append(diff)

    @property
    def counts(self) -> tuple[int | None, int | None]:
        """Lines added and removed; a new file counts the lines that it has."""
        if self.change == "create" and self.added is not None and self.removed is not None:
            return self.added - self.removed, 0
        return self.added, self.removed
