"""The words of a `%runcell` command, checked: one sentence for whoever mistyped."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

from runcell_nb.core.errors import InvalidOptionError

T = TypeVar("T")


def chosen(group: str, name: str, commands: Mapping[str, T]) -> T:
    """Return the command of a group that a name means.

    Raises:
        InvalidOptionError: There is none; names the nearest one, or all.
    """
    if name not in commands:
        close = difflib.get_close_matches(name, commands, n=1)
        hint = f"did you mean {close[0]}?" if close else f"the commands are {', '.join(commands)}."
        raise InvalidOptionError(f"%runcell {group}: unknown command {name!r}; {hint}")
    return commands[name]


def one_name(command: str, words: list[str]) -> str:
    """Return the one name that a command takes.

    Raises:
        InvalidOptionError: None or more than one was given.
    """
    if len(words) != 1:
        given = f"got {' '.join(words)!r}; put a name with blanks in quotes." if words else "none was given."
        raise InvalidOptionError(f"%runcell {command} takes one name, {given}")
    return words[0]


def up_to(command: str, words: list[str], most: int, *, least: int = 0) -> None:
    """Check how many words a command was given.

    Raises:
        InvalidOptionError: Too few or too many.
    """
    if not least <= len(words) <= most:
        takes = (
            "no argument" if most == 0 else f"{least} to {most} names" if least else f"at most {most} name"
        )
        raise InvalidOptionError(f"%runcell {command} takes {takes}, got {' '.join(words)!r}.")
