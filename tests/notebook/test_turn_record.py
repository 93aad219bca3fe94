"""Records of turns in the outputs of cells: the whole conversation when nothing else was kept."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcell_nb.core.journal import journal_from
from runcell_nb.notebook.file_history import FileHistory
from runcell_nb.notebook.notebook_state import merged, state_from_metadata, state_to_metadata
from runcell_nb.notebook.turn_record import MAX_RECORD_BYTES, TURN_MIME, threads_from_outputs, turn_record
from runcell_nb.notebook.turns import ThreadBook
from tests.core.log_strategies import any_json, any_text, bounded
from tests.notebook.kept_samples import exchange, noise, say


class Cells:
    """A notebook's cells, whose outputs hold a record of the last turn that each has run."""

    def __init__(self) -> None:
        self.book = ThreadBook()
        self.records: dict[str, Any] = {}

    def run(self, cell: str, thread: str = "main", **more: Any) -> None:
        told = self.book.get(thread)
        say(self.book, told, cell, f"Prompt of {cell}", f"Answer to {cell}", **more)
        self.records[cell] = json.loads(json.dumps(turn_record(told), ensure_ascii=False).encode())

    @property
    def cells(self) -> list[dict[str, Any]]:
        return [cell_with(record) for record in self.records.values()]

    def told(self) -> ThreadBook:
        loaded = state_from_metadata(threads_from_outputs(self.cells))
        assert loaded.problems == []
        return loaded.book


def cell_with(record: Any) -> dict[str, Any]:
    return {"cell_type": "code", "outputs": [{"output_type": "stream"}, {"data": {TURN_MIME: record}}]}


def same(one: Any, two: Any) -> bool:
    return one.to_dict() == two.to_dict() and one.thread.log == two.thread.log


def test_a_notebook_without_metadata_gives_the_conversation_back() -> None:
    cells = Cells()
    for name in "abcd":
        cells.run(name)
    assert same(cells.told().active, cells.book.active)


def test_it_gives_back_what_the_metadata_gives_back() -> None:
    cells = Cells()
    for name in "abc":
        cells.run(name)
    state = state_to_metadata(cells.book, FileHistory())
    assert merged(state, threads_from_outputs(cells.cells))["threads"] == state["threads"]


def test_a_cell_that_ran_again_takes_the_later_turns_away() -> None:
    cells = Cells()
    for name in "abcd":
        cells.run(name)
    cells.run("b")
    assert [turn.cell for turn in cells.told().active.turns] == ["a", "b"]
    assert same(cells.told().active, cells.book.active)
    cells.run("c")
    cells.run("e")
    assert [turn.cell for turn in cells.told().active.turns] == ["a", "b", "c", "e"]
    assert same(cells.told().active, cells.book.active)


def test_copied_and_moved_cells_tell_the_same_once() -> None:
    cells = Cells()
    for name in "abc":
        cells.run(name)
    told = threads_from_outputs([*reversed(cells.cells), *cells.cells])
    assert same(state_from_metadata(told).book.active, cells.book.active)


def test_a_missing_cell_is_told() -> None:
    cells = Cells()
    for name in "abc":
        cells.run(name)
    del cells.records["b"]
    loaded = state_from_metadata(threads_from_outputs(cells.cells))
    assert loaded.problems == ["Thread 'main' had 3 turns; 1 could not be found in the notebook."]
    thread = loaded.book.active
    assert [message.content for message in thread.thread.messages][2] == "Prompt of c"
    assert thread.thread.log is None
    assert [(turn.messages_before, turn.log_before) for turn in thread.turns] == [(0, None), (2, None)]


def test_several_threads_and_a_fork_come_back() -> None:
    cells = Cells()
    cells.run("a")
    cells.run("b")
    cells.book.fork("fork", source="main")
    cells.run("c", "fork")
    cells.book.new("other")
    cells.run("d", "other")
    cells.run("e")
    told = cells.told()
    assert sorted(told.names) == ["fork", "main", "other"]
    for name in told.names:
        assert same(told.get(name), cells.book.get(name))


def test_a_thread_that_was_renamed_or_deleted_does_not_come_back() -> None:
    cells = Cells()
    cells.run("a")
    cells.book.new("gone")
    cells.run("b", "gone")
    cells.book.rename("main", "story")
    cells.book.delete("gone")
    metadata = state_to_metadata(cells.book, FileHistory())
    assert threads_from_outputs(cells.cells, metadata) == {}
    cells.book.new("later")
    cells.run("c", "later")
    assert list(threads_from_outputs(cells.cells, metadata)["threads"]) == ["later"]


def test_a_thread_that_the_metadata_has_never_seen_is_not_lost() -> None:
    cells = Cells()
    cells.run("a")
    cells.book.new("side")
    cells.run("b", "side")
    for name in "cde":
        cells.run(name)
    metadata = state_to_metadata(ThreadBook([cells.book.get("main")]), FileHistory())  # a save was lost
    both = merged(metadata, threads_from_outputs(cells.cells, metadata))
    assert [turn.cell for turn in state_from_metadata(both).book.get("side").turns] == ["b"]


def test_a_thread_that_was_deleted_stays_so_for_every_copy_but_one_that_went_on() -> None:
    cells = Cells()
    cells.book.new("gone")
    cells.run("a", "gone")
    older = state_to_metadata(cells.book, FileHistory())
    cells.book.delete("gone")
    newer = state_to_metadata(cells.book, FileHistory())
    for both in (merged(older, newer), merged(newer, older)):
        both = merged(both, threads_from_outputs(cells.cells, newer))
        assert state_from_metadata(both).book.names == ["main"]
    loaded = state_from_metadata(older).book
    say(loaded, loaded.get("gone"), "b")
    say(loaded, loaded.get("gone"), "c")
    elsewhere = state_to_metadata(loaded, FileHistory())
    assert "gone" in merged(newer, elsewhere)["threads"]


def test_who_made_a_thread_is_in_its_records() -> None:
    cells = Cells()
    cells.book.new("side", made_by="cell x")
    cells.run("a", "side")
    cells.run("b")
    told = cells.told()
    assert (told.get("side").made_by, told.get("main").made_by) == ("cell x", None)
    assert same(told.get("side"), cells.book.get("side"))
    assert told.new("side", made_by="cell x") is told.get("side")


def test_a_new_thread_of_an_old_name_wins() -> None:
    cells = Cells()
    cells.book.new("x")
    cells.run("a", "x")
    cells.run("b", "x")
    cells.book.delete("x")
    cells.book.new("x")
    cells.run("c", "x")
    for record in (cells.records["a"], cells.records["b"]):
        for message in record["messages"]:
            message["createdAt"] = "2020-01-01T00:00:00.000Z"
    assert [turn.cell for turn in cells.told().get("x").turns] == ["c"]


def test_a_compacted_log_begins_anew() -> None:
    cells = Cells()
    for name in "ab":
        cells.run(name)
    main = cells.book.active
    before = main.mark()
    main.thread.record("Prompt", "Answer", [*before.log[4:], *exchange(9, "Prompt", "Answer")])
    turn = {"cell": "c", "prompt": "Prompt", "model": "m", "tokens": 1, "cost": "local"}
    cells.book.add_turn(main, before, files_before=None, files_after=None, **turn)
    cells.records["c"] = turn_record(main)
    cells.run("d")
    assert [turn.log_before for turn in main.turns] == [0, None, None, 8]
    told = cells.told().active
    assert told.thread.log == main.thread.log
    assert [turn.log_before for turn in told.turns] == [None, None, None, 8]


def test_a_notebook_grows_by_its_turns_only() -> None:
    few, many = Cells(), Cells()
    for number in range(10):
        few.run(f"c{number}", output="line\n" * 500)
    for number in range(100):
        many.run(f"c{number}", output="line\n" * 500)
    assert len(json.dumps(many.cells)) < 11 * len(json.dumps(few.cells))


@pytest.mark.parametrize("text", ["x", "é", "\U0001f600", "\0", '"', "\ud800"])
@pytest.mark.parametrize("count", [100, 1_000_000])
def test_a_record_is_small_and_says_what_is_left_out(text: str, count: int) -> None:
    book = ThreadBook()
    say(book, book.active, "c", text * count, text * count, output=noise(count))
    book.active.thread._messages[-1] = book.active.thread.messages[-1].__class__(
        "agent", text.replace("\ud800", "?") * count, {"a": "x" * count}, "2026", True
    )
    record = turn_record(book.active)
    assert len(json.dumps(record)) < MAX_RECORD_BYTES
    loaded = state_from_metadata(threads_from_outputs([cell_with(record)]))
    [prompt, answer] = loaded.book.active.thread.messages
    assert ("left out here" in prompt.content) == (count > 100)
    assert answer.has_data == (count == 100)
    assert loaded.book.active.thread.log


def test_a_log_that_is_too_big_is_left_out() -> None:
    book = ThreadBook()
    say(book, book.active, "c", noise(200_000), "ok")
    record = turn_record(book.active)
    assert "continuation" not in record and "logStart" not in record
    told = state_from_metadata(threads_from_outputs([cell_with(record)])).book.active
    assert told.thread.log is None and told.thread.message_count == 2


def test_no_key_is_in_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-live-0123456789abcdefghij"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    book = ThreadBook()
    say(book, book.active, "c", f"use {key}", key, output=key, argument=key)
    record = turn_record(book.active)
    assert key not in json.dumps(record) + repr(journal_from(record["continuation"]))
    assert key in repr(book.active.thread.log)


fields = ["version", "name", "id", "revision", "index", "turn", "messages", "logStart", "continuation"]
damaged = st.fixed_dictionaries({}, optional=dict.fromkeys(fields, any_json))


@given(changes=st.lists(damaged, min_size=1, max_size=5), more=st.lists(any_json, max_size=3))
@bounded(100)
def test_records_of_any_kind_are_passed_over(changes: list[Any], more: list[Any]) -> None:
    cells = Cells()
    for name in "abc":
        cells.run(name)
    broken = [{**cells.records["b"], **change} for change in changes]
    value = threads_from_outputs([*cells.cells, *map(cell_with, [*broken, *more]), *more])
    assert state_from_metadata(value).book.get("main").turns


@given(cells=st.lists(any_json | st.fixed_dictionaries({"outputs": any_json | st.lists(any_json)})))
@bounded(100)
def test_cells_of_any_kind_hold_no_threads(cells: list[Any]) -> None:
    assert threads_from_outputs(cells) == {}


@given(texts=st.lists(any_text, min_size=1, max_size=4))
@bounded(50)
def test_any_text_comes_back(texts: list[str]) -> None:
    book, records = ThreadBook(), []
    for number, text in enumerate(texts):
        say(book, book.active, f"c{number}", text, text, output=text)
        records.append(json.loads(json.dumps(turn_record(book.active), ensure_ascii=False).encode()))
    loaded = state_from_metadata(threads_from_outputs(map(cell_with, records)))
    assert loaded.book.active.to_dict()["messages"] == book.active.to_dict()["messages"]


def test_bombs_are_not_unpacked() -> None:
    cells = Cells()
    cells.run("a")
    bomb = base64.b64encode(gzip.compress(bytes(100 * 1024 * 1024))).decode()
    record = cells.records["a"]
    record["continuation"] = {**record["continuation"], "journalGz": bomb}
    told = state_from_metadata(threads_from_outputs(cells.cells * 1000)).book.active
    assert told.thread.log is None and told.thread.message_count == 2
