"""Threads that a notebook turns out to hold, joined with those of this kernel: none of them is lost.

The notebook is read once, but its front end may answer late, or hold another copy than the file.
"""

from __future__ import annotations

import itertools

from runcell_nb.core.errors import InvalidOptionError

from .notebook_thread import MAX_NAME, NotebookThread
from .turns import MAIN, ThreadBook


def joined(own: ThreadBook, found: ThreadBook, *, replacing: bool = True) -> tuple[ThreadBook, list[str]]:
    """Return the threads of this kernel and those that were found.

    A found copy takes the place of one that holds nothing else; an older copy is dropped; one that says
    something else under the same name comes in as a fork. A thread that was deleted here stays deleted.

    Args:
        own: The threads of this kernel; the book is left as it is, its threads are in the new one.
        found: What was found; its threads may be in the new book.
        replacing: Whether found copies may take a place: a run that has begun holds on to its thread.

    Returns:
        The book, and a sentence for each thread that has another name now.
    """
    threads = {thread.name: thread for thread in own}
    forks: set[str] = set()
    notes: list[str] = []
    gone = own.deleted
    for thread in found:
        held = threads.get(thread.name)
        if held is None:
            if thread.revision > gone.get(thread.name, -1):
                threads[thread.name] = thread
        elif replacing and _gives_way(held, thread):
            threads[thread.name] = thread
        elif _is_news(held, thread) and not any(_holds(other, thread) for other in threads.values()):
            old, thread.name = thread.name, _free_name(thread.name, threads)
            threads[thread.name] = thread
            forks.add(thread.name)
            notes.append(
                f"The notebook holds another thread {old!r} than this kernel; it is {thread.name!r} now."
            )
    deleted = {name: max(gone.get(name, 0), found.deleted.get(name, 0)) for name in {**found.deleted, **gone}}
    for name, thread in threads.items():  # what is here would not be read again otherwise
        thread.revision = max(thread.revision, deleted.get(name, -1) + 1)
    return ThreadBook(threads.values(), _active(own, found, threads, forks), deleted), notes


def _active(own: ThreadBook, found: ThreadBook, threads: dict[str, NotebookThread], forks: set[str]) -> str:
    """Return the thread that somebody has chosen here, else the one that the notebook was at."""
    untouched = own.active.name == MAIN and not own.active.thread.message_count
    at, name = found.active, found.active.name
    # Under a name of its own: one that came in as a fork is not what cells go on with.
    return name if untouched and threads.get(name) is at and name not in forks else own.active.name


def _is_news(held: NotebookThread, thread: NotebookThread) -> bool:
    """Tell whether a found thread is more than an older copy, or nothing."""
    older = thread.thread.id == held.thread.id and thread.revision <= held.revision
    return thread.thread.message_count > 0 and not older


def _gives_way(held: NotebookThread, thread: NotebookThread) -> bool:
    """Tell whether nothing is lost when a found thread takes a place."""
    if held.thread.id == thread.thread.id:
        return thread.revision > held.revision and _holds(thread, held) and not _in_use(held)
    return not held.thread.message_count and not _in_use(held)


def _holds(thread: NotebookThread, part: NotebookThread) -> bool:
    """Tell whether a thread begins with all that another one says."""
    if thread.thread.id != part.thread.id or thread.thread.message_count < part.thread.message_count:
        return False
    said = part.thread.messages
    return thread.thread.messages[: len(said)] == said


def _in_use(thread: NotebookThread) -> bool:
    try:
        thread.thread.acquire()
    except InvalidOptionError:
        return True
    thread.thread.release()
    return False


def _free_name(name: str, taken: dict[str, NotebookThread]) -> str:
    endings = (f" fork {number}" for number in itertools.count(1))
    names = (name[: MAX_NAME - len(ending)].rstrip() + ending for ending in endings)
    return next(free for free in names if free not in taken)
