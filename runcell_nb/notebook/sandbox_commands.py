"""`%runcell sandbox …`: the sandboxes of the notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.sync_bridge import run_blocking

from .command_words import one_name, proper_name, run_group, up_to
from .option_line import split_flag
from .session import NotebookSession
from .shown_text import count_text

_HOST_ISOLATION = "isolation=external"
_FORCE = ("force", "--force")
_HOW_TO_FORCE = "Say %runcell sandbox restore NAME --force if that is what you want."


def sandbox_command(session: NotebookSession, words: list[str]) -> str:
    """Run one command on sandboxes and return what to print.

    Args:
        session: Of the notebook.
        words: What stands behind `%runcell sandbox`; without any the sandboxes are listed.

    Raises:
        InvalidOptionError: An unknown command, a name that is not there or taken; nothing has changed.
    """
    return run_group("sandbox", session, words, _COMMANDS)


def _list(session: NotebookSession, words: list[str]) -> str:
    up_to("sandbox list", words, 0)
    return "\n".join(
        f"{'*' if row.active else ' '} {row.name:<24} {row.kind:<10} "
        f"{'' if row.made else '(made when a cell needs it)'}".rstrip()
        for row in session.shelf.rows
    )


def _new(session: NotebookSession, words: list[str]) -> str:
    name, option = _new_option(words)
    is_new = session.shelf.new(name, option, made_by=session.cell_id)
    session.shelf.switch(name)
    session.rebrowse()
    if not is_new:  # Run All: its own cells take its files back
        return f"sandbox {name!r} was made by this cell before; cells work in it from now on."
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
        elif split_flag(word)[0] == "--root":
            option["root_dir"] = _root(split_flag(word)[1], rest)
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


def _root(glued: str | None, rest: list[str]) -> str:
    root = rest.pop(0) if glued is None and rest else glued
    if not root or root.startswith("-"):
        raise InvalidOptionError("%runcell sandbox new: --root needs a value: --root DIR.")
    return root


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
    foreign = session.shelf.foreign(name)
    if foreign is not None:
        return f"sandbox {name!r} was given back. {foreign}; runcell has removed none of its files."
    return f"sandbox {name!r} is empty again ({count_text(files, 'file')} gone)."


async def _count_and_reset(session: NotebookSession, name: str) -> int:
    sandbox = session.shelf.made(name)
    count = 0 if sandbox is None else len(await sandbox.list_files())
    await session.shelf.reset(name)
    return count


def _delete(session: NotebookSession, words: list[str]) -> str:
    name = one_name("sandbox delete", words)
    foreign = session.shelf.foreign(name)
    run_blocking(lambda: session.shelf.delete(name))
    stay = "" if foreign is None else f" {foreign}; runcell has removed none of its files."
    return f"sandbox {name!r} is gone.{stay}"


def _snapshot(session: NotebookSession, words: list[str]) -> str:
    up_to("sandbox snapshot", words, 1)
    name = proper_name("snapshot", words[0]) if words else f"snapshot {len(session.snapshots) + 1}"
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
    forced = bool(words) and words[-1] in _FORCE and words[-1] not in session.snapshots
    words = words[:-1] if forced else words
    up_to("sandbox restore", words, 1)
    if not session.snapshots:
        raise InvalidOptionError("There is no snapshot yet; %runcell sandbox snapshot keeps one.")
    name = words[0] if words else next(reversed(session.snapshots))
    if name not in session.snapshots:
        known = ", ".join(map(repr, session.snapshots))
        raise InvalidOptionError(f"There is no snapshot {name!r}; there is {known}.")
    state = session.snapshots[name]
    if state not in session.files:
        raise InvalidOptionError(f"Snapshot {name!r} is not kept any more: newer states took its room.")
    foreign = session.shelf.foreign(session.shelf.active)
    if foreign is not None and not forced:
        raise InvalidOptionError(
            f"{foreign}: restore would remove and overwrite files there; nothing was changed. {_HOW_TO_FORCE}"
        )
    problem = run_blocking(lambda: _brought_back(session, state, forced=forced))
    session.files_changed()
    return f"the files are those of snapshot {name!r} again.{' ' + problem if problem else ''}"


async def _brought_back(session: NotebookSession, state: str, *, forced: bool) -> str | None:
    sandbox = await session.sandbox()
    now = await session.files.capture(sandbox)  # nothing is removed that could not be put back
    if now is None and not forced:
        raise InvalidOptionError(
            f"{session.files.problem} So the files of now would be lost; nothing was changed. {_HOW_TO_FORCE}"
        )
    leaving = session.files.left_out if now is not None else ()
    problem = await session.files.restore(sandbox, state, leaving)
    session.shelf.note_files(session.shelf.active, await session.files.capture(sandbox))
    return problem


_COMMANDS: dict[str, Callable[[NotebookSession, list[str]], str]] = {
    "list": _list,
    "new": _new,
    "switch": _switch,
    "reset": _reset,
    "snapshot": _snapshot,
    "restore": _restore,
    "delete": _delete,
}
