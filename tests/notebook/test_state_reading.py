"""Reading a stranger's metadata: nothing raises, what is damaged is told, the rest is there."""

from __future__ import annotations

import base64
import copy
import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcell_nb.notebook.file_history import FileHistory
from runcell_nb.notebook.kept_sandboxes import MAX_SANDBOXES, KeptShelf
from runcell_nb.notebook.notebook_state import merged, state_from_metadata, state_to_metadata
from runcell_nb.notebook.state_reading import MAX_THREADS, LoadedState
from tests.core.log_strategies import any_json, any_text, bounded
from tests.notebook.kept_samples import digest, main_with, sandbox_with, say, told_book


def state(turns: int = 2) -> dict[str, Any]:
    return state_to_metadata(told_book(turns), FileHistory())


async def state_with_files() -> dict[str, Any]:
    files = FileHistory()
    now = await files.capture(await sandbox_with(a__txt=b"one", b__txt=b"two"))
    book = told_book(0)
    say(book, book.active, "c", files=(None, now))
    return state_to_metadata(book, files, main_with(now))


def check(loaded: LoadedState) -> LoadedState:
    """Whatever was read can be shown and written again."""
    assert all(0 < len(problem) <= 450 for problem in loaded.problems) and len(loaded.problems) <= 21
    written = state_to_metadata(loaded.book, loaded.files, loaded.shelf)
    json.dumps(written, allow_nan=False, ensure_ascii=False).encode()
    return loaded


KEYS = [
    "version",
    "revision",
    "activeThread",
    "threads",
    "files",
    "sandbox",
    "sandboxes",
    "activeSandbox",
    "deleted",
    "type",
    "variables",
    "notes",
    "states",
    "blobs",
    "id",
]
KEYS += ["main", "messages", "turns", "role", "content", "continuation", "engine", "journalGz", "a" * 64]
values = st.recursive(
    any_json | st.sampled_from([1, 2, "main", "runcell-nb", "user", "a" * 64, 10**400]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | any_text, inner, max_size=6)
    ),
    max_leaves=30,
)


@given(value=values)
@bounded(300)
def test_any_json_can_be_read(value: Any) -> None:
    check(state_from_metadata(value))
    if isinstance(value, dict):
        check(state_from_metadata({**value, "version": 1}))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = list(value.items()) if isinstance(value, dict) else []
    items = list(enumerate(value)) if isinstance(value, list) else items
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


@given(data=st.data())
@bounded(150)
def test_one_wrong_value_anywhere_spoils_no_more_than_its_part(data: st.DataObject) -> None:
    value: Any = copy.deepcopy(SOUND)
    path = data.draw(st.sampled_from([place for place in places(value) if place]))
    holder = value
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = data.draw(any_json)
    loaded = check(state_from_metadata(value))
    if path[0] != "version" and path[:2] != ("threads", "aside") and path != ("threads",):
        assert len(loaded.book.get("aside").turns) == 1


def _sound() -> dict[str, Any]:
    book = told_book(1)
    say(book, book.new("aside"), "x")
    return state_to_metadata(book, FileHistory())


SOUND = _sound()


@pytest.mark.parametrize("value", [None, {}])
def test_nothing_kept_is_no_problem(value: Any) -> None:
    loaded = check(state_from_metadata(value))
    assert loaded.problems == [] and loaded.book.names == ["main"]


@pytest.mark.parametrize("value", [[], "x", 7, {"version": "1"}, {"version": True}, {"version": 0}, {"a": 1}])
def test_what_has_no_version_is_not_used(value: Any) -> None:
    assert "no readable format" in check(state_from_metadata(value)).problems[0]


def test_a_newer_version_is_not_used() -> None:
    loaded = check(state_from_metadata({**state(), "version": 2}))
    assert "newer version" in loaded.problems[0] and loaded.book.names == ["main"]
    assert not loaded.book.active.turns


@pytest.mark.parametrize("name", ["", " a", "a\nb", "\ud800", "x" * 61, "x" * 10_000_000, "\u202eabc"])
def test_names_that_are_none_are_left_out(name: str) -> None:
    value = state()
    value["threads"][name] = value["threads"]["main"]
    loaded = check(state_from_metadata(value))
    assert loaded.book.names == ["main"] and len(loaded.problems) == 1


def _journal(data: bytes) -> dict[str, Any]:
    packed = base64.b64encode(data).decode()
    return {"engine": "runcell-nb", "resume": {"version": 1}, "journalGz": packed}


@pytest.mark.parametrize(
    "continuation",
    [
        _journal(gzip.compress(bytes(100 * 1024 * 1024))),
        _journal(gzip.compress(b"[" * 1_000_000)),
        _journal(gzip.compress(b"not json")),
        _journal(gzip.compress(b"[]")[:-4]),
        _journal(b""),
        {**_journal(b""), "journalGz": "%%%"},
        {**_journal(b""), "journalGz": None},
        {"engine": "runcell-nb"},
    ],
    ids=["bomb", "deep", "no json", "cut", "empty", "no base64", "null", "nothing"],
)
def test_a_continuation_that_cannot_be_read_leaves_the_messages(continuation: Any) -> None:
    value = state()
    value["threads"]["main"]["continuation"] = continuation
    loaded = check(state_from_metadata(value))
    assert len(loaded.problems) == 1 and "tool calls" in loaded.problems[0]
    assert loaded.book.active.thread.message_count == 4
    assert loaded.book.active.thread.log is None
    assert "continuation" not in loaded.book.active.to_dict()


def test_bombs_in_many_threads_are_counted_together() -> None:
    value = state()
    bomb = _journal(gzip.compress(bytes(40 * 1024 * 1024)))
    value["threads"] = {
        f"t{number}": {**value["threads"]["main"], "continuation": bomb} for number in range(50)
    }
    loaded = check(state_from_metadata(value))
    assert len(loaded.book.names) == 50 and len(loaded.problems) == 21


def test_more_threads_than_anybody_has_are_not_read() -> None:
    value = state(0)
    value["threads"] = {f"t{number}": value["threads"]["main"] for number in range(10_000)}
    loaded = check(state_from_metadata(value))
    assert len(loaded.book.names) == MAX_THREADS and "10,000 threads" in loaded.problems[0]


async def test_a_damaged_content_is_left_out_and_the_others_are_there() -> None:
    value = await state_with_files()
    value["files"]["blobs"][digest(b"one")] = base64.b64encode(b"evil").decode()
    loaded = check(state_from_metadata(value))
    sandbox = await sandbox_with()
    assert "a.txt" in str(await loaded.files.restore(sandbox, str(loaded.shelf.sandboxes["main"].files)))
    assert await sandbox.read_file("b.txt") == b"two" and await sandbox.read_file("a.txt") is None
    assert len(loaded.problems) == 1


@pytest.mark.parametrize("path", ["../../x", "/etc/passwd", "a/../../b", ".runcell/x", "C:\\x", "a\0b", ""])
async def test_a_path_that_escapes_spoils_its_state_only(path: str) -> None:
    value = await state_with_files()
    paths = {path: digest(b"one")}
    key = digest(json.dumps(paths, separators=(",", ":")).encode())
    value["files"]["states"][key] = paths
    loaded = check(state_from_metadata(value))
    assert len(loaded.problems) == 1
    assert key not in loaded.files and loaded.shelf.states[0] in loaded.files


def test_files_of_a_sandbox_that_are_not_there_are_told() -> None:
    value = {**state(), "sandboxes": {"main": {"type": "host", "files": "a" * 64}}}
    loaded = check(state_from_metadata(value))
    assert loaded.shelf == KeptShelf() and "not kept" in loaded.problems[0]


async def test_the_one_sandbox_of_former_writers_is_read() -> None:
    value = await state_with_files()
    now = value.pop("sandboxes")["main"]["files"]
    del value["activeSandbox"]
    loaded = check(state_from_metadata({**value, "sandbox": {"type": "virtual", "files": now}}))
    assert loaded.shelf == main_with(now) and loaded.problems == []
    written = state_to_metadata(loaded.book, loaded.files, loaded.shelf, {**value, "sandbox": {"files": now}})
    assert "sandbox" not in written


@pytest.mark.parametrize(
    ("name", "sandbox", "problem"),
    [
        ("disk", {"type": "host", "rootDir": "/", "isolation": "external", "files": None}, "'host'"),
        ("disk", {"type": "custom"}, "type 'custom' is not made again"),
        ("disk", {"type": ["virtual"], "files": None}, "%runcell sandbox new makes it"),
        ("disk", None, "no mapping but NoneType"),
        ("a\nb", {"type": "virtual", "files": None}, "visible characters"),
        ("x" * 61, {"type": "virtual", "files": None}, "visible characters"),
    ],
)
def test_only_a_virtual_sandbox_is_made_again(name: str, sandbox: Any, problem: str) -> None:
    value = {**state(), "activeSandbox": name}
    value["sandboxes"] = {"main": {"type": "virtual", "files": None}, name: sandbox}
    loaded = check(state_from_metadata(value))
    assert loaded.shelf == KeptShelf()
    assert problem in loaded.problems[0] and "active sandbox" in loaded.problems[1]


def test_sandboxes_are_bounded() -> None:
    many = {f"box {number}": {"type": "virtual", "files": None} for number in range(MAX_SANDBOXES + 5)}
    loaded = check(state_from_metadata({**state(), "sandboxes": many}))
    assert len(loaded.shelf.sandboxes) == MAX_SANDBOXES + 1 and "105 sandboxes" in loaded.problems[0]
    names = {
        "main": {"type": "virtual", "files": None, "variables": ["A", 1, "B" * 100, *map(str, range(99))]}
    }
    (kept,) = check(state_from_metadata({**state(), "sandboxes": names})).shelf.sandboxes.values()
    assert kept.variables[:2] == ("A", "B" * 60) and len(kept.variables) < 20


def test_deleted_threads_are_bounded_and_the_newest_stay() -> None:
    value = {**state(), "deleted": {f"t{number}": number for number in range(300)} | {"bad": "x"}}
    loaded = check(state_from_metadata(value))
    assert loaded.book.deleted == {f"t{number}": number for number in range(200, 300)}
    assert loaded.book.new("t299").revision > 299


@pytest.mark.parametrize("revision", [2**40 + 1, 2**52, 10**300])
def test_a_revision_that_nothing_could_outdo_is_told_and_own_changes_win(revision: int) -> None:
    hostile = state()
    hostile["threads"]["main"]["revision"] = revision
    loaded = check(state_from_metadata(hostile))
    assert "counts as 0" in loaded.problems[0] and len(loaded.book.active.turns) == 2
    say(loaded.book, loaded.book.active, "mine", "My own words")
    own = state_to_metadata(loaded.book, loaded.files)
    for both in (merged(hostile, own), merged(own, hostile)):
        turns = state_from_metadata(both).book.active.turns
        assert [turn.cell for turn in turns][-1] == "mine"


def test_an_active_thread_that_is_not_there_is_told() -> None:
    loaded = check(state_from_metadata({**state(), "activeThread": "<img src=x>" * 1000}))
    assert loaded.book.active.name == "main" and len(loaded.problems) == 1


def test_the_notes_of_the_writer_are_told() -> None:
    value = {**state(), "notes": ["Files are gone.", 7, "x" * 10_000]}
    assert state_from_metadata(value).problems[0] == "Files are gone."
    check(state_from_metadata(value))


def test_an_entry_of_another_writer_that_is_too_big_is_told() -> None:
    value = {**state(), "recordings": "x" * 9_000_000}
    assert "too big" in check(state_from_metadata(value)).problems[0]


@pytest.mark.parametrize("depth", [250, 400, 900, 5000])
def test_deep_values_anywhere_are_told(depth: int) -> None:
    deep: Any = []
    for _ in range(depth):
        deep = [deep]
    for path in [place for place in places(SOUND) if place]:
        value: Any = {**copy.deepcopy(SOUND), "x": 1}
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = deep
        loaded = state_from_metadata(value)
        state_to_metadata(loaded.book, loaded.files, before=value if "version" not in path else None)
        merged(SOUND, merged(value, value))
