"""The options of a `%%runcell` line."""

from __future__ import annotations

import argparse
import difflib
import keyword
import shlex
from dataclasses import dataclass
from typing import NoReturn

from runcell_nb.core.errors import InvalidOptionError

_FLAGS = ("--model", "--in", "--out", "--tools", "--max-seconds")

_LATER = frozenset(
    [
        "-t",
        "--thread",
        "-s",
        "--sandbox",
        "--schema",
        "--thinking",
        "--max-repairs",
        "--max-cost",
        "--max-tokens",
        "--max-requests",
        "--approve",
        "--fresh",
        "--background",
        "--quiet",
    ]
)
"""Options that are planned; whoever tries one should not be told to have mistyped it."""


@dataclass(frozen=True, slots=True)
class CellOptions:
    """What a `%%runcell` line says.

    Attributes:
        model: Model of this cell; None for the notebook's.
        inputs: Variables, files, folders or globs to put into the sandbox.
        out: Name that gets the `RunResult`.
        tools: Names of functions that the model may call.
        max_seconds: Deadline of the run.
    """

    model: str | None = None
    inputs: tuple[str, ...] = ()
    out: str | None = None
    tools: tuple[str, ...] = ()
    max_seconds: float | None = None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidOptionError(f"%%runcell: {message}.")


def parse_cell_options(line: str) -> CellOptions:
    """Read an option line.

    Args:
        line: What stands behind `%%runcell`, literally: nothing in it is expanded or executed.

    Raises:
        InvalidOptionError: An unknown option (with the nearest known one), a missing or a wrong value.
    """
    found, rest = _parser().parse_known_args(words_of(line, "%%runcell"))
    if rest:
        raise InvalidOptionError(f"%%runcell: {_unknown(rest[0])}")
    if found.out is not None and (not found.out.isidentifier() or keyword.iskeyword(found.out)):
        raise InvalidOptionError(f"%%runcell: --out takes the name of a variable, got {found.out!r}.")
    return CellOptions(found.model, _flat(found.inputs), found.out, _flat(found.tools), found.max_seconds)


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


def _parser() -> _Parser:
    parser = _Parser(prog="%%runcell", add_help=False, allow_abbrev=False)
    parser.add_argument("-m", "--model")
    parser.add_argument("--in", dest="inputs", nargs="+", action="append")
    parser.add_argument("--out")
    parser.add_argument("--tools", nargs="+", action="append")
    parser.add_argument("--max-seconds", type=float)
    return parser


def _flat(groups: list[list[str]] | None) -> tuple[str, ...]:
    """Several uses of an option add up; names may also be joined by commas."""
    words = (word for group in groups or () for word in group)
    return tuple(name for word in words for name in word.split(",") if name)


def _unknown(word: str) -> str:
    if word in _LATER:
        return f"the option {word} is not available in this version; see %%runcell?."
    if not word.startswith("-"):
        return f"{word!r} is no option; the prompt starts on the next line."
    close = difflib.get_close_matches(word, _FLAGS, n=1, cutoff=0.7)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"unknown option {word!r}{hint}; see %%runcell?."
