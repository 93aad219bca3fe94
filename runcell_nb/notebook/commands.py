"""The commands of `%runcell`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.sync_bridge import run_blocking
from runcell_nb.models.defaults import DEFAULT_MODELS, DEMO_MODEL
from runcell_nb.models.local_listings import LocalModel
from runcell_nb.models.local_servers import LocalServer, find_local_servers

from .cell_options import words_of
from .command_words import one_name, up_to
from .diff_command import diff_command
from .export import export_script
from .recording_commands import record_command, replay_command
from .sandbox_commands import sandbox_command
from .session import NotebookSession
from .shown_text import count_text, one_line, visible
from .spending import CellUsage
from .thread_commands import thread_command

_LATER = frozenset(("apply", "redo", "rewind", "ui"))
"""Commands that are planned; whoever tries one should not be told to have mistyped it."""

Command = Callable[[NotebookSession, list[str]], Any]


def run_command(session: NotebookSession, line: str) -> Any:
    """Run one command.

    Args:
        session: Of the notebook.
        line: What stands behind `%runcell`.

    Returns:
        Text to print, or something to display.

    Raises:
        InvalidOptionError: An unknown command or a wrong argument; nothing has changed.
    """
    name, *arguments = words_of(line, "%runcell") or [""]
    if name in _LATER:
        raise InvalidOptionError(f"%runcell: the command {name} is not available in this version.")
    if name not in _COMMANDS:
        close = difflib.get_close_matches(name, _COMMANDS, n=1)
        hint = (
            f"did you mean {close[0]}?"
            if close
            else f"the commands are {', '.join(filter(None, _COMMANDS))}."
        )
        raise InvalidOptionError(f"%runcell: unknown command {name!r}; {hint}")
    run_blocking(session.load)
    shown = _COMMANDS[name](session, arguments)
    run_blocking(session.keep_changes)
    return shown


def _status(session: NotebookSession, _arguments: list[str]) -> str:
    thread = session.book.active
    files = run_blocking(session.list_files)
    kind = next(row.kind for row in session.shelf.rows if row.active)
    return "\n".join(
        [
            f"model    {session.settings.answering.sentence}",
            f"thread   {thread.name}, {count_text(len(thread.turns), 'turn')}",
            f"sandbox  {session.shelf.active} ({kind}), {count_text(len(files), 'file')}",
            f"spent    {_spent(session)}",
            "commands model [NAME], thread, sandbox, files, diff, history, usage, record, replay, "
            "export FILE.py; %%runcell? explains the cells",
        ]
    )


def _model(session: NotebookSession, arguments: list[str]) -> str:
    if len(arguments) > 1:
        raise InvalidOptionError(f"%runcell model takes one name, got {' '.join(arguments)!r}.")
    if arguments:
        run_blocking(lambda: session.choose_model(arguments[0]))
        return session.settings.answering.sentence
    ready = [
        f"  {model} ({variable} is set)" for _, variable, model in DEFAULT_MODELS if os.environ.get(variable)
    ]
    demo = f"  {DEMO_MODEL} (offline, needs no key; not a language model)"
    servers = run_blocking(lambda: find_local_servers(os.environ))
    here = [f"  {_local_model(server, model)}" for server in servers for model in server.models]
    local = ["on this machine:", *here] if here else []
    how = "Any provider/name that litellm knows works once its key is set, or give it by %%runcell --model."
    return "\n".join([session.settings.answering.sentence, "ready to use:", *ready, demo, *local, how])


def _local_model(server: LocalServer, model: LocalModel) -> str:
    facts = [
        server.kind,
        f"{model.context_window:,} tokens" if model.context_window else "",
        "not loaded" if model.loaded is False else "",
        "cannot call tools" if model.calls_tools is False else "",
    ]
    return f"{model.name} ({', '.join(filter(None, facts))})"


def _files(session: NotebookSession, arguments: list[str]) -> Any:
    if arguments:
        raise InvalidOptionError(f"%runcell files takes no argument, got {' '.join(arguments)!r}.")
    if session.in_kernel:
        return session.browse()
    files = run_blocking(session.list_files)
    return "\n".join(f"{info.size:>12,}  {visible(info.path)}" for info in files) or "The sandbox is empty."


def _usage(session: NotebookSession, arguments: list[str]) -> str:
    up_to("usage", arguments, 0)
    if not session.spent:
        return "Nothing has run yet."
    return "\n".join([*map(_row, session.spent), f"      {_spent(session)}"])


def _row(entry: CellUsage) -> str:
    figures = f"{entry.number:>4}  {entry.usage.total_tokens:>9,} tokens  {entry.cost:<12}"
    return f"{figures} {entry.state:<8} {entry.thread:<16} cell {entry.cell[:8]:<9} {visible(entry.model)}"


def _history(session: NotebookSession, arguments: list[str]) -> str:
    up_to("history", arguments, 1)
    thread = session.book.get(arguments[0]) if arguments else session.book.active
    rows = [
        f"{number:>4}  {turn.tokens:>9,} tokens  {turn.cost:<12} {one_line(turn.prompt, 100)}"
        for number, turn in enumerate(thread.turns, 1)
    ]
    return "\n".join(rows) or f"thread {thread.name!r} has no turns yet."


def _export(session: NotebookSession, arguments: list[str]) -> str:
    return export_script(session.ran, one_name("export", arguments))


def _spent(session: NotebookSession) -> str:
    tokens = sum(entry.usage.total_tokens for entry in session.spent)
    return f"{tokens:,} tokens, {session.costs.text()}"


_COMMANDS: dict[str, Command] = {
    "": _status,
    "model": _model,
    "thread": thread_command,
    "sandbox": sandbox_command,
    "files": _files,
    "diff": diff_command,
    "history": _history,
    "export": _export,
    "usage": _usage,
    "record": record_command,
    "replay": replay_command,
}
