"""Threads found late join those of the kernel: nothing that somebody said is lost, nothing comes twice."""

from __future__ import annotations

from runcell_nb.core.thread import Thread
from runcell_nb.notebook.notebook_thread import NotebookThread, notebook_thread_from_dict
from runcell_nb.notebook.thread_joining import joined
from runcell_nb.notebook.turns import ThreadBook


def said(name: str, *prompts: str, revision: int = 1, id: str | None = None) -> NotebookThread:
    thread = NotebookThread(name, Thread(id or f"id of {prompts[:1]}"), revision=revision)
    for prompt in prompts:
        before = thread.mark()
        thread.thread.record(prompt, "ok", [])
        thread.add_turn(
            before, cell=prompt, prompt=prompt, model="m", sandbox="main", files_before=None,
            files_after=None, tokens=1, cost="local",
        )  # fmt: skip
    thread.revision = revision
    return thread


def copy(thread: NotebookThread, revision: int | None = None) -> NotebookThread:
    """The thread as it comes back from a file."""
    other = notebook_thread_from_dict(thread.to_dict())
    other.revision = thread.revision if revision is None else revision
    return other


def told(book: ThreadBook) -> dict[str, list[str]]:
    return {thread.name: [turn.prompt for turn in thread.turns] for thread in book}


def test_an_untouched_kernel_takes_all() -> None:
    found = ThreadBook([said("main", "a"), said("side", "b")], "side")
    book, notes = joined(ThreadBook(), found)
    assert told(book) == {"main": ["a"], "side": ["b"]}
    assert (book.active.name, notes) == ("side", [])


def test_what_was_said_here_keeps_its_name_and_the_found_thread_is_a_fork() -> None:
    own = ThreadBook([said("main", "here")])
    book, notes = joined(own, ThreadBook([said("main", "a", "b", revision=9)]))
    assert told(book) == {"main": ["here"], "main fork 1": ["a", "b"]}
    assert book.active is own.active
    assert notes == ["The notebook holds another thread 'main' than this kernel; it is 'main fork 1' now."]


def test_found_again_nothing_happens() -> None:
    kept = said("main", "a", revision=9)
    own = ThreadBook([said("main", "here")])
    once, _ = joined(own, ThreadBook([copy(kept)]))
    twice, notes = joined(once, ThreadBook([copy(kept)]))
    assert told(twice) == told(once)
    assert notes == []


def test_an_older_copy_is_dropped_and_a_longer_one_takes_the_place() -> None:
    now = said("main", "a", "b", revision=5, id="x")
    older, newer = said("main", "a", revision=4, id="x"), copy(now, 7)
    newer.thread.record("c", "ok", [])
    book, notes = joined(ThreadBook([now]), ThreadBook([older]))
    assert (book.active, notes) == (now, [])
    book, notes = joined(ThreadBook([now]), ThreadBook([newer]))
    assert (book.active, notes) == (newer, [])


def test_of_two_that_went_on_differently_both_stay() -> None:
    start = said("main", "a", revision=3, id="x")
    here, there = copy(start, 4), copy(start, 5)
    here.thread.record("here", "ok", [])
    there.thread.record("there", "ok", [])
    book, notes = joined(ThreadBook([here]), ThreadBook([there]))
    assert [thread.thread.messages[2].content for thread in book] == ["here", "there"]
    assert len(notes) == 1


def test_a_thread_that_a_run_has_is_not_replaced() -> None:
    own = ThreadBook()
    own.active.thread.acquire()
    book, _ = joined(own, ThreadBook([said("main", "a")]))
    assert book.active is own.active
    assert told(book) == {"main": [], "main fork 1": ["a"]}


def test_while_a_cell_is_about_to_run_threads_keep_their_places() -> None:
    own = ThreadBook()
    book, _ = joined(own, ThreadBook([said("main", "a")]), replacing=False)
    assert book.active is own.active
    assert told(book) == {"main": [], "main fork 1": ["a"]}


def test_what_was_deleted_or_renamed_here_does_not_come_back() -> None:
    kept = [said("main", "a"), said("gone", "b"), said("old", "c", id="c")]
    own = ThreadBook([copy(thread) for thread in kept])
    own.delete("gone")
    own.rename("old", "new")
    book, _ = joined(own, ThreadBook([copy(thread) for thread in kept]))
    assert told(book) == {"main": ["a"], "new": ["c"]}
    assert book.deleted.keys() == {"gone", "old"}


def test_what_is_here_outlives_a_deletion_elsewhere() -> None:
    own = ThreadBook([said("main", "a"), said("side", "b", revision=2)])
    found = ThreadBook([said("main", "a", id="x", revision=0)], deleted={"side": 7})
    book, _ = joined(own, found)
    assert book.get("side").revision > book.deleted["side"] == 7
