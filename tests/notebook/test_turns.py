from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcell_nb import InvalidOptionError
from runcell_nb.core.message_log import MessageLog, valid_log
from runcell_nb.core.messages import TextBlock
from runcell_nb.notebook.notebook_thread import MAX_PROMPT, stored_prompt
from runcell_nb.notebook.turns import (
    MAX_FORKS,
    NotebookThread,
    ThreadBook,
    check_thread_name,
    notebook_thread_from_dict,
)
from tests.core.log_strategies import any_json, any_text, bounded


def run(book, cell, prompt=None, thread=None, *, model="demo", keep_log=True):
    """Do what a cell's run does to the threads; return what was taken back and which forks are gone."""
    thread = thread or book.active
    prompt = prompt or f"prompt of {cell}"
    rewind = book.run_again(thread, cell)
    before = thread.mark()
    log = valid_log(thread.thread.log or ()) if keep_log else MessageLog()
    log.add_user([TextBlock(text=prompt)])
    log.add_response([TextBlock(text=f"answer to {prompt}")], [])
    thread.thread.record(prompt, f"answer to {prompt}", log.messages)
    gone = book.add_turn(
        thread,
        before,
        cell=cell,
        prompt=prompt,
        model=model,
        files_before=None,
        files_after=None,
        tokens=10,
        cost="$0.0100",
    )
    return rewind, gone


def run_all(book, cells="abc"):
    for cell in cells:
        run(book, cell)


def told(thread):
    return [(turn.cell, turn.prompt) for turn in thread.turns]


def said(thread):
    return [message.content for message in thread.thread.messages]


def stripped(state):
    """Return a thread's state without what differs from run to run."""
    messages = [{**message, "createdAt": ""} for message in state["messages"]]
    return {**state, "id": "", "revision": 0, "messages": messages}


def reopened(book):
    """Return the book that a new kernel has, after the notebook's JSON was written with sorted keys."""
    text = json.dumps({thread.name: thread.to_dict() for thread in book}, sort_keys=True)
    return ThreadBook(map(notebook_thread_from_dict, json.loads(text).values()), book.active.name)


def test_cells_append_in_the_order_they_are_first_run():
    book = ThreadBook()
    run_all(book)
    assert [turn.cell for turn in book.active.turns] == ["a", "b", "c"]
    assert [(turn.messages_before, turn.log_before) for turn in book.active.turns] == [(0, 0), (2, 2), (4, 4)]
    assert [book.active.turn_of(cell) for cell in "abcd"] == [0, 1, 2, None]


def test_the_last_cell_run_again_replaces_its_turn_and_forks_nothing():
    book = ThreadBook()
    run_all(book)
    rewind, _ = run(book, "c", "another")
    assert rewind.fork is None
    assert book.names == ["main"]
    assert said(book.active)[-2:] == ["another", "answer to another"]
    assert len(book.active.turns) == 3


def test_later_turns_stay_as_a_named_fork_that_is_the_thread_as_it_was():
    book = ThreadBook()
    run_all(book)
    was = book.active.to_dict()
    rewind, _ = run(book, "a", "another")
    assert rewind.fork == "main fork 1"
    fork = book.get("main fork 1")
    assert stripped(fork.to_dict()) == stripped({**was, "name": "main fork 1", "rewoundFrom": "main"})
    assert said(book.active) == ["another", "answer to another"]
    run(book, "d", thread=fork)
    assert len(book.active.turns) == 1


@pytest.mark.parametrize("restart", [reopened, lambda book: book], ids=["restarted", "same kernel"])
def test_run_all_again_and_again_leaves_the_same_thread_and_no_fork(restart):
    book = ThreadBook()
    run_all(book)
    first = stripped(book.active.to_dict())
    for _ in range(3):
        book = restart(book)
        rewind, gone = run(book, "a")
        assert (rewind.fork, gone) == ("main fork 1", [])
        assert run(book, "b") == (None, [])
        assert run(book, "c") == (None, ["main fork 1"])
        assert stripped(book.active.to_dict()) == first
        assert book.names == ["main"]


def test_a_fork_stays_as_long_as_something_of_it_was_not_asked_again():
    book = ThreadBook()
    run_all(book)
    run(book, "a", "changed")
    run(book, "b")
    run(book, "c")
    assert book.names == ["main", "main fork 1"]
    run(book, "a", "changed", model="other")
    run(book, "b")
    run(book, "c")
    assert book.names == ["main", "main fork 1", "main fork 2"]


def test_forks_of_cells_run_again_are_bounded_and_the_oldest_go():
    book = ThreadBook()
    mine = book.fork("mine")
    for number in range(MAX_FORKS + 15):
        run(book, "a", f"try {number}")
        run(book, "b", f"try {number}")
        book = reopened(book)
    forks = [thread for thread in book if thread.rewound_from]
    assert len(forks) == MAX_FORKS
    assert {fork.turns[0].prompt for fork in forks} == {f"try {number}" for number in range(14, 24)}
    assert book.get("mine").to_dict() == mine.to_dict()


@pytest.mark.parametrize(
    "take_up",
    [
        lambda book, name: book.switch(name) and book.switch("main"),
        lambda book, name: book.rename(name, "mine"),
        lambda book, name: run(book, "d", thread=book.get(name)),
    ],
    ids=["switched to", "renamed", "gone on with"],
)
def test_a_fork_that_somebody_took_up_is_theirs(take_up):
    book = ThreadBook()
    run_all(book)
    name = run(book, "a")[0].fork
    take_up(book, name)
    run_all(book, "bc")
    assert len(book.names) == 2


def test_what_was_said_outside_of_cells_is_never_dropped_as_told_again():
    book = ThreadBook()
    book.active.thread.record("from code", "yes", ())
    run_all(book, "ab")
    rewind, _ = run(book, "a")
    assert said(book.active)[:2] == ["from code", "yes"]
    assert run(book, "b")[1] == [rewind.fork]
    book.active.thread.record("more code", "yes", ())
    assert run(book, "b")[0].fork == "main fork 1"
    assert said(book.get("main fork 1"))[-2:] == ["more code", "yes"]
    book.start_over(book.active, "a")
    run_all(book, "ab")
    assert book.names == ["main", "main fork 1", "main fork 2"]


def test_a_run_that_fails_leaves_everything_as_before():
    book = ThreadBook()
    run_all(book)
    was = stripped(book.active.to_dict())
    for cell in "abc":
        book.undo(book.run_again(book.active, cell))
        book.undo(book.start_over(book.active, cell))
        assert stripped(book.active.to_dict()) == was
        assert book.names == ["main"]


def test_a_rewind_is_undone_also_when_its_fork_was_taken_up():
    book = ThreadBook()
    run_all(book)
    rewind = book.run_again(book.active, "a")
    book.switch(rewind.fork)
    book.undo(rewind)
    run(book, "d", thread=book.get("main"))
    assert (len(book.get("main").turns), len(book.active.turns)) == (4, 3)
    assert said(book.active) == said(book.get("main"))[:6]


def test_starting_over_keeps_what_is_not_repeated():
    book = ThreadBook()
    assert book.start_over(book.active, "a") is None
    run(book, "a")
    assert book.start_over(book.active, "a").fork is None
    run_all(book)
    assert book.start_over(book.active, "a").fork == "main fork 1"
    assert (said(book.active), book.active.turns, len(book.get("main fork 1").turns)) == ([], [], 3)


def test_a_compacted_log_is_not_cut_where_it_has_changed():
    book = ThreadBook()
    run_all(book)
    run(book, "d", keep_log=False)
    assert [turn.log_before for turn in book.active.turns] == [0, None, None, None]
    book.active.rewind(2)
    assert (book.active.thread.log, book.active.thread.message_count) == (None, 4)
    book.active.rewind(1)
    assert said(book.active) == ["prompt of a", "answer to prompt of a"]


def test_a_log_that_changed_in_its_middle_is_still_cut_before_that():
    book = ThreadBook()
    run_all(book)
    thread, log = book.active.thread, book.active.thread.log
    thread.record("shorter", "log", (*log[:3], log[5]))
    assert [turn.log_before for turn in book.active.turns] == [0, 2, None]
    short = book.fork(at=1)
    assert (short.thread.log, said(short)) == (log[:2], said(book.active)[:2])
    book.active.rewind(2)
    assert book.active.thread.log is None
    assert [turn.log_before for turn in book.active.turns] == [0, None]
    book.active.rewind(1)
    assert said(book.active) == ["prompt of a", "answer to prompt of a"]


def test_a_thread_without_a_log_has_none_to_cut():
    book = ThreadBook()
    run_all(book, "ab")
    state = book.active.to_dict()
    del state["continuation"]
    book = ThreadBook([notebook_thread_from_dict(state)])
    assert [turn.log_before for turn in book.active.turns] == [0, None]
    run(book, "c")
    assert [turn.log_before for turn in book.active.turns] == [0, None, None]


def test_every_change_is_a_new_revision():
    book = ThreadBook()
    seen = [book.active.revision]
    for change in (
        lambda: run_all(book),
        lambda: book.active.rewind(2),
        lambda: book.rename("main", "x"),
        lambda: book.start_over(book.active, "z"),
    ):
        change()
        seen.append(book.active.revision)
    assert seen == sorted(set(seen))
    assert seen[1] == seen[0] + 3
    assert seen[2] == seen[1] + 1


def test_a_new_thread_outranks_every_older_copy_of_its_name():
    book = ThreadBook()
    run_all(book)
    old = book.fork("draft")
    run(book, "d", thread=old)
    book.delete("draft")
    assert book.new("draft").revision > old.revision


def test_threads_are_made_switched_forked_renamed_and_deleted():
    book = ThreadBook()
    run_all(book)
    assert book.new("plan").turns == []
    assert book.active.name == "main"
    assert book.switch("plan") is book.active
    fork = book.fork(at=1, source="main")
    assert (fork.name, said(fork)) == ("main fork 1", ["prompt of a", "answer to prompt of a"])
    assert book.fork(source="main fork 1").name == "main fork 2"
    assert len(book.fork("whole", at=3, source="main").turns) == 3
    assert book.rename("plan", "plan B") is book.active
    book.delete("main fork 1")
    assert book.names == ["main", "plan B", "main fork 2", "whole"]


def test_the_forks_of_a_renamed_thread_are_still_dropped_when_told_again():
    book = ThreadBook()
    run_all(book)
    run(book, "a")
    book.rename("main", "report")
    run_all(book, "bc")
    assert book.names == ["report"]


def test_a_long_name_leaves_room_for_the_number_of_a_fork():
    book = ThreadBook([NotebookThread("x" * 60)])
    names = [book.fork().name for _ in range(11)]
    assert {len(name) for name in names} == {60}
    assert names[10] == "x" * 52 + " fork 11"


def test_the_list_of_threads_tells_turns_tokens_and_costs():
    book = ThreadBook()
    run_all(book)
    book.new("empty")
    main, empty = book.rows()
    assert (main.name, main.active, main.turns, main.tokens, main.cost) == ("main", True, 3, 30, "$0.0300")
    assert (empty.active, empty.turns, empty.cost, empty.rewound_from) == (False, 0, "$0", None)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda book: book.switch("mian"), "no thread 'mian'; did you mean 'main'?"),
        (lambda book: book.switch("zzz"), "it has 'main', 'side'."),
        (lambda book: book.delete("mian"), "did you mean 'main'?"),
        (lambda book: book.delete("main"), "'main' is the active one; switch to another first"),
        (lambda book: book.rename("zzz", "b"), "no thread 'zzz'"),
        (lambda book: book.rename("side", "main"), "has a thread 'main' already"),
        (lambda book: book.rename("side", " b"), "got ' b'"),
        (lambda book: book.new("side"), "has a thread 'side' already"),
        (lambda book: book.new("a\nb"), r"got 'a\nb'"),
        (lambda book: book.fork("main"), "has a thread 'main' already"),
        (lambda book: book.fork(""), "got ''"),
        (lambda book: book.fork(at=4), "has 3 turns; give a number from 0 to 3, got 4"),
        (lambda book: book.fork(source="sied"), "did you mean 'side'?"),
        (lambda book: book.active.rewind(3), "give a number from 0 to 2, got 3"),
        (lambda book: book.get("side").rewind(0), "'side' has no turns"),
        (lambda book: ThreadBook([NotebookThread("a"), NotebookThread("a")]), "has a thread 'a' already"),
        (lambda book: ThreadBook([NotebookThread("a")], "b"), "no thread 'b'"),
    ],
)
def test_a_wrong_name_or_number_is_one_sentence_and_changes_nothing(act, message):
    book = ThreadBook()
    run_all(book)
    book.new("side")
    before = [thread.to_dict() for thread in book], book.active.name
    with pytest.raises(InvalidOptionError) as caught:
        act(book)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert ([thread.to_dict() for thread in book], book.active.name) == before


@pytest.mark.parametrize("name", ["a", "x" * 60, "Käse 日本 <b>", "a b", "'"])
def test_a_name_is_any_visible_text(name):
    assert check_thread_name(name) == name


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a ", "x" * 61, "a\nb", "a\u2028b", "\ud800", "\u202ea", "a\0", None, 3, ["a"]]
)
def test_a_name_that_cannot_be_seen_or_told_apart_is_refused(name):
    with pytest.raises(InvalidOptionError, match="1 to 60 visible characters"):
        check_thread_name(name)


def test_states_are_copies_both_ways():
    book = ThreadBook()
    run_all(book)
    state = book.active.to_dict()
    kept = json.loads(json.dumps(state))
    thread = notebook_thread_from_dict(state)
    for part in (state["turns"][0], state["messages"][0]):
        part.clear()
    state["turns"].clear()
    assert thread.to_dict() == book.active.to_dict() == kept


def test_a_long_prompt_is_stored_short_and_still_told_from_another():
    long, other = "x" * 10_000, "x" * 9_999 + "y"
    book = ThreadBook()
    run(book, "a", long)
    run(book, "b")
    stored = book.active.to_dict()["turns"][0]["prompt"]
    assert len(stored) <= MAX_PROMPT
    assert "10,000 characters" in stored
    assert stored_prompt(stored) == stored
    book = reopened(book)
    run(book, "a", other)
    run(book, "b")
    assert len(book.names) == 2
    run(book, "a", long)
    run(book, "b")
    assert len(book.names) == 2


def test_a_thread_state_without_turns_is_taken():
    thread = notebook_thread_from_dict({"version": 1, "id": "t", "messages": [], "name": "old"})
    assert (thread.name, thread.revision, thread.turns) == ("old", 0, [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version 2"),
        ({"name": None}, "visible characters"),
        ({"name": "a\nb"}, "visible characters"),
        ({"revision": -1}, "'main': revision must be a whole number from 0, got -1"),
        ({"revision": True}, "got True"),
        ({"revision": 1.0}, "got 1.0"),
        ({"madeBy": 3}, "'main': madeBy must be text, got '3'"),
        ({"turns": {}}, "turns must be a list, got dict"),
        ({"turns": [None]}, "turn 1 must be a mapping, got NoneType"),
        ({"rewoundFrom": 3}, "visible characters"),
    ],
)
def test_a_damaged_state_is_refused_by_what_is_wrong(change, message):
    book = ThreadBook()
    run_all(book)
    with pytest.raises(InvalidOptionError, match=message):
        notebook_thread_from_dict({**book.active.to_dict(), **change})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cell", None),
        ("prompt", 3),
        ("model", []),
        ("cost", 0.5),
        ("filesBefore", 1),
        ("filesAfter", {}),
        ("messagesBefore", 7),
        ("messagesBefore", "0"),
        ("tokens", -1),
        ("logBefore", 1.5),
        ("sandbox", None),
        ("sandbox", ["main"]),
    ],
)
def test_a_damaged_turn_is_refused_by_its_number_and_key(key, value):
    book = ThreadBook()
    run_all(book)
    state = book.active.to_dict()
    state["turns"][1][key] = value
    with pytest.raises(InvalidOptionError, match=f"turn 2: {key} must be"):
        notebook_thread_from_dict(state)


@pytest.mark.parametrize("revision", [2**40 + 1, 2**52, 2**53 - 1, 2**60, 10**300])
def test_a_revision_that_nothing_could_outdo_counts_as_none(revision):
    book = ThreadBook()
    run_all(book)
    thread = notebook_thread_from_dict({**book.active.to_dict(), "revision": revision})
    assert (thread.revision, len(thread.turns)) == (0, 3)
    assert notebook_thread_from_dict({**book.active.to_dict(), "revision": 2**40}).revision == 2**40


def test_a_turn_that_tells_no_sandbox_ran_in_the_main_one():
    book = ThreadBook()
    run_all(book)
    state = book.active.to_dict()
    del state["turns"][0]["sandbox"]
    state["turns"][1]["sandbox"] = "box"
    turns = notebook_thread_from_dict(json.loads(json.dumps(state))).turns
    assert [turn.sandbox for turn in turns] == ["main", "box", "main"]


RUN_ALL = (
    ("a", "run", None),
    ("new", "new", "other"),
    ("b", "run", None),
    ("back", "switch", "main"),
    ("c", "run", None),
    ("fork", "fork", "alt"),
    ("d", "run", None),
    ("home", "switch", "main"),
    ("e", "run", None),
)


def run_notebook(book, cells=RUN_ALL):
    """Run the cells of a notebook, as the commands of `%runcell thread` and `%%runcell` do."""
    for cell, act, name in cells:
        if act == "run":
            run(book, cell)
        else:
            made = {"made_by": cell} if act != "switch" else {}
            book.switch(getattr(book, act)(name, **made).name)


def summary(book):
    return book.active.name, {thread.name: said(thread) for thread in book}


@pytest.mark.parametrize("restart", [reopened, lambda book: book], ids=["restarted", "same kernel"])
def test_run_all_of_a_notebook_that_makes_threads_leaves_the_same_threads(restart):
    book = ThreadBook()
    run_notebook(book)
    first = summary(book)
    assert first[1].keys() == {"main", "other", "alt"}
    for _ in range(2):
        book = restart(book)
        run_notebook(book)
        assert summary(book) == first


def test_a_fork_made_again_is_of_the_thread_as_it_is_now_and_keeps_what_only_the_former_had():
    book = ThreadBook()
    run(book, "a")
    run(book, "b", thread=book.fork("alt", made_by="x"))
    was = said(book.get("alt"))
    run(book, "a", "another")
    again = book.fork("alt", made_by="x")
    assert said(again) == ["another", "answer to another"] == said(book.get("alt"))
    kept = book.get("alt fork 1")
    assert (said(kept), kept.rewound_from, kept.made_by) == (was, "alt", None)
    run(book, "b", thread=again)
    assert "alt fork 1" in book.names, "'a' was asked otherwise"
    newest = max(thread.revision for thread in book)
    assert book.fork("alt", made_by="x").revision > newest


@pytest.mark.parametrize("taken", ["alt", "main"])
def test_only_the_same_cell_makes_a_thread_twice(taken):
    book = ThreadBook()
    run(book, "a")
    book.fork("alt", made_by="x")
    for make in (book.new, book.fork):
        for other in ("y", None):
            with pytest.raises(InvalidOptionError, match=f"has a thread '{taken}' already"):
                make(taken, made_by=other)
    nobodys = ThreadBook()
    nobodys.new("alt")
    with pytest.raises(InvalidOptionError, match="already"):
        nobodys.new("alt")


def test_a_fork_of_itself_made_again_stays_as_it_is():
    book = ThreadBook()
    run(book, "a")
    alt = book.switch(book.fork("alt", made_by="x").name)
    run(book, "b")
    assert book.fork("alt", made_by="x") is alt
    assert len(alt.turns) == 2
    assert book.names == ["main", "alt"]


def test_a_fork_takes_no_place_of_a_thread_that_a_run_has():
    book = ThreadBook()
    run(book, "a")
    alt = book.fork("alt", made_by="x")
    run(book, "b", thread=alt)
    alt.thread.acquire()
    with pytest.raises(InvalidOptionError, match="in use"):
        book.fork("alt", made_by="x")
    assert book.get("alt") is alt
    alt.thread.release()


def test_a_fork_of_an_empty_thread_keeps_what_was_there():
    book = ThreadBook()
    run(book, "b", thread=book.fork("alt", made_by="x"))
    assert said(book.fork("alt", made_by="x")) == []
    assert said(book.get("alt fork 1")) == ["prompt of b", "answer to prompt of b"]


def test_who_made_a_thread_is_stored_and_a_copy_has_no_maker():
    book = ThreadBook()
    book.new("side", made_by="cell\ud800")
    again = reopened(book)
    assert again.get("side").made_by == "cell\ufffd"
    assert again.fork(source="side").made_by is None
    assert "madeBy" not in again.get("main").to_dict()


def test_what_is_removed_or_renamed_is_remembered_with_its_revision():
    book = ThreadBook()
    run_all(book)
    assert book.deleted == {}
    side = book.new("side")
    run(book, "x", thread=side)
    at = side.revision
    book.delete("side")
    assert book.deleted == {"side": at}
    run(book, "a", "another")
    book.delete("main fork 1")
    main = book.active.revision
    book.rename("main", "first")
    assert book.deleted["main"] == main
    assert book.deleted.keys() == {"side", "main fork 1", "main"}
    for name in book.deleted:
        assert book.new(name).revision > book.deleted[name]


def test_what_is_stored_has_no_lone_surrogates():
    book = ThreadBook()
    run(book, "\ud800", "\ud800", model="\udfff")
    json.dumps(book.active.to_dict(), ensure_ascii=False).encode("utf-8")


cells = st.sampled_from("abcd")
actions = st.lists(
    st.one_of(
        st.tuples(st.just("run"), cells, st.sampled_from(["p", "q"]), st.booleans()),
        st.tuples(st.just("fail"), cells),
        st.tuples(st.just("fresh"), cells),
        st.tuples(st.just("fork"), st.integers(0, 4)),
        st.tuples(st.just("switch"), st.integers(0, 4)),
        st.tuples(st.just("make"), st.sampled_from(["new", "fork"]), st.sampled_from("xy"), cells),
        st.tuples(st.just("reopen")),
    ),
    max_size=14,
)


@given(actions)
@bounded(200)
def test_whatever_is_run_forked_and_reopened_threads_and_turns_fit_together(steps):
    book = ThreadBook()
    for kind, *values in steps:
        state = {thread.name: stripped(thread.to_dict()) for thread in book}
        if kind == "run":
            cell, prompt, keep_log = values
            before = told(book.active)
            kept = before[: book.active.turn_of(cell)]
            run(book, cell, prompt, keep_log=keep_log)
            assert told(book.active) == [*kept, (cell, prompt)]
            lost = before[len(kept) + 1 :]
            assert not lost or any(told(thread) == before for thread in book if thread is not book.active)
        elif kind == "fail":
            rewind = book.run_again(book.active, values[0])
            if rewind is not None and len(book.names) <= MAX_FORKS:
                book.undo(rewind)
                assert {thread.name: stripped(thread.to_dict()) for thread in book} == state
        elif kind == "fresh":
            book.start_over(book.active, values[0])
            assert (said(book.active), book.active.turns) == ([], [])
        elif kind == "fork":
            at = min(values[0], len(book.active.turns))
            assert told(book.fork(at=at)) == told(book.active)[:at]
        elif kind == "make":
            make_again(book, *values)
        elif kind == "switch":
            book.switch(book.names[values[0] % len(book.names)])
        else:
            book = reopened(book)
            assert {thread.name: stripped(thread.to_dict()) for thread in book} == state
        check_invariants(book)


def make_again(book, act, name, cell):
    """Do what a command that makes a thread does; nothing that was said is lost."""
    before = {thread.name: (told(thread), thread.revision) for thread in book}
    try:
        made = getattr(book, act)(name, made_by=cell)
    except InvalidOptionError:
        assert book.get(name).made_by != cell
        return
    was = before.get(name, ([], -1))[0]
    assert told(made) == (told(book.active) if act == "fork" else was)
    assert not was or any(told(thread)[: len(was)] == was for thread in book)
    assert name not in before or made.revision >= before[name][1]


def check_invariants(book):
    assert [thread.name for thread in book] == book.names
    for name, revision in book.deleted.items():
        assert name not in book.names or book.get(name).revision > revision
    for thread in book:
        assert [turn.messages_before for turn in thread.turns] == list(range(0, 2 * len(thread.turns), 2))
        asked = [prompt for _, prompt in told(thread)]
        assert said(thread)[::2] == asked
        assert len({turn.cell for turn in thread.turns}) == len(thread.turns)
        for turn in thread.turns:
            cut = thread.thread.rewound(turn.messages_before, turn.log_before)
            spoken = [message.content[0].text for message in cut.log or ()][::2]
            assert spoken == asked[: len(spoken)]
            assert len(spoken) in (0, turn.messages_before // 2)
    assert sum(thread.rewound_from is not None for thread in book) <= MAX_FORKS


@given(
    st.one_of(any_json, st.fixed_dictionaries({"name": any_text, "turns": any_json, "revision": any_json}))
)
@bounded(100)
def test_any_other_value_is_refused_or_taken_for_good(value):
    state = {"version": 1, "id": "t", "messages": [], **value} if isinstance(value, dict) else value
    try:
        thread = notebook_thread_from_dict(state)
    except InvalidOptionError as error:
        assert "\n" not in str(error)
    else:
        assert notebook_thread_from_dict(thread.to_dict()).to_dict() == thread.to_dict()


VSC = "vscode-notebook-cell:/file.ipynb#W2sZmlsZQ%3D%3D"


def _kept_and_read(prompts):
    book = ThreadBook()
    for cell, prompt in prompts.items():
        run(book, cell, prompt)
    return reopened(book).active


@pytest.mark.parametrize(
    ("cell", "prompt", "index"),
    [
        (VSC, "first", 0),  # as it was
        (VSC, "changed", None),  # another cell may have the address by now
        (VSC, "second", 1),  # a cell was put before it
        (VSC + "x", "first", 0),
    ],
)
def test_a_kept_turn_of_an_address_belongs_to_the_cell_that_asks_the_same(cell, prompt, index):
    thread = _kept_and_read({VSC: "first", VSC + "2": "second"})
    assert thread.turn_of(cell) is None
    thread.adopt(cell, prompt)
    assert thread.turn_of(cell) == index


@pytest.mark.parametrize("cell", ["0f2c-ab", "#3"])
def test_a_kept_turn_of_an_id_belongs_to_it_whatever_it_asks(cell):
    thread = _kept_and_read({cell: "first"})
    thread.adopt(cell, "changed")
    assert thread.turn_of(cell) == 0


def test_a_fork_without_a_name_made_again_by_its_cell_is_the_same_fork():
    book = ThreadBook()
    first = book.fork(made_by="cell 1")
    again = book.fork(made_by="cell 1")
    other = book.fork(made_by="cell 2")
    assert first.name == again.name != other.name
    assert sorted(book.names) == sorted({"main", first.name, other.name})
