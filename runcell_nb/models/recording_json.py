"""A recording as plain JSON: readable in a diff, and without keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from runcell_nb.core.gateway import ModelInfo
from runcell_nb.core.jsontext import plain, scrubbed
from runcell_nb.core.message_log import parse_arguments
from runcell_nb.core.messages import ImageBlock, TextBlock
from runcell_nb.core.usage import RequestUsage

from .normal_message import lines_of
from .recorded_cell import RecordedCell
from .recorded_request import RequestHead
from .recorded_response import CallPart, ErrorPart, Part, Piece, RecordedResponse
from .recorded_step import KeptResult
from .recording import VERSION, RecordedRequest, Recording
from .redaction import redacted_texts, texts_in, with_texts

TOKENS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cache_read_tokens",
    "cacheWrite": "cache_write_tokens",
}
"""Names of the token counts, and the attributes of `RequestUsage` that they stand for."""


def recording_to_dict(recording: Recording) -> dict[str, Any]:
    """Return a recording as plain JSON without keys, ready to be written with its keys sorted."""
    heads = {request.head.digest: request.head for request in recording.requests.values()}
    numbers = {
        id(response): [request.key, number]
        for request in recording.requests.values()
        for number, response in enumerate(request.responses)
    }
    results = {id(result): number for number, result in enumerate(recording.results)}
    value = {
        "version": VERSION,
        "models": {name: _info(info) for name, info in recording.infos.items()},
        "heads": {digest: _head(head) for digest, head in heads.items()},
        "tools": recording.tools,
        "requests": [_request(request) for request in recording.requests.values()],
        "results": [_result(result) for result in recording.results],
        "cells": [_cell(cell, numbers, results) for cell in recording.cells],
    }
    return _without_keys(value)


def _info(info: ModelInfo) -> dict[str, Any]:
    values = {field.name: getattr(info, field.name) for field in fields(ModelInfo)}
    return {name: value for name, value in values.items() if value is not None}


def _head(head: RequestHead) -> dict[str, Any]:
    system = None if head.system is None else lines_of(head.system)
    return {
        "model": head.model,
        "system": system,
        "thinking": head.thinking_level,
        "tools": list(head.tools),
    }


def _request(request: RecordedRequest) -> dict[str, Any]:
    answers = [] if request.after is None else [answer.message() for answer in request.after.responses]
    return {
        "key": request.key,
        "head": request.head.digest,
        "after": None if request.after is None else request.after.key,
        "messages": [_message(message, answers) for message in request.messages],
        "responses": [_response(response) for response in request.responses],
    }


def _message(message: dict[str, Any], answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a message, or which of the responses to the request before says the same."""
    if message in answers:
        return {"role": "assistant", "response": answers.index(message)}
    return message


def _response(response: RecordedResponse) -> dict[str, Any]:
    if response.overflow is not None:
        return {"overflow": response.overflow}
    value: dict[str, Any] = {"parts": [_part(part) for part in response.parts]}
    if response.usage is not None:
        value["usage"] = _usage(response.usage)
    if response.finish is not None:
        value["finish"] = response.finish
    if response.cut:
        value["cut"] = True
    return value | _gap(response.gap)


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, CallPart):
        return {"call": part.name, "arguments": part.arguments, **_gap(part.gap)}
    if isinstance(part, ErrorPart):
        return {"error": lines_of(part.text), **_gap(part.gap)}
    value: dict[str, Any] = {"reasoning" if part.reasoning else "text": lines_of(part.text)}
    if part.pieces:
        value["pieces"] = " ".join(map(_piece, part.pieces))
    provider = _storable(part.provider)
    return value if provider is None else value | {"provider": provider}


def _gap(gap: int) -> dict[str, int]:
    return {"gap": gap} if gap else {}


def _piece(piece: Piece) -> str:
    length, gap = piece
    return f"{length}+{gap}" if gap else str(length)


def _usage(usage: RequestUsage) -> dict[str, int]:
    counts = {name: getattr(usage, attribute) for name, attribute in TOKENS.items()}
    return {name: count for name, count in counts.items() if count}


def _storable(provider: dict[str, Any] | None) -> Any:
    """Return a provider's data as JSON; None when a gateway gave something that has no such form."""
    try:
        return plain(scrubbed(provider))
    except (ValueError, RecursionError):
        return None


def _result(kept: KeptResult) -> dict[str, Any]:
    blocks = [_block(block) for block in kept.result.content]
    failed = {"error": True} if kept.result.is_error else {}
    return {"tool": kept.name, "arguments": kept.arguments, "content": blocks, **failed}


def _block(block: TextBlock | ImageBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"text": lines_of(block.text)}
    return {"image": block.data, "type": block.media_type}


def _cell(cell: RecordedCell, numbers: dict[int, list[Any]], results: dict[int, int]) -> dict[str, Any]:
    value: dict[str, Any] = {
        "cell": cell.cell,
        "prompt": lines_of(cell.prompt),
        "digest": cell.prompt_digest,
        "model": cell.model,
        "tools": list(cell.tools),
        "steps": [numbers[id(step.response)] for step in cell.steps],
        "results": [results[id(result)] for result in cell.results],
    }
    return value if cell.files is None else value | {"files": dict(cell.files)}


def _without_keys(value: dict[str, Any]) -> dict[str, Any]:
    """Take the keys out; arguments, which are JSON in a text, stay JSON."""
    written = {text: _clean_arguments(text) for text in _arguments_in(value)}
    value = with_texts(value, {text: clean for text, clean in written.items() if text != clean})
    sound = {clean for clean in written.values() if parse_arguments(clean) is not None}
    changed = redacted_texts(text for text in texts_in(value) if text not in sound)
    clean: dict[str, Any] = scrubbed(with_texts(value, changed) if changed else value)
    return clean


def _arguments_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "arguments" and isinstance(item, str):
                yield item
            else:
                yield from _arguments_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _arguments_in(item)


def _clean_arguments(text: str) -> str:
    """Return the arguments of a call without keys, each text of them looked at for itself."""
    value = parse_arguments(text)
    changed = redacted_texts(texts_in(value))
    return json.dumps(with_texts(value, changed), ensure_ascii=False) if changed else text
