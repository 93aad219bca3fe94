"""What a tool call looks like: one line for its arguments, texts for its input and result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .shown_text import SUMMARY_CHARS, Clip, clip, count_text, one_line, size_text

_MAIN_ARGUMENTS = ("command", "pattern", "file_path", "path")
_SAID_BY_THE_DIFF = frozenset({"content", "old_string", "new_string"})
_COUNTS_LINES = frozenset({"read", "ls", "grep", "glob"})


def summary_of(call_input: Any) -> str:
    """Return the arguments of a call on one line, the telling one first."""
    if not isinstance(call_input, Mapping):
        return one_line(_text_of(call_input))
    main = [name for name in _MAIN_ARGUMENTS if isinstance(call_input.get(name), str)]
    if main and main[0] == "pattern":
        return one_line(" in ".join(call_input[name] for name in main))
    if main:
        first, *more = call_input[main[0]].strip().split("\n", 1)
        return one_line(first) + (" …" if more else "")
    return one_line(", ".join(f"{name}={_compact(value)}" for name, value in call_input.items()))


def input_of(name: str, call_input: Any) -> Clip:
    """Return what the summary does not already say of the arguments."""
    if not isinstance(call_input, Mapping):
        text = _text_of(call_input)
        return clip(text) if _is_long(text) else Clip()
    if name == "bash" and isinstance(call_input.get("command"), str):
        return clip(call_input["command"]) if _is_long(call_input["command"].strip()) else Clip()
    rest = {key: value for key, value in call_input.items() if key not in _MAIN_ARGUMENTS}
    if name in ("write", "edit"):
        rest = {key: value for key, value in rest.items() if key not in _SAID_BY_THE_DIFF}
    if not rest:
        return Clip()
    flat = all(isinstance(value, (int, float, bool, type(None))) for value in rest.values())
    if len(rest) == len(call_input) and (flat or len(_compact(rest)) < 60):
        return Clip()
    return clip(json.dumps(rest, indent=2, ensure_ascii=False, default=repr))


def result_of(output: Any) -> Clip:
    """Return the result as text; images are named, not shown."""
    return clip(_text_of(output))


def result_note(name: str, result: Clip) -> str:
    """Return a few words on the size of a good result; empty where it would not help."""
    return count_text(result.lines, "line") if name in _COUNTS_LINES and result.lines else ""


def _is_long(text: str) -> bool:
    """Whether the one line of the summary cannot hold the text."""
    return "\n" in text or len(text) > SUMMARY_CHARS


def _text_of(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and value and all(_is_part(part) for part in value):
        return "\n".join(_part_text(part) for part in value)
    return json.dumps(value, indent=2, ensure_ascii=False, default=repr)


def _is_part(value: Any) -> bool:
    return isinstance(value, Mapping) and (
        (value.get("type") == "text" and isinstance(value.get("text"), str))
        or (value.get("type") == "image" and isinstance(value.get("data"), str))
    )


def _part_text(part: Mapping[str, Any]) -> str:
    if part["type"] == "text":
        return str(part["text"])
    media_type = part.get("media_type") or part.get("mediaType") or "image"
    return f"[{media_type}, {size_text(len(part['data']) * 3 // 4)}]"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
