"""`%runcell sandbox …`: the sandboxes of the notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.sync_bridge import run_blocking

from .command_words import chosen, one_name, up_to
from .session import NotebookSession
from .shown_text import count_text

_HOST_ISOLATION = "isolation=external"


def sandbox_command(session: NotebookSession, words: list[str]) -> str:
    """Run one command on sandboxes and return what to print.

    Args:
        session: Of the notebook.
        words: What stands behind `%runcell sandbox`; without any the sandboxes are listed.

    Raises:
        InvalidOptionError: An unknown command, a name that is not there or taken; nothing has changed.
    """
    name, *rest = words or ["list"]
    return chosen("sandbox", name, _COMMANDS)(session, rest)


def _list(session: NotebookSession, words: list[str]) -> str:
    up_to("sandbox list", words, 0)
    return "\n".join(
        f"{'*' if row.active else ' '} {row.name:<24} {row.kind:<10} "
        f"{'' if row.made else '(made when a cell needs it)'}".rstrip()
        for row in session.shelf.rows
    )


def _new(session: NotebookSession, words: list[str]) -> str:
    name, option = _new_option(words)
    session.shelf.new(name, option)
    session.shelf.switch(name)
    return f"sandbox {name!r} is new and empty; cells work in it from now on."


def _new_option(words: list[str]) -> tuple[str, Any]:
    """Return name and option of `new NAME [TYPE] [--root DIR] [--network] [isolation=external]`."""
    names: list[str] = []
    option: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--network":
            option["network"] = True
        elif word == _HOST_ISOLATION:
            option["isolation"] = "external"
        elif word == "--root" and rest:
            option["root_dir"] = rest.pop(0)
        elif word.startswith("-"):
            raise InvalidOptionError(
                f"%runcell sandbox new: unknown option {word!r}; it takes --root DIR and --network."
            )
        else:
            names.append(word)
    if not 1 <= len(names) <= 2:
        raise InvalidOptionError("%runcell sandbox new takes NAME [TYPE] [--root DIR] [--network].")
    kind = names[1] if len(names) == 2 else "virtual"
    if kind == "host" and "isolation" not in option:
        raise InvalidOptionError(
            "A host sandbox runs commands on this machine without isolation of its own; "
            f"say {_HOST_ISOLATION} if something else isolates it."
        )
    return names[0], {"type": kind, **option}


def _switch(session: NotebookSession, words: list[str]) -> str:
    name = one_name("sandbox switch", words)
    session.shelf.switch(name)
    session.rebrowse()
    return f"cells work in sandbox {name!r} from now on."


def _reset(session: NotebookSession, words: list[str]) -> str:
    up_to("sandbox reset", words, 1)
    name = session.shelf.check(words[0] if words else None)
    files = run_blocking(lambda: _count_and_reset(session, name))
    session.rebrowse()
    return f"sandbox {name!r} is empty again ({count_text(files, 'file')} gone)."


async def _count_and_reset(session: NotebookSession, name: str) -> int:
    sandbox = session.shelf.made(name)
    count = 0 if sandbox is None else len(await sandbox.list_files())
    await session.shelf.reset(name)
    return count


def _delete(session: NotebookSession, words: list[str]) -> str:
    name = one_name("sandbox delete", words)
    run_blocking(lambda: session.shelf.delete(name))
    return f"sandbox {name!r} is gone."


def _snapshot(session: NotebookSession, words: list[str]) -> str:
    up_to("sandbox snapshot", words, 1)
    name = words[0] if words else f"snapshot {len(session.snapshots) + 1}"
    state, problem = run_blocking(lambda: _captured(session))
    if state is None:
        raise InvalidOptionError(problem or "The files are too big to be kept.")
    instead = ", in place of an earlier one" if session.snapshots.pop(name, None) else ""
    session.snapshots[name] = state
    note = f" {problem}" if problem else ""
    return f"snapshot {name!r} is kept{instead}; %runcell sandbox restore brings it back.{note}"


async def _captured(session: NotebookSession) -> tuple[str | None, str | None]:
    state = await session.files.capture(await session.sandbox())
    return state, session.files.problem


def _restore(session: NotebookSession, words: list[str]) -> str:
    up_to("sandbox restore", words, 1)
    name = words[0] if words else next(reversed(session.snapshots), "")
    if name not in session.snapshots:
        known = ", ".join(map(repr, session.snapshots)) or "none yet; %runcell sandbox snapshot keeps one"
        raise InvalidOptionError(f"There is no snapshot {name!r}; there is {known}.")
    state = session.snapshots[name]
    if state not in session.files:
        raise InvalidOptionError(f"Snapshot {name!r} is not kept any more: newer states took its room.")
    problem = run_blocking(lambda: _brought_back(session, state))
    session.files_changed()
    return f"the files are those of snapshot {name!r} again.{' ' + problem if problem else ''}"


async def _brought_back(session: NotebookSession, state: str) -> str | None:
    sandbox = await session.sandbox()
    await session.files.capture(sandbox)  # so that nothing is removed that could not be put back
    return await session.files.restore(sandbox, state, session.files.left_out)


_COMMANDS: dict[str, Callable[[NotebookSession, list[str]], str]] = {
    "list": _list,
    "new": _new,
    "switch": _switch,
    "reset": _reset,
    "snapshot": _snapshot,
    "restore": _restore,
    "delete": _delete,
}
