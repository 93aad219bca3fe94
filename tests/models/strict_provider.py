"""A provider on loopback that is as strict as the real ones: 400 with a reason, or the next script."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from .strict_anthropic import check_anthropic, signature_of
from .strict_json import RefusedError
from .strict_openai import check_openai
from .wire_servers import Part, WireServer, anthropic_stream, call_piece, openai_stream


@dataclass(frozen=True)
class Call:
    """A tool call that the fake model makes; `arguments` is the text as streamed."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True)
class Think:
    """Thinking, signed where the format has signatures."""

    text: str


Piece = str | Call | Think
"""Text is said as it is."""


@dataclass
class StrictProvider(WireServer):
    """Checks each request by the rules of the format that its path is of.

    Attributes:
        refusals: The reasons of all answers with 400.
    """

    refusals: list[str] = field(default_factory=list)

    async def _answer(self, script: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = self.requests[-1]
        is_anthropic = request.path.startswith("/v1/messages")
        try:
            (check_anthropic if is_anthropic else check_openai)(request.body)
        except RefusedError as refusal:
            self.refusals.append(str(refusal))
            body = anthropic_error(str(refusal)) if is_anthropic else openai_error(str(refusal))
            script = (400, {"content-type": "application/json"}, json.dumps(body).encode())
        await super()._answer(script, reader, writer)


def openai_error(message: str) -> dict[str, Any]:
    """A refusal in OpenAI's shape."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


def anthropic_error(message: str) -> dict[str, Any]:
    """A refusal in Anthropic's shape."""
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


def openai_answer(*pieces: Piece) -> list[Part]:
    """The stream of one response in OpenAI's format."""
    deltas: list[dict[str, Any]] = []
    calls = 0
    for piece in pieces:
        if isinstance(piece, Call):
            deltas.append(call_piece(calls, piece.id, piece.name, piece.arguments))
            calls += 1
        else:
            key = "reasoning_content" if isinstance(piece, Think) else "content"
            deltas.append({key: piece.text if isinstance(piece, Think) else piece})
    usage = {"prompt_tokens": 9, "completion_tokens": 40, "total_tokens": 49}
    return openai_stream(*deltas, finish="tool_calls" if calls else "stop", usage=usage)


def anthropic_answer(*pieces: Piece) -> list[Part]:
    """The stream of one response in Anthropic's format."""
    kinds: list[str] = []
    blocks: list[list[dict[str, Any]]] = []
    for piece in pieces:
        blocks.append(_anthropic_block(piece, kinds))
        kinds.append(blocks[-1][0]["type"])
    return anthropic_stream(*blocks, stop="tool_use" if "tool_use" in kinds else "end_turn")


def _anthropic_block(piece: Piece, before: list[str]) -> list[dict[str, Any]]:
    if isinstance(piece, Call):
        start = {"type": "tool_use", "id": piece.id, "name": piece.name, "input": {}}
        return [start, {"type": "input_json_delta", "partial_json": piece.arguments}]
    if isinstance(piece, Think):
        return [
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": piece.text},
            {"type": "signature_delta", "signature": signature_of(piece.text, before)},
        ]
    return [{"type": "text", "text": ""}, {"type": "text_delta", "text": piece}]
