"""The threads of a notebook: which cell said which turn, and how a thread goes back to before one.

A turn belongs to the cell that asked for it. Running that cell again first cuts its thread to before that
turn; what followed it stays as a fork. Such a fork is kept until the thread has told all of its turns
again, by the same cells with the same prompts and models: so Restart + Run All, twice, leaves one thread
and no fork. At most `MAX_FORKS` of them are kept, the oldest go first. A fork that somebody switches to,
renames or goes on with is theirs, and is only removed by them.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Unpack

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.thread import Thread

from .cost import total_cost
from .notebook_thread import (
    MAX_NAME,
    NotebookThread,
    ThreadMark,
    Turn,
    TurnOfRun,
    check_thread_name,
    check_turn,
    notebook_thread_from_dict,
    stored_prompt,
)

__all__ = [
    "MAIN",
    "MAX_FORKS",
    "NotebookThread",
    "Rewind",
    "ThreadBook",
    "ThreadMark",
    "ThreadRow",
    "Turn",
    "check_thread_name",
    "notebook_thread_from_dict",
]

MAIN = "main"
"""The thread that cells share unless told otherwise."""

MAX_FORKS = 10
"""Forks kept for running cells again; those that somebody made, named or uses are not counted."""

_FORK_NUMBER = re.compile(r" fork [0-9]+$")


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One line of the list of threads.

    Attributes:
        name: Of the thread.
        active: Whether cells use it unless told otherwise.
        turns: How many it has.
        tokens: Of all its turns.
        cost: Of all its turns, as shown to a person.
        rewound_from: As in `NotebookThread`.
    """

    name: str
    active: bool
    turns: int
    tokens: int
    cost: str
    rewound_from: str | None


@dataclass(frozen=True, slots=True)
class Rewind:
    """What was taken back so that a cell can run again.

    Attributes:
        thread: The thread that was cut.
        conversation: As it was.
        turns: As they were; the first of them that is gone is `turns[len(thread.turns)]`.
        fork: Name of the fork that keeps what went; None when nothing needed keeping.
    """

    thread: NotebookThread
    conversation: Thread
    turns: list[Turn]
    fork: str | None


class ThreadBook:
    """All threads of a notebook, one of them active.

    Args:
        threads: With different names; none makes an empty `main`.
        active: Name of the active one; the first by default.
        deleted: Revisions of threads that were removed, by name: as in the property.

    Raises:
        InvalidOptionError: Two threads of one name, or no thread is called `active`.
    """

    def __init__(
        self,
        threads: Iterable[NotebookThread] = (),
        active: str | None = None,
        deleted: Mapping[str, int] | None = None,
    ) -> None:
        self._threads: dict[str, NotebookThread] = {}
        self._deleted = dict(deleted or {})
        for thread in threads:
            self._check_free(thread.name)
            self._put(thread)
        if not self._threads:
            self._put(NotebookThread(MAIN))
        self._active = self.switch(next(iter(self._threads)) if active is None else active).name

    def __iter__(self) -> Iterator[NotebookThread]:
        return iter(list(self._threads.values()))

    @property
    def active(self) -> NotebookThread:
        """The thread that cells use unless told otherwise."""
        return self._threads[self._active]

    @property
    def names(self) -> list[str]:
        """The names of all threads."""
        return list(self._threads)

    @property
    def deleted(self) -> dict[str, int]:
        """The revision that each thread had when it was removed or renamed: no copy up to it comes back."""
        return dict(self._deleted)

    def get(self, name: str) -> NotebookThread:
        """Return the thread of a name.

        Raises:
            InvalidOptionError: There is none; names the nearest ones.
        """
        if name not in self._threads:
            close = difflib.get_close_matches(str(name), self._threads, n=3)
            hint = f"did you mean {_listed(close)}?" if close else f"it has {_listed(self._threads)}."
            raise InvalidOptionError(f"This notebook has no thread {name!r}; {hint}")
        return self._threads[name]

    def new(self, name: str, made_by: str | None = None) -> NotebookThread:
        """Make an empty thread, without switching to it.

        Args:
            name: Of the thread.
            made_by: Id of the cell whose command this is. When the same cell has made a thread of that name
                before, it is returned as it is: its cells run again too.

        Raises:
            InvalidOptionError: The name is taken, or cannot be one.
        """
        held = self._made_before(name, made_by)
        if held is not None:
            return held
        self._check_free(check_thread_name(name))
        return self._put(NotebookThread(name, revision=self._newest(), made_by=made_by))

    def switch(self, name: str) -> NotebookThread:
        """Make a thread the active one.

        Raises:
            InvalidOptionError: There is none of that name.
        """
        thread = self.get(name)
        if thread.rewound_from is not None:  # from now on it is somebody's own
            thread.rewound_from = None
            thread.revision += 1
        self._active = thread.name
        return thread

    def fork(
        self,
        name: str | None = None,
        at: int | None = None,
        source: str | None = None,
        made_by: str | None = None,
    ) -> NotebookThread:
        """Make a copy of a thread, without switching to it.

        Args:
            name: Of the copy; None for a free one ('main fork 1').
            at: How many turns it keeps; None for all.
            source: Name of the thread to copy; None for the active one.
            made_by: Id of the cell whose command this is. When the same cell has made a thread of that name
                before (or, without a name, a fork), the copy takes its place; what only that one had stays
                as a fork, until it is told again.

        Raises:
            InvalidOptionError: The name is taken or cannot be one, there is no such thread or turn, or a
                run has the thread whose place the copy would take.
        """
        origin = self.active if source is None else self.get(source)
        held = self._forked_before(made_by) if name is None else self._made_before(name, made_by)
        if held is origin:
            return held
        if name is not None and held is None:
            self._check_free(check_thread_name(name))
        if at is not None:
            check_turn(origin, at, len(origin.turns))
        copy = origin.fork(name or (self._fork_name(origin.name) if held is None else held.name))
        if at is not None and at < len(origin.turns):
            copy.rewind(at)
        if held is not None:
            self._replace(held, copy)
        copy.revision, copy.made_by = self._newest(), made_by
        return self._put(copy)

    def rename(self, old: str, new: str) -> NotebookThread:
        """Give a thread another name.

        Raises:
            InvalidOptionError: There is no such thread, or the new name is taken or cannot be one.
        """
        thread = self.get(old)
        self._check_free(check_thread_name(new))
        self._note_deleted(thread)
        self._threads = {new if name == old else name: held for name, held in self._threads.items()}
        thread.name, thread.rewound_from, thread.revision = new, None, self._newest()
        for fork in self._forks(old):
            fork.rewound_from = new
        if self._active == old:
            self._active = new
        return thread

    def delete(self, name: str) -> None:
        """Remove a thread.

        Raises:
            InvalidOptionError: There is none of that name, or it is the active one.
        """
        if self.get(name) is self.active:
            raise InvalidOptionError(
                f"Thread {name!r} is the active one; switch to another first "
                "(%runcell thread switch NAME, or new NAME), then delete it."
            )
        self._remove(self.get(name))

    def rows(self) -> list[ThreadRow]:
        """Return the list of threads as a person reads it, in the order they were made."""
        return [
            ThreadRow(
                name,
                name == self._active,
                len(thread.turns),
                sum(turn.tokens for turn in thread.turns),
                total_cost(turn.cost for turn in thread.turns),
                thread.rewound_from,
            )
            for name, thread in self._threads.items()
        ]

    def run_again(self, thread: NotebookThread, cell: str) -> Rewind | None:
        """Cut a thread to before the turn of a cell that is about to run; later turns stay as a fork.

        Args:
            thread: One of this book.
            cell: As in `Turn`.

        Returns:
            What was done; None when the cell has no turn there: its run appends.
        """
        index = thread.turn_of(cell)
        if index is None:
            return None
        conversation, turns = thread.thread, thread.turns
        return Rewind(thread, conversation, turns, self._keep(thread.rewind(index)))

    def start_over(self, thread: NotebookThread, cell: str) -> Rewind | None:
        """Empty a thread for a cell that is about to run; what was said stays as a fork.

        Args:
            thread: One of this book.
            cell: As in `Turn`.

        Returns:
            What was done; None when there was nothing, or only the turn of that cell (see `run_again`).
        """
        if not thread.thread.message_count:
            return None
        conversation, turns = thread.thread, thread.turns
        repeated = [turn.cell for turn in turns] == [cell] and conversation.message_count <= 2
        was = thread.empty()
        return Rewind(thread, conversation, turns, None if repeated else self._keep(was))

    def undo(self, rewind: Rewind) -> None:
        """Put a thread back to how it was before a rewind, when the run that it was for has failed."""
        rewind.thread.put(rewind.conversation.clone(), rewind.turns)
        fork = self._threads.get(rewind.fork or "")
        if fork is not None and fork.rewound_from is not None:
            self._remove(fork)

    def add_turn(self, thread: NotebookThread, before: ThreadMark, **run: Unpack[TurnOfRun]) -> list[str]:
        """Add the turn of a run, and drop the forks whose turns the thread has told again by now.

        Args:
            thread: One of this book; the conversation has the run already.
            before: From `NotebookThread.mark`, before the run.
            **run: What the run tells of its turn.

        Returns:
            Names of the forks that are gone.
        """
        thread.add_turn(before, **run)
        again = [fork for fork in self._forks(thread.name) if _tells_again(thread, fork)]
        for fork in again:
            self._remove(fork)
        many = self._forks()[:-MAX_FORKS]  # only now: the run could have failed, and all be put back
        for oldest in many:
            self._remove(oldest)
        return [fork.name for fork in (*again, *many)]

    def _keep(self, fork: NotebookThread | None) -> str | None:
        """Keep what a rewind took away."""
        if fork is None:
            return None
        fork.rewound_from = fork.name
        fork.name, fork.revision = self._fork_name(fork.name), self._newest()
        self._put(fork)
        return fork.name

    def _forks(self, origin: str | None = None) -> list[NotebookThread]:
        """Return the forks that rewinds made, of one thread or of all, oldest first."""
        # By revision, not by place: a notebook's JSON is written with its keys sorted.
        found = [fork for fork in self._threads.values() if fork.rewound_from is not None]
        found.sort(key=lambda fork: fork.revision)
        return found if origin is None else [fork for fork in found if fork.rewound_from == origin]

    def _fork_name(self, origin: str) -> str:
        base = _FORK_NUMBER.sub("", origin)
        endings = (f" fork {number}" for number in itertools.count(1))
        names = (base[: MAX_NAME - len(ending)].rstrip() + ending for ending in endings)
        return next(name for name in names if name not in self._threads)

    def _put(self, thread: NotebookThread) -> NotebookThread:
        self._threads[thread.name] = thread
        return thread

    def _remove(self, thread: NotebookThread) -> None:
        self._note_deleted(thread)
        del self._threads[thread.name]

    def _note_deleted(self, thread: NotebookThread) -> None:
        known = self._deleted.get(thread.name, 0)
        self._deleted[thread.name] = max(known, thread.revision)

    def _newest(self) -> int:
        """Return a revision above all so far, so that no older copy of a name's former thread wins."""
        return 1 + max([0, *self._deleted.values(), *(thread.revision for thread in self._threads.values())])

    def _made_before(self, name: str, made_by: str | None) -> NotebookThread | None:
        """Return the thread of a name if a command of this cell has made it."""
        held = self._threads.get(name)
        return held if held is not None and made_by is not None and held.made_by == made_by else None

    def _forked_before(self, made_by: str | None) -> NotebookThread | None:
        """Return the fork that a command of this cell has made without a name for it."""
        named = (thread for name, thread in self._threads.items() if _FORK_NUMBER.search(name))
        return next((one for one in named if made_by is not None and one.made_by == made_by), None)

    def _replace(self, held: NotebookThread, copy: NotebookThread) -> None:
        """Take a thread out of a copy's way; what the copy does not tell stays as a fork."""
        held.thread.acquire()  # a run in it would add its turn to what is gone
        held.thread.release()
        if held.thread.message_count and not _tells_again(copy, held):
            held.made_by = None
            self._keep(held)

    def _check_free(self, name: str) -> None:
        if name in self._threads:
            raise InvalidOptionError(f"This notebook has a thread {name!r} already; take another name.")


def _listed(names: Iterable[str]) -> str:
    first = list(itertools.islice(names, 11))
    return ", ".join(map(repr, first[:10])) + (", …" if len(first) > 10 else "")


def _tells_again(thread: NotebookThread, fork: NotebookThread) -> bool:
    """Tell whether a thread has asked for everything that a fork of it holds, in the same order."""
    turns = fork.turns
    if not turns or not thread.turns or thread.turns[0].messages_before != turns[0].messages_before:
        return False
    if fork.thread.message_count != turns[0].messages_before + 2 * len(turns):
        return False  # something was said there that is no cell's turn
    return list(map(_request, turns)) == list(map(_request, thread.turns[: len(turns)]))


def _request(turn: Turn) -> tuple[str, str, str]:
    return turn.cell, stored_prompt(turn.prompt), turn.model
