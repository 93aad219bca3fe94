"""How the demo works: a generator that calls the ordinary tools and answers from their results.

It yields a `Call`, is sent the `Reply`, and returns what is `Said`. It keeps nothing else, so that it
can be run again from the results in a conversation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from .slots import Name, listed

_SHOWN_NAMES = 20


_FIND_ALL = "find . -type f -not -path './.runcell/*' | sort | head -n 1000"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to make."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a call; `failed` is an error result or a command with an exit code other than 0."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """What an action answers; `value` is what it found out, for a command that saves "the result"."""

    text: str
    value: str = ""


class Stop(Exception):
    """An action could not be done; the text says why, and no later action runs."""


Work = Generator[Call, Reply, Said]


Asked = Generator[Call, Reply, Reply]


Found = Generator[Call, Reply, str]


def shell(command: str) -> Asked:
    """Run a command; a line that only tells the exit code is taken off."""
    reply = yield Call("bash", {"command": command})
    match = re.search(r"\n?\(exit (\d+)\)\s*\Z", reply.text)
    text = reply.text[: match.start()] if match else reply.text
    text = "" if text == "(no output)" else text
    return Reply(text, reply.failed or bool(match and match[1] != "0"))


def word(path: str) -> str:
    """Return a path as one word of a command, never taken for an option."""
    return quote(f"./{path}" if path.startswith("-") else path)


def every_file() -> Generator[Call, Reply, list[str]]:
    """Return the paths of all files, sorted; the first thousand of them."""
    reply = yield from shell(_FIND_ALL)
    if reply.failed:
        raise Stop(f"Looking for the file failed: {reply.text.strip()}")
    return [line.removeprefix("./") for line in reply.text.splitlines() if line.startswith("./")]


def here(paths: Sequence[str]) -> str:
    """Say which files there are."""
    if not paths:
        return "There are no files here."
    more = f" and {len(paths) - _SHOWN_NAMES} more" if len(paths) > _SHOWN_NAMES else ""
    return f"Files here: {', '.join(paths[:_SHOWN_NAMES])}{more}."


def near_to(path: str, paths: Sequence[str]) -> list[str]:
    """Return the files that a person may mean by `path`: other case, other folder, no ending."""
    wanted = path.lower()
    forms: tuple[Callable[[str], str], ...] = (str.lower, _last, lambda one: _last(one).rsplit(".", 1)[0])
    for form in forms:
        hits = [one for one in paths if form(one) == wanted]
        if hits:
            return hits
    return []


def _last(path: str) -> str:
    return path.rsplit("/", 1)[-1].lower()


def pick(path: str, problem: str = "") -> Found:
    """Find the one file that `path` can mean.

    Raises:
        Stop: There is none or there are several; the text lists what is there.
    """
    paths = yield from every_file()
    if path in paths:
        if problem:
            raise Stop(f"That did not work on {path}: {problem.strip()}")
        return path
    near = near_to(path, paths)
    if len(near) == 1:
        return near[0]
    if near:
        raise Stop(f"{path} could be {listed(near)}; please name one of them.")
    raise Stop(f"There is no file {path} here. {here(paths)}")


def check_there(path: str) -> Generator[Call, Reply, None]:
    """Stop when a file is not there, and say what is."""
    paths = yield from every_file()
    if path in paths:
        return
    near = near_to(path, paths)
    if near:
        raise Stop(f"There is no file {path}. If you mean {listed(near)}, say so; nothing was changed.")
    raise Stop(f"There is no file {path} here. {here(paths)}")


def check_free(target: str, advice: str) -> Generator[Call, Reply, None]:
    """Stop when something is already there."""
    reply = yield from shell(f"test ! -e {word(target)}")
    if reply.failed:
        raise Stop(f"{target} is already there and I left it as it is. {advice}")


def exact(name: Name) -> Found:
    """Return the path of a file that is going to be changed; a word that only resembles one is not enough."""
    if name.sure:
        return name.path
    found = yield from pick(name.path)
    if found != name.path:
        raise Stop(f"There is no file called {name.path}. If you mean {found}, say so; nothing was changed.")
    return found


def looked(name: Name, ask: Callable[[str], Asked]) -> Generator[Call, Reply, tuple[str, Reply]]:
    """Read something of a file, under the nearest name when there is only one."""
    path = name.path if name.sure else (yield from pick(name.path))
    reply = yield from ask(path)
    if reply.failed:
        path = yield from pick(path, reply.text)
        reply = yield from ask(path)
    if reply.failed:
        raise Stop(f"That did not work on {path}: {reply.text.strip()}")
    return path, reply


def changed(path: str, command: str) -> Asked:
    """Run a command that changes a file; say what is there when the file is not."""
    reply = yield from shell(command)
    if reply.failed:
        yield from check_there(path)
        raise Stop(f"That did not work on {path}: {reply.text.strip() or 'the command failed'}")
    return reply


def fenced(text: str) -> str:
    """Put text into a code fence that it cannot close."""
    ticks = max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1
    return f"{'`' * ticks}\n{text.rstrip()}\n{'`' * ticks}"


def counted(number: int, word: str) -> str:
    """Return "1 line", "3 lines"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
