"""The chunks that litellm streams, put together into deltas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from runcell_nb.core.gateway import (
    ModelDelta,
    ReasoningDelta,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallDelta,
)

from .litellm_wire import CALL_SIGNATURE, TEXT_SIGNATURE


@dataclass(slots=True)
class _OpenCall:
    """A tool call that is still being written.

    Attributes:
        index: As the provider counts.
        given_id: The provider's id; None until it has sent one.
        id: Under which the call is told, from its first piece to its end: an id that comes after text
            was told does not change it.
        name: Empty until it came.
        pieces: Of the arguments; none of them is empty.
    """

    index: int
    given_id: str | None = None
    id: str = field(default_factory=lambda: f"call_{uuid4().hex}")
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def may_be_told(self) -> bool:
        """Whether the id is settled; a piece without id and text waits, as the id may come next."""
        return self.given_id is not None or bool(self.pieces)

    def add(self, call_id: str | None, name: str, text: str) -> None:
        """Take what the next piece brings."""
        if call_id and self.given_id is None:
            self.id = self.id if self.may_be_told else call_id
            self.given_id = call_id
        self.name = self.name or name
        if text:
            self.pieces.append(text)

    def is_whole(self) -> bool:
        """Return whether the arguments so far are a JSON object, after which nothing can follow."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False  # without parsing, which would be quadratic over many pieces
        try:
            return isinstance(json.loads(self.arguments), dict)
        except ValueError:
            return False


class ChunkReader:
    """Reads the chunks of one response.

    Attributes:
        finish_reason: In our words; None until the response has ended.
        usage: litellm's figures, estimated where the provider sent none; None until they came.
        has_content: Whether the response had any text, reasoning or tool call.
    """

    def __init__(self, provider: str) -> None:
        self.finish_reason: str | None = None
        self.usage: Any = None
        self.has_content = False
        self._provider = provider
        self._open: list[_OpenCall] = []

    @property
    def complete(self) -> bool:
        """Whether both the ending and the figures have come."""
        return self.usage is not None and self.finish_reason is not None

    def read(self, chunk: Any) -> Sequence[ModelDelta]:
        """Return the deltas of one chunk; most have one or none."""
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            self.usage = usage
        if not chunk.choices:
            return ()
        choice = chunk.choices[0]
        if choice.finish_reason:
            self.finish_reason = choice.finish_reason.replace("_", "-")
        delta = choice.delta
        deltas: list[ModelDelta] = self._reasoning(delta)
        if delta.content:
            deltas.append(TextDelta(delta.content))
        if delta.tool_calls:
            for piece in delta.tool_calls:
                self._add(piece, deltas)
        if deltas:
            self.has_content = True
        signatures = (getattr(delta, "provider_specific_fields", None) or {}).get("thought_signatures")
        if signatures:
            deltas.extend(self._text_signature(delta, signatures))
        return deltas

    def close(self) -> list[ModelDelta]:
        """Return the calls that were still open when the response ended."""
        calls, self._open = self._open, []
        return [_finished(call) for call in calls]

    def _reasoning(self, delta: Any) -> list[ModelDelta]:
        text = getattr(delta, "reasoning_content", None) or ""
        signed = _signed_block(getattr(delta, "thinking_blocks", None))
        if signed is not None:
            return [ReasoningDelta(text, {"provider": self._provider, "block": signed})]
        return [ReasoningDelta(text)] if text else []

    def _text_signature(self, delta: Any, signatures: Sequence[str]) -> list[ModelDelta]:
        """Return what signs the text; litellm lists the signatures of the calls among them too."""
        of_calls = [_call_signature(piece) for piece in delta.tool_calls or ()]
        found = [one for one in signatures if one not in of_calls]
        return [self._signature(TEXT_SIGNATURE, found[-1])] if found else []

    def _signature(self, kind: str, signature: str) -> ReasoningDelta:
        return ReasoningDelta(
            "", {"provider": self._provider, "block": {"type": kind, "signature": signature}}
        )

    def _add(self, piece: Any, deltas: list[ModelDelta]) -> None:
        """Put a piece to its call, which is a new one by index, id or a whole call before it."""
        name, text = piece.function.name or "", _text(piece.function.arguments)
        call = self._continued(piece.index or 0, piece.id, name)
        if call is None and not (piece.id or name or text.strip()):
            return  # an empty last piece of a call that was taken as whole
        if call is None:
            deltas.extend(self._take_whole())
            call = _OpenCall(piece.index or 0)
            self._open.append(call)
            self.has_content = True
            signature = _call_signature(piece)
            if signature:  # its own call is the next one to be told
                deltas.append(self._signature(CALL_SIGNATURE, signature))
        call.add(piece.id, name, text)
        if call.may_be_told:
            deltas.append(ToolArgumentsDelta(call.id, call.name, text))

    def _continued(self, index: int, call_id: str | None, name: str) -> _OpenCall | None:
        """Return the open call that a piece belongs to, or None when it starts one.

        Some providers send several calls under one index, so an id that differs starts a new call, and
        so does a name after a whole call. The first id that comes for a call may come late.
        """
        call = next((call for call in reversed(self._open) if call.index == index), None)
        if call is None:
            return None
        if call_id and call_id != call.given_id:
            is_late = call.given_id is None and not (name and call.pieces) and not call.is_whole()
            return call if is_late else None
        if name and not call_id and call.is_whole():
            return None
        return call

    def _take_whole(self) -> list[ModelDelta]:
        """Return the calls at the front that are whole; the others may still be continued."""
        whole: list[ModelDelta] = []
        while self._open and self._open[0].is_whole():
            whole.append(_finished(self._open.pop(0)))
        return whole


def _finished(call: _OpenCall) -> ToolCallDelta:
    return ToolCallDelta(call.id, call.name, call.arguments)


def _call_signature(piece: Any) -> str | None:
    fields = getattr(piece, "provider_specific_fields", None) or {}
    return fields.get("thought_signature") or None


def _text(arguments: object) -> str:
    """Return arguments as text; a few providers send them parsed."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _signed_block(blocks: Any) -> dict[str, Any] | None:
    """Return the thinking block that ends here with what its provider wants back, or None."""
    for block in blocks or ():
        if block.get("signature") or block.get("type") == "redacted_thinking":
            return {name: value for name, value in block.items() if name != "thinking" and value is not None}
    return None
