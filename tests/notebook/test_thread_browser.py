"""The Python side of the thread browser."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from runcell_nb import InvalidOptionError, Thread
from runcell_nb.core.message_log import MessageLog, valid_log
from runcell_nb.core.messages import TextBlock
from runcell_nb.notebook import thread_static
from runcell_nb.notebook.commands import run_command
from runcell_nb.notebook.session import NotebookSession
from runcell_nb.notebook.settings import Runcell
from runcell_nb.notebook.thread_browser import ThreadBrowser
from runcell_nb.notebook.thread_listing import MAX_SHOWN_CHARS, MAX_SHOWN_TURNS
from runcell_nb.notebook.turns import NotebookThread, ThreadBook

Messages = list[dict[str, Any]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Messages:
    messages: Messages = []
    monkeypatch.setattr(
        ThreadBrowser,
        "send",
        lambda _self, content, buffers=None: messages.append(json.loads(json.dumps(content))),
    )
    return messages


def say(thread: Thread, prompt: str, answer: str, **more: Any) -> None:
    log = valid_log(thread.log or ())
    log.add_user([TextBlock(text=prompt)])
    log.add_response([TextBlock(text=answer)], [])
    thread.record(prompt, answer, log.messages, **more)


def run(book: ThreadBook, cell: str, thread: NotebookThread | None = None) -> None:
    """Do what the run of a cell does to the threads."""
    held = thread or book.active
    before = held.mark()
    say(held.thread, f"ask {cell}", f"told {cell}")
    run_of_it: Any = {
        "cell": cell,
        "prompt": f"ask {cell}",
        "model": "demo",
        "tokens": 1000,
        "cost": "$0.0100",
    }
    book.add_turn(held, before, files_before=None, files_after=None, **run_of_it)


def book_of(cells: str = "abc") -> ThreadBook:
    book = ThreadBook()
    for cell in cells:
        run(book, cell)
    return book


def ask(browser: ThreadBrowser, kind: str, **more: Any) -> None:
    browser._handle_custom_msg({"type": kind, **more}, [])


def whole(browser: ThreadBrowser, sent: Messages) -> dict[str, Any]:
    """Ask for everything, as a page does that has just been opened."""
    ask(browser, "resync")
    assert sent[-1]["type"] == "whole"
    return sent[-1]


def act(browser: ThreadBrowser, sent: Messages, kind: str, **more: Any) -> dict[str, Any]:
    """Press a button of the thread that is looked at and return the answer."""
    shown = whole(browser, sent)
    ask(browser, kind, **{"key": shown["chosen"], "version": shown["version"], **more})
    return sent[-1]


def prompts(shown: dict[str, Any]) -> list[str]:
    return [turn["prompt"] for turn in shown["turns"]]


def told(thread: NotebookThread) -> list[str]:
    return [message.content for message in thread.thread.messages]


def test_threads_and_the_turns_of_the_active_one(sent: Messages) -> None:
    shown = whole(ThreadBrowser(book_of("ab")), sent)
    assert shown["threads"] == [
        {
            "key": "main",
            "name": "main",
            "active": True,
            "count": 2,
            "figures": "2,000 tokens · $0.0200",
            "origin": "",
        }
    ]
    first, second = shown["turns"]
    assert (first["number"], first["prompt"], first["answer"]) == (1, "ask a", "told a")
    assert (first["model"], first["figures"]) == ("demo", "1,000 tokens · $0.0100")
    assert (first["keep"], first["last"], second["keep"], second["last"]) == (1, False, 2, True)


def test_data_of_a_turn_is_shown_as_json(sent: Messages) -> None:
    thread = Thread("t")
    say(thread, "ask", "told", data={"n": [1]}, has_data=True)
    say(thread, "again", "nothing", data=None, has_data=True)
    shown = whole(ThreadBrowser([thread]), sent)
    assert [json.loads(turn["data"]) for turn in shown["turns"]] == [{"n": [1]}, None]


def test_plain_threads_are_only_shown(sent: Messages) -> None:
    threads = [Thread("same"), Thread("same"), Thread("\u202eodd")]
    say(threads[1], "ask", "told")
    browser = ThreadBrowser(threads)
    shown = whole(browser, sent)
    assert [row["name"] for row in shown["threads"]] == ["same", "same", "\\u202eodd"]
    assert (shown["editable"], shown["turns"]) == (False, [])
    ask(browser, "choose", key="1")
    assert prompts(sent[-1]) == ["ask"]
    count = len(sent)
    ask(browser, "delete", key="1", version=sent[-1]["version"])
    assert len(sent) == count and threads[1].message_count == 2


@pytest.mark.parametrize("wrong", [None, 7, "main", [ThreadBook()], Thread("t")])
def test_what_is_no_thread_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidOptionError, match="ThreadBrowser takes the threads of a notebook"):
        ThreadBrowser(wrong)


def test_a_first_choice_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="no thread 'mani'; did you mean 'main'"):
        ThreadBrowser(book_of(), "mani")


def test_fork_after_a_turn(sent: Messages) -> None:
    book = book_of("abc")
    said = act(ThreadBrowser(book), sent, "fork", keep=2)
    assert said == {
        "type": "said",
        "text": "Thread 'main fork 1' is a copy of the first 2 turns of 'main'; "
        "cells still go on with 'main'.",
    }
    assert told(book.get("main fork 1")) == ["ask a", "told a", "ask b", "told b"]
    assert len(book.get("main").turns) == 3 and book.active.name == "main"
    assert sent[-2]["chosen"] == "main fork 1"


def test_rewind_keeps_everything_in_a_fork_even_a_single_last_turn(sent: Messages) -> None:
    book = book_of("ab")
    said = act(ThreadBrowser(book), sent, "rewind", keep=1)
    assert "back at 1 turn; as it was, it stays as the fork 'main fork 1'." in said["text"]
    assert "The files in the sandbox are as they are: they were not taken back." in said["text"]
    assert told(book.get("main")) == ["ask a", "told a"]
    assert told(book.get("main fork 1"))[-1] == "told b"
    for cell in "bcd":  # what the cells tell again does not take the person's fork away
        run(book, cell)
    assert "main fork 1" in book.names


def test_fork_points(sent: Messages) -> None:
    book = book_of("abc")
    run(book, "other", book.fork("side", at=2))
    book.fork("start", at=1)
    shown = whole(ThreadBrowser(book), sent)
    assert [turn["forks"] for turn in shown["turns"]] == [
        [{"key": "start", "name": "start", "more": 0}],
        [{"key": "side", "name": "side", "more": 1}],
        [],
    ]
    assert [row["origin"] for row in shown["threads"]] == [
        "begins like 'side', 'start'",
        "begins like 'main', 'start'",
        "begins like 'main', 'side'",
    ]


def test_the_fork_of_a_cell_that_ran_again_says_where_it_is_from(sent: Messages) -> None:
    book = book_of("abc")
    book.run_again(book.active, "b")
    run(book, "b")
    shown = whole(ThreadBrowser(book), sent)
    assert [row["origin"] for row in shown["threads"]][1] == "later turns of 'main'"


def test_switch_rename_and_delete(sent: Messages) -> None:
    book = book_of("a")
    book.fork("side")
    browser = ThreadBrowser(book, "side")
    assert act(browser, sent, "switch")["text"] == "Cells go on with thread 'side' from now on."
    assert book.active.name == "side"
    assert act(browser, sent, "rename", to="left")["text"] == "Thread 'side' is called 'left' now."
    assert whole(browser, sent)["chosen"] == "left"
    ask(browser, "choose", key="main")
    assert act(browser, sent, "delete")["text"] == "Thread 'main' is gone."
    assert book.names == ["left"] and whole(browser, sent)["chosen"] == "left"


@pytest.mark.parametrize(
    ("kind", "more", "sentence"),
    [
        ("delete", {}, "Thread 'main' is the active one"),
        ("rename", {"to": "side"}, "has a thread 'side' already"),
        ("rename", {"to": "<b>\n"}, "A thread's name is 1 to 60 visible characters"),
        ("rename", {}, "A thread's name is 1 to 60 visible characters"),
        ("rewind", {"keep": 3}, "give a number from 0 to 2, got 3"),
        ("rewind", {}, "give a number from 0 to 2, got None"),
        ("fork", {"keep": "1"}, "give a number from 0 to 3, got '1'"),
        ("switch", {"key": "gone"}, "no thread 'gone'"),
        ("delete", {"version": "0/0"}, "has changed since it was shown"),
    ],
)
def test_a_refusal_is_a_sentence_and_changes_nothing(
    sent: Messages, kind: str, more: dict[str, Any], sentence: str
) -> None:
    book = book_of("abc")
    book.fork("side")
    before = [thread.to_dict() for thread in book]
    answer = act(ThreadBrowser(book), sent, kind, **more)
    assert answer["type"] == "problem" and sentence in answer["text"]
    assert [thread.to_dict() for thread in book] == before


@pytest.mark.parametrize(("kind", "more"), [("rewind", {"keep": 1}), ("rename", {"to": "x"}), ("delete", {})])
def test_a_thread_that_a_run_has_is_left_alone(sent: Messages, kind: str, more: dict[str, Any]) -> None:
    book = book_of("ab")
    side = book.fork("side")
    browser = ThreadBrowser(book, "side")
    side.thread.acquire()
    answer = act(browser, sent, kind, **more)
    assert answer["text"] == "Thread 'side' is in use by a run; wait for its end, or stop it."
    assert book.names == ["main", "side"]
    side.thread.release()
    assert act(browser, sent, kind, **more)["type"] == "said"
    side.thread.acquire()  # the browser has let go of it


def test_only_news_is_told(sent: Messages) -> None:
    book = book_of("a")
    browser = ThreadBrowser(book)
    whole(browser, sent)
    count = len(sent)
    browser.refresh()
    ask(browser, "refresh")
    assert len(sent) == count
    run(book, "b")
    ask(browser, "refresh")
    assert prompts(sent[-1]) == ["ask a", "ask b"]
    say(book.active.thread, "by hand", "told")  # a run from Python, which is no cell's turn
    browser.refresh()
    assert prompts(sent[-1])[-1] == "by hand"
    assert [message["seq"] for message in sent] == list(range(1, len(sent) + 1))


def test_runs_from_python_stay_with_the_turn_before_them(sent: Messages) -> None:
    book = ThreadBook()
    say(book.active.thread, "first of all", "told")
    run(book, "a")
    say(book.active.thread, "by hand", "told")
    run(book, "b")
    browser = ThreadBrowser(book)
    assert [turn["keep"] for turn in whole(browser, sent)["turns"]] == [0, None, 1, 2]
    act(browser, sent, "rewind", keep=1)
    assert told(book.active)[::2] == ["first of all", "ask a", "by hand"]


def test_what_crosses_is_bounded_and_says_so(sent: Messages) -> None:
    thread = Thread("t")
    log = MessageLog().messages
    for number in range(MAX_SHOWN_TURNS + 5):
        thread.record(f"ask {number}", "x" * (MAX_SHOWN_CHARS + 7) if number == 0 else "told", log)
    shown = whole(ThreadBrowser([thread]), sent)
    assert len(shown["turns"]) == MAX_SHOWN_TURNS
    assert shown["notes"] == ["The first 200 turns; 5 later ones are not shown."]
    assert shown["turns"][0]["answer"].endswith("x\n\n… 7 more characters not shown")
    assert not shown["turns"][-1]["last"]


HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[31m"


def test_the_static_copy_is_inert_bounded_and_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "key-that-nobody-may-read")
    monkeypatch.setattr(thread_static, "MAX_STATIC_CHARS", 130)
    book = ThreadBook([NotebookThread("<script>main</script>")])
    say(book.active.thread, HOSTILE, HOSTILE + " key-that-nobody-may-read")
    for _ in range(20):
        say(book.active.thread, "again", "told")
    browser = ThreadBrowser(book)
    bundle = browser.static_bundle()
    assert "<img" not in bundle["text/html"] and "<script" not in bundle["text/html"]
    assert "&lt;img src=x" in bundle["text/html"] and "&lt;script&gt;main" in bundle["text/html"]
    for text in bundle.values():
        assert "key-that-nobody-may-read" not in text
        assert "\u202e" not in text and "\x1b" not in text
        assert "later turns left out of this copy" in text
    assert f'data-runcell-place="{browser.place}"' in bundle["text/html"]


def test_a_display_is_the_static_copy_alone_or_with_the_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = ThreadBrowser(book_of("a"))
    data, _ = browser._repr_mimebundle_() or ({}, {})
    assert set(data) == {"text/html", "text/plain"}
    assert "turn 1 · demo · 1,000 tokens · $0.0100" in data["text/plain"]
    monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    data, _ = browser._repr_mimebundle_() or ({}, {})
    assert "application/vnd.jupyter.widget-view+json" in data and "told a" in data["text/html"]


async def test_messages_on_another_thread_are_taken_home(sent: Messages) -> None:
    browser = ThreadBrowser(book_of("a"))
    await asyncio.to_thread(ask, browser, "resync")
    async with asyncio.timeout(5):
        while not sent:
            await asyncio.sleep(0.01)
    assert prompts(sent[-1]) == ["ask a"]


@pytest.fixture
async def session() -> AsyncIterator[NotebookSession]:
    session = NotebookSession(SimpleNamespace(user_ns={}), Runcell())
    run(session.book, "a")
    yield session
    await session.close()


async def test_the_command_opens_it_in_a_kernel_and_prints_elsewhere(
    session: NotebookSession, sent: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.book.fork("side")
    assert "agent told a" in run_command(session, "thread show")
    monkeypatch.setattr(NotebookSession, "in_kernel", True)
    browser = run_command(session, "thread show side")
    assert isinstance(browser, ThreadBrowser)
    assert whole(browser, sent)["chosen"] == "side"
    session.book = book_of("xyz")  # as loading what the notebook has kept does
    assert prompts(whole(browser, sent)) == ["ask x", "ask y", "ask z"]
    assert act(browser, sent, "fork")["type"] == "said"
    assert session.book.names == ["main", "main fork 1"]
    with pytest.raises(InvalidOptionError, match="no thread 'gone'"):
        run_command(session, "thread show gone")
