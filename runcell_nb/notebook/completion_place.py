"""What stands at the cursor of a `%%runcell` or `%runcell` line, and what could stand there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from .option_line import EXPRESSION_INPUT, OPTION_OF, OPTIONS, OptionSpec, split_flag, takes_more
from .replay_mode import MODES

COMMANDS = ("model", "thread", "sandbox", "files", "diff", "usage", "history", "record", "replay", "export")
"""Commands of `%runcell`."""

_SUB_COMMANDS = {
    "thread": ("list", "new", "switch", "fork", "rename", "delete", "show"),
    "sandbox": ("list", "new", "switch", "reset", "snapshot", "restore", "delete"),
    "record": ("on", "off", "notebook", "file", "clear"),
    "replay": MODES,
}
_NEW_SANDBOX = (
    "virtual",
    "host",
    "bubblewrap",
    "vercel",
    "custom",
    "isolation=external",
    "--root",
    "--network",
)

_KINDS = {
    "model": ("model",),
    "thread": ("thread",),
    "sandbox": ("sandbox",),
    "schema": ("type",),
    "inputs": ("variable", "file"),
    "tools": ("function",),
    "thinking": ("level",),
    "replay": ("mode",),
}
"""What the value of an option can be, by its name."""

_CELL_MAGIC = re.compile(r"%%runcell(?=[ \t]|\Z)")
_LINE_MAGIC = re.compile(r"[ \t]*(?:[\w., \t\[\]]+=[ \t]*)?%runcell(?=[ \t])")
_WORD = re.compile(r"""(?:[^\s"'\\]|\\.?|"(?:[^"\\]|\\.?)*"?|'[^']*'?)+""", re.DOTALL)

_NAME_AT_END = re.compile(r"(?<![\w.])(?:[^\W\d]\w*)?\Z")


@dataclass(frozen=True, slots=True)
class Place:
    """What could stand at the cursor.

    Attributes:
        fragment: What stands there so far and would be replaced, as typed.
        typed: The same without quotes.
        words: That could stand there.
        kinds: Of the names that could stand there: model, thread, sandbox, snapshot, type, variable, file,
            function, level or mode.
    """

    fragment: str
    typed: str
    words: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()


def place_at(text: str, line: int, column: int) -> Place | None:
    """Find out what could stand at the cursor.

    Args:
        text: Of the whole cell.
        line: Of the cursor, from 0.
        column: Of the cursor in its line.

    Returns:
        None outside of our lines, in the prompt of a cell, and where nothing can be proposed.
    """
    lines = text.split("\n")
    for number, content in enumerate(lines[: line + 1]):
        magic = _CELL_MAGIC.match(content)
        if magic:
            options = content[magic.end() : column]
            return _in_options(options) if options and number == line else None
        if content.strip() and not content.startswith("%%"):
            break
    magic = _LINE_MAGIC.match(lines[line])
    command = lines[line][magic.end() : column] if magic else ""
    return _in_command(command) if command else None


def _in_options(text: str) -> Place | None:
    """Find the place in the option line of a cell."""
    words, fragment = _split(text)
    typed = _unquoted(fragment)
    flag, glued = split_flag(typed)
    if glued is not None and flag in OPTION_OF:
        return _value_place(OPTION_OF[flag], fragment.partition("=")[2], glued)
    option, given = _open_option(words)
    flags = tuple(spec.flags[-1] for spec in OPTIONS if spec.many or spec.name not in given)
    if typed.startswith("-"):
        return Place(fragment, typed, tuple(flag for flag in OPTION_OF if flag in flags or flag == typed))
    if option is None:
        return Place(fragment, typed, flags)
    place = _value_place(option, fragment, typed)
    return replace(place, words=flags) if place and option.many and not typed else place


def _open_option(words: Sequence[str]) -> tuple[OptionSpec | None, set[str]]:
    """Return the option that takes what comes next, and the names of those that are given."""
    option, values, given = None, 0, set[str]()
    for word in words:
        flag, glued = split_flag(word)
        if flag in OPTION_OF:
            option, values = OPTION_OF[flag], int(glued is not None)
            given.add(option.name)
        else:
            values += 1
    return (option if option and takes_more(option, values) else None), given


def _value_place(option: OptionSpec, fragment: str, typed: str) -> Place | None:
    kinds = _KINDS.get(option.name)
    if kinds is None:
        return None
    if option.name == "inputs" and EXPRESSION_INPUT.fullmatch(typed):
        name = _NAME_AT_END.search(typed)
        return Place(name[0], name[0], kinds=("variable",)) if name else None
    if option.many and "," in typed and typed == fragment:
        fragment = typed = typed.rpartition(",")[2]
    return Place(fragment, typed, kinds=kinds)


def _in_command(text: str) -> Place | None:
    """Find the place in a `%runcell` line."""
    words, fragment = _split(text)
    place = Place(fragment, _unquoted(fragment))
    match words:
        case []:
            return replace(place, words=COMMANDS)
        case [command] if command in _SUB_COMMANDS:
            return replace(place, words=_SUB_COMMANDS[command])
        case ["replay", _]:
            return replace(place, words=("--timing",))
        case ["model"]:
            return replace(place, kinds=("model",))
        case ["export"] | ["sandbox", "new", _, *_, "--root"]:
            return replace(place, kinds=("file",))
        case ["sandbox", "new", _, *_]:
            return replace(place, words=_NEW_SANDBOX)
        case [command, ("switch" | "rename" | "delete" | "show" | "reset")] if command in _SUB_COMMANDS:
            return replace(place, kinds=(command,))
        case ["sandbox", "restore"]:
            return replace(place, kinds=("snapshot",))
    return None


def _split(text: str) -> tuple[list[str], str]:
    """Return the whole words before the cursor, without quotes, and what is being typed."""
    words = [(match[0], match.end()) for match in _WORD.finditer(text)]
    fragment = words.pop()[0] if words and words[-1][1] == len(text) else ""
    return [_unquoted(word) for word, _ in words], fragment


def _unquoted(word: str) -> str:
    for closing in ("", "'", '"'):  # what is being typed may have an open quote
        with suppress(ValueError):
            return "".join(shlex.split(word + closing))
    return word
