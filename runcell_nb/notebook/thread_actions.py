"""What a person does to the threads of a notebook in the thread browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from runcell_nb.core.errors import InvalidOptionError

from .notebook_thread import NotebookThread, check_thread_name, check_turn
from .shown_text import count_text
from .turns import ThreadBook

Request = Mapping[str, Any]
Done = tuple[str, str]
"""A sentence on what was done, and the name of the thread to look at."""


class ThreadActions:
    """Does what a page asks for: each request names a thread (`key`), as it was shown (`version`).

    Args:
        book_now: Returns the threads of the notebook, which takes up others when it is loaded.
        version_of: Tells how a thread is now, to compare with how it was shown.
    """

    def __init__(self, book_now: Callable[[], ThreadBook], version_of: Callable[[str], str | None]) -> None:
        self._book_now = book_now
        self._version_of = version_of
        self._actions: dict[str, Callable[[NotebookThread, Request], Done]] = {
            "switch": self._switch,
            "fork": self._fork,
            "rewind": self._rewind,
            "rename": self._rename,
            "delete": self._delete,
        }

    @property
    def _book(self) -> ThreadBook:
        return self._book_now()

    def serve(self, request: Request) -> Done | None:
        """Do what is asked; None for a request that is no action.

        Raises:
            InvalidOptionError: It cannot be done; nothing has changed.
        """
        action = self._actions.get(str(request.get("type")))
        if action is None:
            return None
        thread = self._book.get(str(request.get("key")))
        if request.get("version") != self._version_of(thread.name):
            raise InvalidOptionError(
                f"Thread {thread.name!r} has changed since it was shown; here it is as it is now, try again."
            )
        return action(thread, request)

    def _switch(self, thread: NotebookThread, _: Request) -> Done:
        self._book.switch(thread.name)
        return f"Cells go on with thread {thread.name!r} from now on.", thread.name

    def _fork(self, thread: NotebookThread, request: Request) -> Done:
        keep = request.get("keep")
        fork = self._book.fork(at=keep, source=thread.name)
        copied = "all of" if keep is None else f"the first {count_text(len(fork.turns), 'turn')} of"
        return (
            f"Thread {fork.name!r} is a copy of {copied} {thread.name!r}; "
            f"cells still go on with {self._book.active.name!r}.",
            fork.name,
        )

    def _rewind(self, thread: NotebookThread, request: Request) -> Done:
        keep: Any = request.get("keep")
        check_turn(thread, keep, len(thread.turns) - 1)
        with _free(thread):
            # Somebody's own fork, not one that goes by itself: perhaps no cell tells these turns again.
            fork = self._book.fork(source=thread.name)
            thread.rewind(keep)
        return (
            f"Thread {thread.name!r} is back at {count_text(keep, 'turn')}; as it was, it stays as the fork "
            f"{fork.name!r}. The files in the sandbox are as they are: they were not taken back.",
            thread.name,
        )

    def _rename(self, thread: NotebookThread, request: Request) -> Done:
        old, new = thread.name, check_thread_name(request.get("to"))
        with _free(thread):
            self._book.rename(old, new)
        return f"Thread {old!r} is called {new!r} now.", new

    def _delete(self, thread: NotebookThread, _: Request) -> Done:
        with _free(thread):
            self._book.delete(thread.name)
        return f"Thread {thread.name!r} is gone.", self._book.active.name


@contextmanager
def _free(thread: NotebookThread) -> Iterator[None]:
    """Claim a thread, so that no run adds a turn to what is taken away from it."""
    conversation = thread.thread
    try:
        conversation.acquire()
    except InvalidOptionError:
        raise InvalidOptionError(
            f"Thread {thread.name!r} is in use by a run; wait for its end, or stop it."
        ) from None
    try:
        yield
    finally:
        conversation.release()
