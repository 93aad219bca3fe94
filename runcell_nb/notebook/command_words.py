"""The words of a `%runcell` command, checked: one sentence for whoever mistyped."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import TypeVar

from runcell_nb.core.errors import InvalidOptionError

MAX_NAME = 60
"""Characters of a name."""

T = TypeVar("T")
S = TypeVar("S")


def run_group(
    group: str, session: S, words: list[str], commands: Mapping[str, Callable[[S, list[str]], T]]
) -> T:
    """Run one command of a group; without a word it is `list`.

    Args:
        group: Its name, as typed.
        session: Of the notebook.
        words: What stands behind the group.
        commands: By name.

    Raises:
        InvalidOptionError: An unknown command, or what the command raises.
    """
    name, *rest = words or ["list"]
    return chosen(group, name, commands)(session, rest)


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


def proper_name(kind: str, name: str) -> str:
    """Return a name that somebody gives to something, if a person can read it in a list.

    Raises:
        InvalidOptionError: It is empty, too long, or holds what cannot be seen.
    """
    if not 0 < len(name) <= MAX_NAME or not name.isprintable() or name != name.strip():
        raise InvalidOptionError(
            f"A {kind}'s name is 1 to {MAX_NAME} visible characters on one line, got {name[:80]!r}."
        )
    return name


def up_to(command: str, words: list[str], most: int, *, least: int = 0, noun: str = "name") -> None:
    """Check how many words a command was given.

    Args:
        command: As typed.
        words: What stands behind it.
        most: How many it takes.
        least: How many it needs.
        noun: What they are.

    Raises:
        InvalidOptionError: Too few or too many.
    """
    if not least <= len(words) <= most:
        few = f"{least} to {most} {noun}s" if least else f"at most {most} {noun}"
        given = f"got {' '.join(words)!r}" if words else "none was given"
        raise InvalidOptionError(f"%runcell {command} takes {few if most else 'no argument'}, {given}.")
