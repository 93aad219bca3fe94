"""From JSON to a recording. It may be damaged, edited by hand or somebody's: each fault is one sentence.

Keys in the file only say which request is meant. The real ones are computed from what stands there, so
that a text which a person mended counts as if it had been recorded like that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from runcell_nb.core.errors import RuncellError, repr_of
from runcell_nb.core.gateway import ModelInfo
from runcell_nb.core.messages import ImageBlock, TextBlock, ToolResultBlock
from runcell_nb.core.tool_content import is_image
from runcell_nb.core.usage import RequestUsage

from .normal_message import digest_of
from .recorded_cell import RecordedCell
from .recorded_request import RequestHead, head_of, normal_request
from .recorded_response import CallPart, ErrorPart, Part, Piece, RecordedResponse, SaidPart
from .recorded_step import KeptResult, RecordedStep
from .recording import VERSION, RecordedRequest, Recording
from .recording_json import TOKENS

T = TypeVar("T")

MAX_DEPTH = 200
"""Of a recording's JSON; schemas of tools may be deep, nothing else is."""

MAX_REQUESTS = 100_000
"""Requests of one recording."""

_MAX_COUNT = 2**53 - 1
_MAX_SHOWN = 200
_MAX_GAP = 24 * 3600 * 1000
_PIECES = re.compile(r"\d{1,9}(?:\+\d{1,9})?(?: \d{1,9}(?:\+\d{1,9})?)*")


class RecordingError(RuncellError):
    """A recording cannot be used: it is not there, damaged, or from a newer version.

    Attributes:
        newer: It is from a newer version; nothing is wrong with it.
    """

    def __init__(self, message: str, *, newer: bool = False, cause: object = None) -> None:
        super().__init__(message, cause=cause)
        self.newer = newer


def recording_from_dict(value: Any) -> Recording:
    """Return the recording that a JSON value holds.

    Raises:
        RecordingError: The first thing that is wrong, and where.
    """
    whole = _object(value, "The recording")
    version = whole.get("version")
    if type(version) is int and version > VERSION:
        raise RecordingError(
            f"The recording has version {version} and this runcell_nb reads up to {VERSION}; "
            "update runcell_nb, or record anew.",
            newer=True,
        )
    if type(version) is not int or version != VERSION:
        raise _fault("version", f"the number {VERSION}", version)
    if _is_deep(whole):
        raise RecordingError(
            f"The recording is damaged: it is nested more than {MAX_DEPTH} deep; record it anew."
        )
    return _Reading(whole).recording


class _Reading:
    """One recording while it is read: what labels of the file stand for."""

    def __init__(self, whole: dict[str, Any]) -> None:
        self.recording = Recording()
        models = _member(whole, "models", _object, "")
        self.recording.infos = {name: _info(info, f"models[{name!r}]") for name, info in models.items()}
        tools = _member(whole, "tools", _object, "")
        self._tools = {label: self._tool(spec, f"tools[{label!r}]") for label, spec in tools.items()}
        heads = _member(whole, "heads", _object, "")
        self._heads = {label: self._head(head, f"heads[{label!r}]") for label, head in heads.items()}
        self._requests: dict[str, RecordedRequest] = {}
        self._answers: dict[str, list[RecordedResponse]] = {}
        requests = _member(whole, "requests", _list, "")
        if len(requests) > MAX_REQUESTS:
            raise _fault("requests", f"at most {MAX_REQUESTS:,} requests", len(requests))
        for number, request in enumerate(requests):
            self._add(request, f"requests[{number}]")
        results = _member(whole, "results", _list, "")
        self.recording.results = [_result(item, f"results[{n}]") for n, item in enumerate(results)]
        cells = _member(whole, "cells", _list, "")
        self.recording.cells = [self._cell(item, f"cells[{n}]") for n, item in enumerate(cells)]

    def _tool(self, value: Any, where: str) -> str:
        spec = _object(value, where)
        _member(spec, "name", _text, where)
        for part, check in (("description", _text), ("parameters", _object)):
            if part in spec:  # of the package's own tools only what the user decides is kept
                _member(spec, part, check, where)
        digest = digest_of(spec)
        self.recording.tools[digest] = spec
        return digest

    def _head(self, value: Any, where: str) -> RequestHead:
        head = _object(value, where)
        labels = _member(head, "tools", _list, where)
        tools = tuple(_named(self._tools, label, f"{where}.tools") for label in labels)
        system, thinking = head.get("system"), head.get("thinking")
        return head_of(
            _member(head, "model", _text, where),
            None if system is None else _lines(system, f"{where}.system"),
            None if thinking is None else _text(thinking, f"{where}.thinking"),
            tools,
        )

    def _add(self, value: Any, where: str) -> None:
        stored = _object(value, where)
        label = _member(stored, "key", _text, where)
        if label in self._requests:
            raise RecordingError(
                f"The recording is damaged: {where} has the key of an earlier one, {label!r}."
            )
        head = _named(self._heads, stored.get("head"), f"{where}.head")
        after, answers = None, []
        if stored.get("after") is not None:
            after = _named(self._requests, stored["after"], f"{where}.after")
            answers = self._answers[stored["after"]]
        messages = _member(stored, "messages", _list, where)
        added = [_message(item, answers, f"{where}.messages[{n}]") for n, item in enumerate(messages)]
        responses = _member(stored, "responses", _list, where)
        if not responses:
            raise _fault(f"{where}.responses", "a list with something in it", responses)
        came = [_response(item, f"{where}.responses[{n}]") for n, item in enumerate(responses)]
        self._requests[label] = self._kept(head, after, added, came)
        self._answers[label] = came

    def _kept(
        self,
        head: RequestHead,
        after: RecordedRequest | None,
        added: list[dict[str, Any]],
        responses: list[RecordedResponse],
    ) -> RecordedRequest:
        """Put a request under its real key."""
        if after is not None and after.head.digest != head.digest:  # its key does not begin with this head
            added, after = [*after.conversation(), *added], None
        start = head.digest if after is None else after.key
        key = normal_request(head, added, start).key
        request = self.recording.requests.get(key)
        if request is None:
            request = RecordedRequest(key, head, after, tuple(added))
            self.recording.requests[key] = request
        request.responses += responses
        return request

    def _cell(self, value: Any, where: str) -> RecordedCell:
        cell = _object(value, where)
        steps = _member(cell, "steps", _list, where)
        results = _member(cell, "results", _list, where)
        kept = self.recording.results
        files = None if cell.get("files") is None else _member(cell, "files", _object, where)
        return RecordedCell(
            _member(cell, "cell", _text, where),
            _lines(cell.get("prompt"), f"{where}.prompt"),
            _member(cell, "digest", _text, where),
            _member(cell, "model", _text, where),
            tuple(_text(name, f"{where}.tools") for name in _member(cell, "tools", _list, where)),
            None if files is None else {path: _text(files[path], f"{where}.files") for path in files},
            tuple(self._step(step, f"{where}.steps[{n}]") for n, step in enumerate(steps)),
            tuple(kept[_index(number, len(kept), f"{where}.results")] for number in results),
        )

    def _step(self, value: Any, where: str) -> RecordedStep:
        pair = _list(value, where)
        if len(pair) != 2:
            raise _fault(where, "a key and a number", value)
        request = _named(self._requests, pair[0], where)
        answers = self._answers[pair[0]]
        return RecordedStep(request.key, answers[_index(pair[1], len(answers), where)])


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for item in level
            if isinstance(item, (dict, list))
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


def _info(value: Any, where: str) -> ModelInfo:
    stored = _object(value, where)
    known = {field.name: stored[field.name] for field in fields(ModelInfo) if field.name in stored}
    checks: dict[str, tuple[type, ...]] = {
        "name": (str,),
        "context_window": (int,),
        "input_price": (int, float),
        "output_price": (int, float),
        "supports_images": (bool,),
        "supports_thinking": (bool,),
        "local": (bool,),
        "note": (str,),
    }
    _member(stored, "name", _text, where)
    for name, item in known.items():
        if type(item) not in checks[name] or (type(item) in (int, float) and not 0 <= item <= _MAX_COUNT):
            raise _fault(f"{where}.{name}", f"a {checks[name][-1].__name__}", item)
    return ModelInfo(**known)


def _message(value: Any, answers: list[RecordedResponse], where: str) -> dict[str, Any]:
    """Return a message in normal form; its inner parts are only ever compared and shown."""
    message = _object(value, where)
    role = message.get("role")
    if role not in ("user", "assistant", "tool"):
        raise _fault(f"{where}.role", "'user', 'assistant' or 'tool'", role)
    if "response" in message:
        return answers[_index(message["response"], len(answers), f"{where}.response")].message()
    for number, block in enumerate(_member(message, "content", _list, where)):
        _object(block, f"{where}.content[{number}]")
    return message


def _response(value: Any, where: str) -> RecordedResponse:
    stored = _object(value, where)
    if "overflow" in stored:
        return RecordedResponse(overflow=_member(stored, "overflow", _text, where))
    parts = _member(stored, "parts", _list, where)
    finish, cut = stored.get("finish"), stored.get("cut", False)
    if type(cut) is not bool:
        raise _fault(f"{where}.cut", "true or false", cut)
    response = RecordedResponse(
        tuple(_part(part, f"{where}.parts[{n}]") for n, part in enumerate(parts)),
        None if finish is None else _text(finish, f"{where}.finish"),
        _usage(stored["usage"], f"{where}.usage") if "usage" in stored else None,
        cut,
        gap=_gap(stored, where),
    )
    if (
        response.finish is None
        and not cut
        and not any(isinstance(part, ErrorPart) for part in response.parts)
    ):
        raise RecordingError(f"The recording is damaged: {where} has no end; record it anew.")
    return response


def _part(value: Any, where: str) -> Part:
    part = _object(value, where)
    if "call" in part:
        name, arguments = _member(part, "call", _text, where), _member(part, "arguments", _text, where)
        return CallPart(name, arguments, _gap(part, where))
    if "error" in part:
        return ErrorPart(_lines(part["error"], f"{where}.error"), _gap(part, where))
    reasoning = "reasoning" in part
    kind = "reasoning" if reasoning else "text"
    text = _lines(part.get(kind), f"{where}.{kind}")
    provider = None if part.get("provider") is None else _member(part, "provider", _object, where)
    return SaidPart(text, _pieces(part.get("pieces"), len(text), f"{where}.pieces"), reasoning, provider)


def _pieces(value: Any, length: int, where: str) -> tuple[Piece, ...]:
    """Read how a text came; after somebody edited it, that is unknown."""
    if value is None:
        return ()
    if not isinstance(value, str) or not _PIECES.fullmatch(value):
        raise _fault(where, "lengths with gaps, as '5+120 3'", value)
    pairs = [piece.partition("+") for piece in value.split(" ")]
    pieces = tuple((int(size), min(int(gap or 0), _MAX_GAP)) for size, _, gap in pairs)
    return pieces if sum(size for size, _ in pieces) == length else ()


def _usage(value: Any, where: str) -> RequestUsage:
    stored = _object(value, where)
    counts = [_count(stored.get(name, 0), f"{where}.{name}") for name in TOKENS]
    return RequestUsage(counts[0], counts[1], counts[2], counts[3])


def _gap(value: Mapping[str, Any], where: str) -> int:
    return min(_count(value.get("gap", 0), f"{where}.gap"), _MAX_GAP)


def _result(value: Any, where: str) -> KeptResult:
    stored = _object(value, where)
    name = _member(stored, "tool", _text, where)
    failed = stored.get("error", False)
    if type(failed) is not bool:
        raise _fault(f"{where}.error", "true or false", failed)
    content = _member(stored, "content", _list, where)
    blocks = tuple(_block(block, f"{where}.content[{n}]") for n, block in enumerate(content))
    result = ToolResultBlock(call_id="", name=name, content=blocks, is_error=failed)
    return KeptResult(name, _member(stored, "arguments", _text, where), result)


def _block(value: Any, where: str) -> TextBlock | ImageBlock:
    block = _object(value, where)
    if "image" not in block:
        return TextBlock(text=_lines(block.get("text"), f"{where}.text"))
    data, kind = _member(block, "image", _text, where), _member(block, "type", _text, where)
    if not is_image(data, kind):
        raise RecordingError(f"The recording is damaged: {where}.image is no image of type {kind!r}.")
    return ImageBlock(data=data, media_type=kind)


def _member(value: Mapping[str, Any], name: str, check: Callable[[Any, str], T], where: str) -> T:
    return check(value.get(name), f"{where}.{name}" if where else name)


def _named(known: Mapping[str, T], label: Any, where: str) -> T:
    if not isinstance(label, str) or label not in known:
        raise _fault(where, "the key of something that the recording has", label)
    return known[label]


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _fault(where, "an object", value)
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _fault(where, "a list", value)
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise _fault(where, "text", value)
    return value


def _lines(value: Any, where: str) -> str:
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    if not isinstance(value, str):
        raise _fault(where, "text or a list of lines", value)
    return value


def _count(value: Any, where: str) -> int:
    if type(value) is not int or not 0 <= value <= _MAX_COUNT:
        raise _fault(where, "a whole number from 0", value)
    return value


def _index(value: Any, length: int, where: str) -> int:
    if type(value) is not int or not 0 <= value < length:
        raise _fault(where, f"the number of one of {length}", value)
    return value


def _fault(where: str, expected: str, value: object) -> RecordingError:
    shown = repr_of(value)
    shown = shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
    return RecordingError(
        f"The recording is damaged: {where} must be {expected}, got {shown}; record it anew."
    )
