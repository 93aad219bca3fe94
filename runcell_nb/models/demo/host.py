"""Calls of a person's own tools: the name found in a request's words, the arguments fitted to its schema."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from runcell_nb.core.builtin_tools import RESERVED_NAMES
from runcell_nb.core.gateway import ToolSpec

from .commands import QUOTE, Quotes
from .slots import Name, Refusal, listed
from .work import Call, Said, Stop, Work, fenced
from .writes import append, create

_ASKING = re.compile(
    r"(?:what is|what's|what are|tell|give|show|get|fetch|check|find|look up|lookup)(?: me)?(?: out)? ", re.I
)
_CALLING = re.compile(
    r"(?:use|call|run|invoke|apply|execute|ask|try)(?: my| the| our)?(?: host)?(?: tool| function)?"
    r"(?: called| named)? ",
    re.I,
)
_READING = frozenset({"get", "fetch", "lookup", "look", "find", "read", "show", "list", "check", "query"})
_SMALL = frozenset(
    {"the", "a", "an", "for", "of", "my", "our", "tool", "function", "to", "with", "on", "in", "from"}
)
_LEADING = _SMALL | {"at", "number", "no", "id", "called", "named", "is", "as", ""}
_NUMBER = r"(?<![\w.\ue000])[-+]?\d+(?:\.\d+)?(?!\w)"


def host_call(command: str, tools: Sequence[ToolSpec], quotes: Quotes) -> Call | None:
    """Read a command as a call of a host tool.

    Args:
        command: One command of the request.
        tools: What the request offers.
        quotes: What the marks in the command stand for.

    Returns:
        The call; None when the command names no tool.

    Raises:
        Refusal: It names a tool and lacks an argument that the tool needs.
    """
    called = _CALLING.match(command)
    text = command[called.end() :] if called else command
    for tool in sorted(tools, key=lambda tool: -len(tool.name)):
        if tool.name in RESERVED_NAMES:
            continue
        rest = _after_name(text, tool.name, bool(called), quotes)
        if rest is not None:
            return Call(tool.name, _arguments(_without_name(rest, tool.name), tool, quotes))
    return None


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)]


def _after_name(text: str, name: str, called: bool, quotes: Quotes) -> str | None:
    """Return what follows the tool's name in the text; None when the text does not begin with it."""
    words = _words(name)
    if len(words) < 2 and not called:
        return None
    first = re.match(rf"{QUOTE}|[\w.-]+", text)
    if first and quotes.plain(first[0]).lower() == name.lower():
        return text[first.end() :].lstrip("() ")
    rest = _spelled(text, "".join(words))
    if rest is None and len(words) > 1 and words[0] in _READING and (asking := _ASKING.match(text)):
        tail = words[2:] if words[:2] == ["look", "up"] else words[1:]
        rest = _spelled(text[asking.end() :], "".join(tail))
    return rest


def _without_name(rest: str, name: str) -> str:
    """Drop words of the name that come again: "use lookup_customer for customer 42"."""
    again = "|".join(re.escape(word) for word in _words(name))
    return re.sub(
        rf"^(?:(?:the |my )?(?:tool|function) ?)?(?:(?:for|on|with|to) )?(?:the )?(?:{again}) ",
        "",
        rest,
        flags=re.I,
    )


def _spelled(text: str, key: str) -> str | None:
    """Spell `key` with the first words of the text, small words skipped; return the rest."""
    built = ""
    for count, match in enumerate(re.finditer(r"[^\W_]+|[^\s\w]", text)):
        word = match[0].lower().removesuffix("'s")
        if built == key or count > 12:
            break
        if key.startswith(built + word):
            built += word
        elif word not in _SMALL:
            return None
        if built == key:
            return text[match.end() :].lstrip(" ")
    return None


def _arguments(rest: str, tool: ToolSpec, quotes: Quotes) -> dict[str, Any]:
    properties: dict[str, Any] = tool.parameters.get("properties") or {}
    needed = [name for name in tool.parameters.get("required") or () if name in properties]
    given, left = _by_name(rest, properties, quotes)
    open_names = [name for name in properties if name not in given]
    for name in sorted(open_names, key=lambda name: name not in needed):
        value, left = _next_value(
            left, properties[name], len(open_names) - 1 == 0 or _is_last(name, needed, given), quotes
        )
        if value is not None:
            given[name] = value
            open_names = [other for other in open_names if other != name]
    missing = [name for name in needed if name not in given]
    if missing:
        raise Refusal(f"{tool.name} needs {listed(missing)}; write for example: {tool.name} {missing[0]}=…")
    if re.sub(rf"\b(?:{'|'.join(_SMALL)}|and|number|id|please)\b|\W", "", left, flags=re.I):
        raise Refusal(
            f"I do not know what {quotes.expand(left).strip()!r} means for {tool.name}; write name=value."
        )
    return given


def _is_last(name: str, needed: Sequence[str], given: dict[str, Any]) -> bool:
    return [other for other in needed if other not in given] == [name]


def _by_name(rest: str, properties: dict[str, Any], quotes: Quotes) -> tuple[dict[str, Any], str]:
    """Take `name=value`, `name: value` and `name value` out of the text."""
    given: dict[str, Any] = {}
    for name, schema in properties.items():
        spelled = re.escape(name).replace("_", "[ _]")
        match = re.search(
            rf"\b{spelled}\b(?P<sign>\s?(?:=|:)\s?| (?:is |of |as )?)(?P<value>{QUOTE}|[^\s,;()]+)",
            rest,
            re.I,
        )
        if match is None or (
            match["sign"].strip() in {"", "to"} and match["value"].lower() in _SMALL | {"and"}
        ):
            continue
        value = _typed(quotes.plain(match["value"]), schema)
        if value is not None:
            given[name] = value
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"
    return given, rest


def _next_value(left: str, schema: dict[str, Any], last: bool, quotes: Quotes) -> tuple[Any, str]:
    """Take the next value that fits a schema out of the text."""
    kind = _kind(schema)
    if kind == "array":
        return _list_value(left, schema, quotes)
    if "enum" in schema:
        for option in schema["enum"]:
            if match := re.search(rf"\b{re.escape(str(option))}\b", quotes.expand(left), re.I):
                return option, quotes.expand(left)[: match.start()] + quotes.expand(left)[match.end() :]
        return None, left
    patterns = {"integer": _NUMBER, "number": _NUMBER, "boolean": r"\b(?:true|false|yes|no)\b"}
    match = re.search(patterns.get(kind, QUOTE), left, re.I)
    if match is None and kind == "string" and last:
        return _rest_text(left, quotes)
    value = None if match is None else _typed(quotes.plain(match[0]), schema)
    if match is None or value is None:
        return None, left
    return value, f"{left[: match.start()]} {left[match.end() :]}"


def _rest_text(left: str, quotes: Quotes) -> tuple[str | None, str]:
    """Take all that is left, without the words that lead to it."""
    words = left.strip(" ,.:()").split()
    while words and words[0].lower().strip(",:") in _LEADING:
        words.pop(0)
    text = quotes.plain(" ".join(words))
    return (text, "") if text else (None, left)


def _list_value(left: str, schema: dict[str, Any], quotes: Quotes) -> tuple[Any, str]:
    inner = schema.get("items") or {}
    pattern = _NUMBER if _kind(inner) in {"integer", "number"} else QUOTE
    found = [_typed(quotes.plain(text), inner) for text in re.findall(pattern, left)]
    if found:
        return found, re.sub(pattern, " ", left)
    words = [word for word in re.split(r",? and |, ?", left.strip(" ,.:")) if word]
    return (words, "") if _kind(inner) == "string" and len(words) > 1 else (None, left)


def _kind(schema: dict[str, Any]) -> str:
    """Return the JSON type of a property; the first one of a union that is not null."""
    for option in schema.get("anyOf") or (schema,):
        kinds = option.get("type", "string")
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            if kind != "null":
                return str(kind)
    return "string"


def _typed(text: str, schema: dict[str, Any]) -> Any:
    """Return the text as a value of the schema's type; None when it is none."""
    kind = _kind(schema)
    if kind == "boolean":
        return {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}.get(
            text.lower()
        )
    if kind in {"integer", "number"}:
        if not re.fullmatch(_NUMBER, text):
            return None
        return int(text) if "." not in text else float(text) if kind == "number" else None
    if kind in {"array", "object"}:
        return None
    return text


def call_host(call: Call) -> Work:
    """Call a host tool and tell what it returned."""
    reply = yield call
    if reply.failed:
        raise Stop(f"{call.tool} failed: {reply.text.strip()}")
    shown = reply.text if "\n" not in reply.text and len(reply.text) < 500 else "\n" + fenced(reply.text)
    return Said(f"{call.tool} returned: {shown}", reply.text)


def field_of(text: str, field: str) -> str:
    """Return a field of a JSON object as text; empty when there is none of that name."""
    try:
        value = json.loads(text)
    except ValueError:
        return ""
    if not isinstance(value, dict):
        return ""
    for name, item in value.items():
        if str(name).lower().replace("_", " ") == field.lower().replace("_", " "):
            return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
    return ""


def save_value(value: Said, field: str | None, path: str, add: bool, overwrite: bool) -> Work:
    """Save what the command before found out, or one field of it."""
    text = value.value if field is None else field_of(value.value, field)
    if not text:
        raise Stop(f"There is no {field or 'result'} to save, so {path} was not written.")
    return (
        yield from (append(Name(path), text.rstrip("\n"), False) if add else create(path, text, overwrite))
    )
