"""Calls of a person's own tools: the name found in a command's words, the arguments fitted to its schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from runcell_nb.core.builtin_tools import RESERVED_NAMES
from runcell_nb.core.gateway import ToolSpec

from .commands import QUOTE, Quotes
from .phrases import Scene, Stop, listed
from .steps import Call, Said, Step, Work, filled

_CALLING = r"(?:(?:use|call|run|invoke|apply|execute|ask|try)(?: (?:my|the|our))?(?: (?:tool|function))? )"
_ASKING = r"(?:(?:what is|what's|what are|(?:tell|give|show) me|get|fetch|check|find|look up|tell|show) )"
_READING = {"get", "fetch", "lookup", "look", "find", "read", "show", "check", "query"}
_SMALL = (
    r"(?:(?:the|an?|for|of|my|our|tool|function|to|with|on|in|at|from|is|like|number|called|named|and) )*"
)
_PATTERNS = {"integer": r"(?<![\w.])[-+]?\d+(?![\w.])", "number": r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?!\w)"}


def host_step(command: str, scene: Scene, short: bool = False) -> Step | None:
    """Read a command as a call of a host tool.

    Args:
        command: One command of the request.
        scene: The tools that there are, and the quotes in the command.
        short: A tool's name of one word is enough, at the beginning.

    Returns:
        The step; None when the command mentions no tool.

    Raises:
        Stop: It mentions a tool and lacks an argument that the tool needs.
    """
    for tool in sorted(scene.tools, key=lambda tool: -len(tool.name)):
        rest = None if tool.name in RESERVED_NAMES else _beside_name(command, tool.name, short)
        if rest is not None:
            call = Call(tool.name, _arguments(rest, tool, scene.quotes))
            return Step(partial(_called, call))
    return None


def _called(call: Call, _: Said) -> Work:
    reply = yield call
    if reply.failed:
        raise Stop(f"{call.tool} failed: {reply.text.strip()}")
    say = "{tool} returned: " + ("\n{block}" if "\n" in reply.text or len(reply.text) > 500 else "{out}")
    return Said(filled(say, tool=call.tool, out=reply.text), reply.text)


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)]


def _beside_name(command: str, name: str, short: bool) -> str | None:
    """Return what a command says beside the tool's name; None when it does not mention it."""
    exact, words = re.escape(name), _words(name)
    patterns = [
        rf"{_CALLING}{exact}\b(?P<rest>.*)",
        rf"(?P<rest>.+) (?:with|using|via) (?:the )?{exact}(?: tool)?",
    ]
    if len(words) > 1 or short:
        patterns += [
            rf"{exact}\b(?P<rest>.*)",
            rf"(?:{_CALLING}|{_ASKING})?{_SMALL}{_spelled(words)}(?P<rest>.*)",
        ]
    tail = words[2:] if words[:2] == ["look", "up"] else words[1:]
    if tail and words[0] in _READING:  # "what is the weather" is get_weather
        patterns.append(rf"{_ASKING}{_SMALL}{_spelled(tail)}(?P<rest>.*)")
    found = next(
        (found for pattern in patterns if (found := re.fullmatch(pattern, command, re.I | re.S))), None
    )
    return None if found is None else found["rest"].strip(" ()")


def _spelled(words: Sequence[str]) -> str:
    """Pattern of a name's words in order, with small words between them and inflections."""
    stems = [" ?".join(re.sub(r"(?<=\w\w)(?:es|[esy])$", "", word)) for word in words]
    return rf" {_SMALL}".join(rf"{stem}(?:e|y|s|es|ies|ed|ing|'s)?\b" for stem in stems)


def _arguments(rest: str, tool: ToolSpec, quotes: Quotes) -> dict[str, Any]:
    """Fit what is said beside the name to the parameters: by their names, then by their types."""
    properties: dict[str, Any] = tool.parameters.get("properties") or {}
    needed = [name for name in tool.parameters.get("required") or () if name in properties]
    given: dict[str, Any] = {}
    for name, schema in properties.items():
        spelled = re.escape(name).replace("_", "[ _]")
        lead = rf"(?:\b{spelled}\s?[=:]\s?|(?:^|\b(?:with|and) |, ?)(?:the )?{spelled} (?:is |of |as )?)"
        if match := re.search(rf"{lead}(?P<value>{QUOTE}|[^\s,;()]+)", rest, re.I):
            given[name] = _typed(quotes.plain(match["value"]), _kind(schema))
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"
    for name in sorted(
        (name for name in properties if name not in given), key=lambda name: name not in needed
    ):
        value, rest = _taken(rest, name, properties[name], quotes)
        given.update({} if value is None else {name: value})
    texts = [name for name in needed if name not in given and _kind(properties[name]) == "string"]
    known = {*_words(tool.name), *texts}
    if len(texts) == 1 and (text := _last_text(rest, known)):
        given[texts[0]], rest = quotes.plain(text), ""
    missing = [name for name in {**dict.fromkeys(needed), **given} if given.get(name) is None]
    if missing:
        raise Stop(f"{tool.name} needs {listed(missing)}; write for example: {tool.name} {missing[0]}=…")
    if unclear := _last_text(rest, known):
        raise Stop(f"I do not know what {quotes.expand(unclear)!r} is for {tool.name}; write name=value")
    return given


def _taken(rest: str, name: str, schema: dict[str, Any], quotes: Quotes) -> tuple[Any, str]:
    """Take what fits a schema out of the text: one value, or all for a list."""
    several = _kind(schema) == "array"
    kind = _kind(schema.get("items") or {}) if several else _kind(schema)
    pattern = rf"(?P<value>{_PATTERNS.get(kind, QUOTE)})(?: {re.escape(name)}\b)?"  # "3 days"
    found = [_typed(quotes.plain(match["value"]), kind) for match in re.finditer(pattern, rest, re.I)]
    value = None if not found else found if several else found[0]
    return value, re.sub(pattern, " ", rest, count=0 if several else 1, flags=re.I)


def _last_text(rest: str, known: set[str]) -> str:
    """Return what follows the last "of", "for", "about", "named" or "called", else all; no known words."""
    last = re.match(r".*\b(?:of|for|about|named|called) (?P<text>\w.*)", rest.strip(" ,.:"), re.I | re.S)
    text = re.sub(r"( |^)(?:for|in|at|and)$", "", last["text"] if last else rest.strip(" ,.:"))
    skipped = rf"(?:(?:{'|'.join(map(re.escape, known))}) |{_SMALL[3:-2]}|,)*"
    return re.sub(f"^{skipped}", "", text, flags=re.I).strip(" ,.:")


def _kind(schema: dict[str, Any]) -> str:
    """Return the JSON type of a property; the first one of a union that is not null."""
    kinds = [option.get("type", "string") for option in schema.get("anyOf") or (schema,)]
    return next((kind for kind in kinds if isinstance(kind, str) and kind != "null"), "string")


def _typed(text: str, kind: str) -> Any:
    """Return the text as a value of a JSON type; None when it is none."""
    if kind in _PATTERNS:
        number = re.fullmatch(_PATTERNS[kind], text)
        return None if number is None else float(text) if "." in text else int(text)
    return (
        {"true": True, "false": False}.get(text.lower())
        if kind == "boolean"
        else text
        if kind == "string"
        else None
    )
