"""What came back for a request, delta by delta, in a form that people can read and compare."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from runcell_nb.core.errors import message_of
from runcell_nb.core.gateway import (
    ErrorDelta,
    FinishDelta,
    ModelDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from runcell_nb.core.usage import RequestUsage

from .normal_message import said_call, said_text

Piece = tuple[int, int]
"""Characters of one delta, and the milliseconds before it."""


@dataclass(frozen=True, slots=True)
class SaidPart:
    """Text or reasoning between other things.

    Attributes:
        text: The whole.
        pieces: How it came; empty for all at once.
        reasoning: The model's thinking, not its answer.
        provider: What the provider wants back with a reasoning.
    """

    text: str
    pieces: tuple[Piece, ...] = ()
    reasoning: bool = False
    provider: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CallPart:
    """A call; `arguments` exactly as the model wrote them, `gap` the milliseconds before it."""

    name: str
    arguments: str
    gap: int = 0


@dataclass(frozen=True, slots=True)
class ErrorPart:
    """An error within the stream, by its text."""

    text: str
    gap: int = 0


Part = SaidPart | CallPart | ErrorPart


@dataclass(frozen=True, slots=True, eq=False)
class RecordedResponse:
    """One response.

    Attributes:
        parts: What came, in order.
        finish: Why it ended; None when it has no regular end.
        usage: As the provider counted it, without cost; None when it did not.
        cut: The engine closed it after the last call, which handed in a valid result.
        overflow: What the provider said when the request did not fit; then there are no parts.
        gap: Milliseconds before the end.
    """

    parts: tuple[Part, ...] = ()
    finish: str | None = None
    usage: RequestUsage | None = None
    cut: bool = False
    overflow: str | None = None
    gap: int = 0

    def deltas(self, key: str) -> Iterator[tuple[int, ModelDelta]]:
        """Yield the deltas again, each after its gap in milliseconds.

        Args:
            key: Of the request; ids of calls are made of it.
        """
        if self.finish is None and self.usage is not None:
            yield 0, UsageDelta(_replayed(self.usage))
        for number, part in enumerate(self.parts, 1):
            if isinstance(part, SaidPart):
                yield from _said(part)
            elif isinstance(part, CallPart):
                yield part.gap, ToolCallDelta(f"call-{key[:8]}-{number}", part.name, part.arguments)
            else:
                yield part.gap, ErrorDelta(part.text)
        if self.finish is not None:
            yield self.gap, FinishDelta(self.finish, _replayed(self.usage or RequestUsage()))

    def message(self) -> dict[str, Any]:
        """Return the normal form of the message that the next request has for this response."""
        content = []
        for part in self.parts:
            if isinstance(part, CallPart):
                content.append(said_call(part.name, part.arguments.strip() or "{}"))
            elif isinstance(part, SaidPart) and not part.reasoning and part.text.strip():
                content.append(said_text(part.text))
        return {"role": "assistant", "content": content}


class ResponseRecorder:
    """Takes the deltas of a response while it arrives."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._texts: list[str] = []
        self._pieces: list[Piece] = []
        self._reasoning = False
        self._finish: str | None = None
        self._usage: RequestUsage | None = None
        self._gap = 0
        self._last = time.monotonic()

    def take(self, delta: ModelDelta) -> None:
        """Add a delta; progress of calls and retries is left out."""
        if isinstance(delta, TextDelta | ReasoningDelta):
            self._say(delta)
        elif isinstance(delta, ToolCallDelta):
            self._close()
            self._parts.append(CallPart(delta.name, delta.arguments, self._elapsed()))
        elif isinstance(delta, ErrorDelta):
            self._close()
            self._parts.append(ErrorPart(message_of(delta.error), self._elapsed()))
        elif isinstance(delta, UsageDelta):
            self._usage = delta.usage
        elif isinstance(delta, FinishDelta):
            self._finish, self._usage, self._gap = delta.reason, delta.usage, self._elapsed()

    def response(self, *, cut: bool = False) -> RecordedResponse:
        """Return what has come so far.

        Args:
            cut: The engine had what it wanted and closed the stream.
        """
        self._close()
        usage = None if self._usage is None else replace(self._usage, cost_usd=0.0, priced=False)
        return RecordedResponse(tuple(self._parts), self._finish, usage, cut, gap=self._gap)

    @property
    def begun(self) -> bool:
        """Whether anything has come."""
        return bool(self._parts or self._texts or self._usage or self._finish)

    @property
    def ended(self) -> bool:
        """Whether it has an end that counts: a finish, or an error that is part of it."""
        return self._finish is not None or any(isinstance(part, ErrorPart) for part in self._parts)

    def ends_with_call(self, name: str) -> bool:
        """Tell whether the last thing that came is a call of this tool."""
        last = self._parts[-1] if self._parts and not self._texts else None
        return isinstance(last, CallPart) and last.name == name

    def _say(self, delta: TextDelta | ReasoningDelta) -> None:
        reasoning = isinstance(delta, ReasoningDelta)
        if reasoning is not self._reasoning:
            self._close()
            self._reasoning = reasoning
        self._texts.append(delta.text)
        self._pieces.append((len(delta.text), self._elapsed()))
        if isinstance(delta, ReasoningDelta) and delta.provider is not None:
            self._close(delta.provider)

    def _close(self, provider: dict[str, Any] | None = None) -> None:
        """Make one part of the pieces so far."""
        if self._texts:
            text, pieces = "".join(self._texts), tuple(self._pieces)
            self._parts.append(SaidPart(text, pieces, self._reasoning, provider))
            self._texts.clear()
            self._pieces.clear()

    def _elapsed(self) -> int:
        now = time.monotonic()
        elapsed, self._last = round((now - self._last) * 1000), now
        return elapsed


def _said(part: SaidPart) -> Iterator[tuple[int, ModelDelta]]:
    position = 0
    pieces = part.pieces or ((len(part.text), 0),)
    for number, (length, gap) in enumerate(pieces, 1):
        text = part.text[position : position + length]
        position += length
        if not part.reasoning:
            yield gap, TextDelta(text)
        else:
            yield gap, ReasoningDelta(text, part.provider if number == len(pieces) else None)


def _replayed(usage: RequestUsage) -> RequestUsage:
    return replace(usage, cost_usd=0.0, priced=False, source="replayed")
