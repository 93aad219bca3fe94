"""`%runcell thread …`: the conversations of the notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .command_words import one_name, run_group, up_to
from .notebook_thread import NotebookThread
from .session import NotebookSession
from .shown_text import count_text, one_line, visible

_MAX_SHOWN = 400
"""Characters of a message that `show` prints."""


def thread_command(session: NotebookSession, words: list[str]) -> Any:
    """Run one command on threads and return what to print, or a thread browser to display.

    Args:
        session: Of the notebook.
        words: What stands behind `%runcell thread`; without any the threads are listed.

    Raises:
        InvalidOptionError: An unknown command, a name that is not there or taken; nothing has changed.
    """
    return run_group("thread", session, words, _COMMANDS)


def _list(session: NotebookSession, words: list[str]) -> str:
    up_to("thread list", words, 0)
    rows = [
        f"{'*' if row.active else ' '} {row.name:<24} {count_text(row.turns, 'turn'):>10}  "
        f"{row.tokens:>9,} tokens  {row.cost}{_origin(row.rewound_from)}"
        for row in session.book.rows()
    ]
    return "\n".join(rows)


def _origin(thread: str | None) -> str:
    return "" if thread is None else f"  (later turns of {thread!r}, from before a cell ran again)"


def _new(session: NotebookSession, words: list[str]) -> str:
    thread = session.book.new(one_name("thread new", words), made_by=session.cell_id)
    session.book.switch(thread.name)
    if thread.thread.message_count:  # Run All: its own cells tell it again
        return f"thread {thread.name!r} was made by this cell before; cells go on with it from now on."
    return f"thread {thread.name!r} is new and empty; cells go on with it from now on."


def _switch(session: NotebookSession, words: list[str]) -> str:
    thread = session.book.switch(one_name("thread switch", words))
    return f"cells go on with thread {thread.name!r} ({count_text(len(thread.turns), 'turn')}) from now on."


def _fork(session: NotebookSession, words: list[str]) -> str:
    up_to("thread fork", words, 1)
    origin = session.book.active.name
    fork = session.book.fork(words[0] if words else None, made_by=session.cell_id)
    session.book.switch(fork.name)
    if fork.name == origin:
        return f"thread {fork.name!r} was made by this cell before; cells go on with it."
    return f"thread {fork.name!r} is a copy of {origin!r}; cells go on with it from now on."


def _rename(session: NotebookSession, words: list[str]) -> str:
    up_to("thread rename", words, 2, least=1)
    old = words[0] if len(words) == 2 else session.book.active.name
    thread = session.book.rename(old, words[-1])
    return f"thread {old!r} is called {thread.name!r} now."


def _delete(session: NotebookSession, words: list[str]) -> str:
    name = one_name("thread delete", words)
    session.book.delete(name)
    return f"thread {name!r} is gone."


def _show(session: NotebookSession, words: list[str]) -> Any:
    up_to("thread show", words, 1)
    thread = session.book.get(words[0]) if words else session.book.active
    if session.in_kernel:
        return session.browse_threads(thread.name)
    return "\n".join(_told(thread)) or f"thread {thread.name!r} is empty."


def _told(thread: NotebookThread) -> list[str]:
    starts = {turn.messages_before: (number, turn) for number, turn in enumerate(thread.turns, 1)}
    lines = []
    for position, message in enumerate(thread.thread.messages):
        if position in starts:
            number, turn = starts[position]
            lines.append(f"turn {number}  {visible(turn.model)}  {turn.tokens:,} tokens  {turn.cost}")
        who = "you  " if message.role == "user" else "agent"
        lines.append(f"  {who} {one_line(message.content, _MAX_SHOWN)}")
    return lines


_COMMANDS: dict[str, Callable[[NotebookSession, list[str]], Any]] = {
    "list": _list,
    "new": _new,
    "switch": _switch,
    "fork": _fork,
    "rename": _rename,
    "delete": _delete,
    "show": _show,
}
