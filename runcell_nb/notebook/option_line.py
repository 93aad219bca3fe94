"""Which options a `%%runcell` line may have, and which words of a line belong to which."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from runcell_nb.core.errors import InvalidOptionError

_LATER = frozenset(["--approve"])
"""Options that are planned; whoever tries one should not be told to have mistyped it."""

_NEGATIVE_NUMBER = re.compile(r"-\.?\d")

EXPRESSION_INPUT = re.compile(r"(?P<name>[^\W\d]\w*)(?P<ending>\.parquet)?=(?P<code>.*)", re.DOTALL)
"""An input that is an expression, in which a comma is Python's. A path of that form begins with `./`."""


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option.

    Attributes:
        name: Of the field of `CellOptions`.
        flags: As typed, the long one last.
        value: What it takes, as the help shows it; empty for a switch.
        many: Whether it takes several values and may be given again.
    """

    name: str
    flags: tuple[str, ...]
    value: str = ""
    many: bool = False


OPTIONS = (
    OptionSpec("model", ("-m", "--model"), "MODEL"),
    OptionSpec("thread", ("-t", "--thread"), "THREAD"),
    OptionSpec("sandbox", ("-s", "--sandbox"), "SANDBOX"),
    OptionSpec("schema", ("--schema",), "NAME"),
    OptionSpec("inputs", ("--in",), "NAME", many=True),
    OptionSpec("out", ("--out",), "NAME"),
    OptionSpec("tools", ("--tools",), "NAME", many=True),
    OptionSpec("thinking", ("--thinking",), "LEVEL"),
    OptionSpec("max_repairs", ("--max-repairs",), "N"),
    OptionSpec("max_cost", ("--max-cost",), "USD"),
    OptionSpec("max_tokens", ("--max-tokens",), "N"),
    OptionSpec("max_requests", ("--max-requests",), "N"),
    OptionSpec("max_seconds", ("--max-seconds",), "S"),
    OptionSpec("replay", ("--replay",), "MODE"),
    OptionSpec("fresh", ("--fresh",)),
    OptionSpec("background", ("--background",)),
    OptionSpec("quiet", ("--quiet",)),
)
"""In the order of the help page."""

OPTION_OF = {flag: option for option in OPTIONS for flag in option.flags}
"""Option by flag."""


def given_options(words: Sequence[str]) -> dict[str, list[str]]:
    """Sort the words of a line by option.

    Args:
        words: Of the line, without quotes.

    Returns:
        The values of each option that is given, by name; none for a switch.

    Raises:
        InvalidOptionError: A word that is no option and no value of one, a value that is missing or too much.
    """
    groups: list[tuple[OptionSpec, list[str]]] = []
    for word in words:
        flag, glued = split_flag(word)
        if flag in OPTION_OF:
            groups.append((OPTION_OF[flag], [] if glued is None else [glued]))
        elif groups and takes_more(groups[-1][0], len(groups[-1][1])) and _may_be_value(word):
            groups[-1][1].append(word)
        else:
            raise InvalidOptionError(f"%%runcell: {_refusal(word)}")
    given: dict[str, list[str]] = {}
    for option, values in groups:
        _check_count(option, values, again=option.name in given)
        given.setdefault(option.name, []).extend(values)
    return given


def takes_more(option: OptionSpec, values: int) -> bool:
    """Return whether an option takes one more value after so many."""
    return bool(option.value) and (option.many or not values)


def split_flag(word: str) -> tuple[str, str | None]:
    """Return a flag and the value glued to it: `--out=r` is `--out` and `r`, other words are whole."""
    flag, sign, value = word.partition("=")
    return (flag, value) if sign and word.startswith("--") else (word, None)


def _may_be_value(word: str) -> bool:
    return not word.startswith("-") or _NEGATIVE_NUMBER.match(word) is not None


def _check_count(option: OptionSpec, values: Sequence[str], *, again: bool) -> None:
    flag = option.flags[-1]
    if again and not option.many:
        raise InvalidOptionError(f"%%runcell: {flag} is given twice; keep one.")
    if values and not option.value:
        raise InvalidOptionError(f"%%runcell: {flag} takes no value, got {values[0]!r}.")
    if option.value and not any(value.strip(" ,") for value in values):
        raise InvalidOptionError(f"%%runcell: {flag} needs a value: {flag} {option.value}.")


def _refusal(word: str) -> str:
    flag, _ = split_flag(word)
    if flag in _LATER:
        return f"the option {flag} is not available in this version; see %%runcell?."
    if not word.startswith("-"):
        return f"{word!r} is no option; the prompt starts on the next line."
    close = difflib.get_close_matches(flag, OPTION_OF, n=1, cutoff=0.7)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"unknown option {flag!r}{hint}; see %%runcell?."
