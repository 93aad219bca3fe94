"""One response of a model, put together from its deltas."""

from __future__ import annotations

from typing import Any

from .errors import TurnError
from .events import ReasoningEvent, RetryEvent, RunEvent, TextEvent, ToolInputEvent
from .gateway import (
    ErrorDelta,
    FinishDelta,
    ModelDelta,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallDelta,
    UsageDelta,
)
from .message_log import AssistantBlock, MessageLog
from .messages import ReasoningBlock, TextBlock, ToolCallBlock
from .submission import SUBMIT_RESULT
from .usage import RequestUsage, sound

HIDDEN_TOOLS = frozenset({SUBMIT_RESULT, "fileChange"})
"""The engine's own business: never shown in an event (FACTS 7.5)."""


class Response:
    """A response while it arrives.

    Attributes:
        blocks: What the model said, in order; complete after `close_text`.
        calls: The tool calls among them.
        characters: How much has arrived.
        begun: Whether anything has arrived.
        finish: The ending; None before it.
        usage: As far as the provider has counted; None when it has not.
        error: The first error part; None without one.
    """

    def __init__(self, log: MessageLog) -> None:
        self._log = log
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._ids: dict[str, str] = {}
        self._written: dict[str, int] = {}
        self.blocks: list[AssistantBlock] = []
        self.calls: list[ToolCallBlock] = []
        self.characters = 0
        self.begun = False
        self.finish: FinishDelta | None = None
        self.usage: RequestUsage | None = None
        self.error: ErrorDelta | None = None

    def take(self, delta: ModelDelta) -> RunEvent | None:
        """Add a delta and return the event that tells it, if it is to be told.

        Raises:
            TurnError: The gateway yielded something that is no delta.
        """
        if isinstance(delta, RetryDelta):
            return RetryEvent(delta.attempt, delta.delay, delta.reason)
        self.begun = True
        match delta:
            case TextDelta(str(text)):
                return self._take_text(text)
            case ReasoningDelta(str(text), provider):
                return self._take_reasoning(text, provider)
            case ToolArgumentsDelta(str(call_id), str(name), str(text)):
                self.characters += len(text)
                self._written[call_id] = self._written.get(call_id, 0) + len(text)
                unique = self._reserved_id(call_id)
                return None if name in HIDDEN_TOOLS else ToolInputEvent(unique, name, text)
            case ToolCallDelta(str(), str(), str()):
                self._take_call(delta)
            case UsageDelta(usage):
                self.usage = _checked(usage)
            case ErrorDelta():
                self.error = self.error or delta
            case FinishDelta(_, usage):
                self.finish, self.usage = delta, _checked(usage)
            case _:
                raise TurnError(
                    f"The gateway yielded {delta!r}; it may yield only the deltas of ModelDelta, "
                    "with text where they have text."
                )
        return None

    def close_text(self) -> None:
        """Turn the pieces of text or reasoning so far into blocks."""
        if self._reasoning:
            self.blocks.append(ReasoningBlock(text="".join(self._reasoning)))
            self._reasoning.clear()
        if self._text:
            self.blocks.append(TextBlock(text="".join(self._text)))
            self._text.clear()

    def _take_text(self, text: str) -> RunEvent | None:
        if self._reasoning:
            self.close_text()
        self._text.append(text)
        self.characters += len(text)
        return TextEvent(text) if text else None

    def _take_reasoning(self, text: str, provider: dict[str, Any] | None) -> RunEvent | None:
        if self._text:
            self.close_text()
        self._reasoning.append(text)
        self.characters += len(text)
        if provider is not None:
            self.blocks.append(ReasoningBlock(text="".join(self._reasoning), provider=provider))
            self._reasoning.clear()
        return ReasoningEvent(text) if text else None

    def _take_call(self, delta: ToolCallDelta) -> None:
        self.close_text()
        unique = self._reserved_id(delta.id)
        del self._ids[delta.id]  # the same id again is another call
        self.characters += max(0, len(delta.arguments) - self._written.pop(delta.id, 0))
        # A call without arguments comes as an empty string from some providers.
        call = ToolCallBlock(id=unique, name=delta.name, arguments=delta.arguments.strip() or "{}")
        self.blocks.append(call)
        self.calls.append(call)

    def _reserved_id(self, given: str) -> str:
        if given not in self._ids:
            self._ids[given] = self._log.reserve_id(given)
        return self._ids[given]


def _checked(usage: object) -> RequestUsage:
    if not isinstance(usage, RequestUsage):
        raise TurnError(f"The gateway's usage must be a RequestUsage, got {usage!r}.")
    return sound(usage)
