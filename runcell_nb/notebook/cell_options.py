"""What a `%%runcell` line says."""

from __future__ import annotations

import difflib
import keyword
import math
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.gateway import ThinkingLevel

from .option_line import EXPRESSION_INPUT, OPTIONS, given_options
from .replay_mode import MODES, Mode

THINKING_LEVELS: tuple[str, ...] = get_args(ThinkingLevel)

_OF_THE_SHELL = frozenset(("_", "__", "___", "In", "Out", "get_ipython"))
"""Names that IPython keeps up itself: bound to a result, the next cell fails or `_` stands still."""

_DUNDER = re.compile(r"__\w+__")


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOptions:
    """The options of one cell; None stands for what the line does not say.

    Attributes:
        model: Who answers, or the name of a variable that holds a gateway.
        thread: Name of the conversation.
        sandbox: Name of the sandbox.
        schema: Name of the type that the result's data gets.
        inputs: Variables, `name=expression`, files, folders or globs to put into the sandbox.
        out: Name that gets the `RunResult`.
        tools: Names of functions that the model may call.
        thinking: How much the model thinks.
        max_repairs: How often an answer that does not fit the schema may be mended, from 0.
        max_cost: US dollars.
        max_tokens: Tokens of all requests.
        max_requests: Requests to the model.
        max_seconds: Deadline of the run.
        replay: Whether it is answered from the recording.
        fresh: Start from an empty thread and sandbox.
        background: Return at once and go on in the cell's view.
        quiet: Show only the answer, when the run is over.
    """

    model: str | None = None
    thread: str | None = None
    sandbox: str | None = None
    schema: str | None = None
    inputs: tuple[str, ...] = ()
    out: str | None = None
    tools: tuple[str, ...] = ()
    thinking: ThinkingLevel | None = None
    max_repairs: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    max_requests: int | None = None
    max_seconds: float | None = None
    replay: Mode | None = None
    fresh: bool = False
    background: bool = False
    quiet: bool = False


def parse_cell_options(line: str) -> CellOptions:
    """Read an option line.

    Args:
        line: What stands behind `%%runcell`, literally: nothing in it is expanded or executed.

    Raises:
        InvalidOptionError: An unknown option (with the nearest known one), a missing or a wrong value.
    """
    given = given_options(words_of(line, "%%runcell"))
    return CellOptions(**{name: _value(name, values) for name, values in given.items()})


def words_of(line: str, magic: str) -> list[str]:
    """Return the words of an option line, quoted ones whole.

    Args:
        line: What stands behind the magic.
        magic: Its name, for the sentence.

    Raises:
        InvalidOptionError: A quote is open, or nothing follows a backslash.
    """
    try:
        return shlex.split(line)
    except ValueError as error:
        why = f"{str(error).lower()}; quotes come in pairs, a backslash needs something behind it"
        message = f"{magic}: cannot read {line!r}: {why}."
        raise InvalidOptionError(message, cause=error) from error


def _value(name: str, values: Sequence[str]) -> Any:
    """Return the value of an option in its type."""
    if name == "inputs":
        return tuple(part for word in values for part in _input_names(word))
    if name == "tools":
        return tuple(part for word in values for part in _names(word))
    if name not in _READERS:
        return values[0] if values else True
    read, takes = _READERS[name]
    try:
        return read(values[0])
    except ValueError:
        flag = next(option.flags[-1] for option in OPTIONS if option.name == name)
        close = difflib.get_close_matches(values[0], _WORDS.get(name, ()), n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise InvalidOptionError(f"%%runcell: {flag} takes {takes}, got {values[0]!r}{hint}.") from None


def _names(word: str) -> list[str]:
    """Names may also be joined by commas."""
    return [name for name in word.split(",") if name]


def _input_names(word: str) -> list[str]:
    return [word] if EXPRESSION_INPUT.fullmatch(word) else _names(word)


def _variable(text: str) -> str:
    if not text.isidentifier() or keyword.iskeyword(text):
        raise ValueError
    return text


def _free_variable(text: str) -> str:
    if _variable(text) in _OF_THE_SHELL or _DUNDER.fullmatch(text):
        raise ValueError
    return text


def _level(text: str) -> str:
    if text not in THINKING_LEVELS:
        raise ValueError
    return text


def _mode(text: str) -> str:
    if text not in MODES:
        raise ValueError
    return text


def _from_zero(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def _from_one(text: str) -> int:
    number = _from_zero(text)
    if number == 0:
        raise ValueError
    return number


def _amount(text: str) -> float:
    number = float(text)
    if not math.isfinite(number) or number <= 0:
        raise ValueError
    return number


_WORDS = {"thinking": THINKING_LEVELS, "replay": MODES}
"""What the value of an option can be, where these are few."""

_COUNT = (_from_one, "a whole number from 1")
_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "schema": (_variable, "the name of a type of the notebook"),
    "out": (_free_variable, "the name of a variable that Python and IPython do not use themselves"),
    "thinking": (_level, f"one of {', '.join(THINKING_LEVELS)}"),
    "replay": (_mode, f"one of {', '.join(MODES)}"),
    "max_repairs": (_from_zero, "a whole number from 0"),
    "max_cost": (_amount, "a positive number of US dollars"),
    "max_tokens": _COUNT,
    "max_requests": _COUNT,
    "max_seconds": (_amount, "a positive number of seconds"),
}
"""How the value of an option is read, and what to say of one that cannot be."""
