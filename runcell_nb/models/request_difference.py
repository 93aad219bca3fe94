"""How a request differs from the recorded one that it should have been, for a person to read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import islice, takewhile
from typing import Any

from .recorded_request import NormalRequest, RequestHead
from .recorded_step import RecordedStep
from .recording import RecordedRequest, Recording

MAX_LINES = 20
"""Lines of one difference."""

_MAX_COMPARED_LINES = 1000
_MAX_LINE = 200
_MAX_CANDIDATES = 500
_MAX_NAMED = 5

Tools = Mapping[str, Mapping[str, Any]]


def request_difference(
    request: NormalRequest, tools: Tools, recording: Recording, expected: Sequence[RecordedStep]
) -> str:
    """Return what differs between a request and the recorded one that is most like it.

    Args:
        request: That is not recorded.
        tools: Specs by digest, those of the request among them.
        recording: In which it is not.
        expected: Steps that are still to come; the first of those that are most alike is meant.
    """
    said = f"A request that is not recorded: {_name(request.head, request.messages)}."
    keys = list(dict.fromkeys(step.key for step in expected)) or list(recording.requests)
    if not keys:
        return f"{said} The recording holds no request."
    candidates = [recording.requests[key] for key in keys[:_MAX_CANDIDATES]]
    nearest = max(candidates, key=lambda recorded: _likeness(request, recorded))
    number = list(recording.requests).index(nearest.key) + 1
    found = [
        *_head_differences(nearest.head, request.head),
        *_tool_differences(nearest.head, recording.tools, request.head, tools),
        *_message_differences(nearest.conversation(), list(request.messages)),
    ]
    told = "\n".join(f"- {line}" for line in found) or "- the order or the number of requests"
    return f"{said} Compared with request {number} of {len(recording.requests)} in the recording:\n{told}"


def step_names(recording: Recording, steps: Sequence[RecordedStep]) -> list[str]:
    """Return how to call steps in a sentence; the first few.

    Args:
        recording: Which has them.
        steps: Some of its steps.
    """
    places = {key: number for number, key in enumerate(recording.requests, 1)}
    names = []
    for step in steps[:_MAX_NAMED]:
        recorded = recording.requests[step.key]
        names.append(f"request {places[step.key]} ({_name(recorded.head, recorded.messages)})")
    return [*names, f"{len(steps) - _MAX_NAMED} more"] if len(steps) > _MAX_NAMED else names


def _name(head: RequestHead, messages: Sequence[Mapping[str, Any]]) -> str:
    if not messages:
        return f"to {head.model}"
    last = messages[-1]
    said = " ".join(" ".join(_lines(last)).split())
    return f"to {head.model}, after {_speaker(last)}: {_cut(said, 80)!r}"


def _likeness(request: NormalRequest, recorded: RecordedRequest) -> tuple[int, ...]:
    """Return what makes two requests alike, the most telling first."""
    conversation = recorded.conversation()
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(conversation, request.messages)))  # noqa: B905
    distance = abs(len(conversation) - len(request.messages))
    return same, -distance, recorded.head == request.head, recorded.head.model == request.head.model


def _head_differences(then: RequestHead, now: RequestHead) -> Iterator[str]:
    if then.model != now.model:
        yield f"model: recorded {then.model!r}, now {now.model!r}"
    if then.thinking_level != now.thinking_level:
        yield f"thinking level: recorded {then.thinking_level!r}, now {now.thinking_level!r}"
    if then.system != now.system:
        yield f"system prompt:{_diff((then.system or '').splitlines(), (now.system or '').splitlines())}"


def _tool_differences(then: RequestHead, known: Tools, now: RequestHead, tools: Tools) -> Iterator[str]:
    if then.tools == now.tools:
        return
    old = {str(known[digest]["name"]): known[digest] for digest in then.tools}
    new = {str(tools[digest]["name"]): tools[digest] for digest in now.tools}
    for name in sorted(new.keys() - old.keys()):
        yield f"tool {name!r}: added"
    for name in sorted(old.keys() - new.keys()):
        yield f"tool {name!r}: removed"
    for name in [name for name in old if name in new]:
        for part, title in (("description", "description"), ("parameters", "schema")):
            then_part, now_part = old[name].get(part), new[name].get(part)
            if then_part != now_part:
                changed = _diff(_shown(then_part), _shown(now_part))
                yield f"tool {name!r}: {title} changed:{changed}"
    if old == new:
        yield f"tools: their order changed, recorded {list(old)}, now {list(new)}"


def _message_differences(
    then: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the first message that differs: what follows differs because of it."""
    for number, (old, new) in enumerate(zip(then, now), 1):  # noqa: B905
        if old != new:
            yield f"message {number}, {_speaker(new)}:{_diff(_lines(old), _lines(new))}"
            return
    if len(then) != len(now):
        more = then if len(then) > len(now) else now
        where = "in the recording" if more is then else "now"
        first = more[min(len(then), len(now))]
        yield (
            f"messages: recorded {len(then)}, now {len(now)}; the first one that is only {where} is "
            f"{_speaker(first)}: {_cut(' '.join(_lines(first)), 80)!r}"
        )


def _speaker(message: Mapping[str, Any]) -> str:
    role = message.get("role")
    if role == "tool":
        names = [str(block.get("result")) for block in _blocks(message)]
        return f"the result of {', '.join(dict.fromkeys(names))}"
    return "the prompt" if role == "user" else "the model's answer"


def _blocks(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _lines(message: Mapping[str, Any]) -> list[str]:
    """Return what a message says, as lines; the form is not trusted to be what it should."""
    return [line for block in _blocks(message) for line in _block_lines(block)]


def _block_lines(block: Mapping[str, Any]) -> list[str]:
    if "result" in block:
        inner = [line for part in _blocks(block) if "result" not in part for line in _block_lines(part)]
        return [f"{block['result']}{' (failed)' if block.get('error') else ''}:", *inner]
    if "call" in block:
        return [f"{block['call']} {' '.join(_text_lines(block.get('arguments')))}"]
    if "image" in block:
        return [f"<image {block['image']}>"]
    return _text_lines(block.get("text"))


def _text_lines(text: Any) -> list[str]:
    if isinstance(text, list):
        return [str(line) for line in text]
    if isinstance(text, dict) and not isinstance(text.get("begins"), dict):
        digest = str(text.get("sha256"))[:12]
        return [*_text_lines(text.get("begins")), f"<{text.get('length')} characters in all, {digest}>"]
    return _shown(text)


def _shown(value: Any) -> list[str]:
    text = (
        value if isinstance(value, str) else json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
    )
    return text.split("\n")


def _diff(then: Sequence[str], now: Sequence[str]) -> str:
    old, new = ([_cut(line, _MAX_LINE) for line in lines[:_MAX_COMPARED_LINES]] for lines in (then, now))
    lines = list(islice(unified_diff(old, new, "recorded", "now", n=1, lineterm=""), MAX_LINES + 1))
    more = ["…"] if len(lines) > MAX_LINES else []
    return "".join(f"\n    {line}" for line in [*lines[:MAX_LINES], *more]) or " (beyond what is shown)"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
