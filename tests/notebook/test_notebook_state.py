"""What is written into the notebook's metadata: plain, bounded, without keys, and readable again."""

from __future__ import annotations

import json
import tempfile
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import jsonschema
import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcell_nb.core.journal import journal_from
from runcell_nb.core.message_log import valid_log
from runcell_nb.core.messages import ReasoningBlock, ToolMessage, user_text
from runcell_nb.models.redact import redact
from runcell_nb.models.redaction import redacted_texts
from runcell_nb.notebook.file_history import FileHistory
from runcell_nb.notebook.kept_sandboxes import KeptSandbox, KeptShelf
from runcell_nb.notebook.notebook_state import MAX_METADATA_BYTES, state_from_metadata, state_to_metadata
from runcell_nb.notebook.turns import ThreadBook
from tests.core.log_strategies import any_json, any_text, bounded, logs
from tests.notebook.kept_samples import NO_FILES, main_with, noise, sandbox_with, say, told_book

SCHEMA = json.loads((package_files("runcell_nb.notebook") / "metadata.schema.json").read_text("utf-8"))
KEY = "sk-live-0123456789abcdefghij"
PASSWORD = "correct/horse+battery"


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("DB_PASSWORD", PASSWORD)


def kept(book: ThreadBook, files: FileHistory | None = None, *more: Any, **options: Any) -> dict[str, Any]:
    """Return what is written, checked against the schema and as a notebook's file has it."""
    state = state_to_metadata(book, files or FileHistory(), *more, **options)
    jsonschema.Draft202012Validator(SCHEMA).validate(state)
    text = json.dumps(state, allow_nan=False, sort_keys=True, ensure_ascii=False)
    return json.loads(text.encode())


def size(state: Any) -> int:
    return len(json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode())


def logs_of(book: ThreadBook) -> dict[str, Any]:
    return {thread.name: thread.thread.log for thread in book}


def everything(book: ThreadBook) -> list[Any]:
    return sorted((thread.to_dict() for thread in book), key=lambda state: state["name"])


def test_the_schema_is_one_and_says_what_everything_is() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    described = [SCHEMA, *SCHEMA["$defs"].values()]
    for part in [*described, *(item for one in described for item in one.get("properties", {}).values())]:
        assert "$ref" in part or part.get("description") or "const" in part


def test_an_empty_notebook_is_kept_and_comes_back() -> None:
    state = kept(ThreadBook())
    loaded = state_from_metadata(state)
    assert loaded.book.names == ["main"]
    assert loaded.problems == []
    assert state["files"] == NO_FILES and state["sandboxes"] == {"main": {"type": "virtual", "files": None}}


async def test_threads_and_files_come_back_as_they_were() -> None:
    files = FileHistory()
    sandbox = await sandbox_with(a__txt=b"one", b__bin=bytes(range(256)))
    before = await files.capture(sandbox)
    await sandbox.write_file("a.txt", b"two")
    after = await files.capture(sandbox)
    book = told_book(2)
    book.active.thread.record(
        "And?", "42", book.active.thread.log or (), data={"x": [1, None]}, has_data=True
    )
    say(book, book.active, "c", files=(before, after))
    book.fork("aside")
    book.switch("aside")
    say(book, book.active, "d", "Elsewhere")

    loaded = state_from_metadata(kept(book, files, main_with(after)))

    assert everything(loaded.book) == everything(book)
    assert logs_of(loaded.book) == logs_of(book)
    assert loaded.book.active.name == "aside"
    assert loaded.problems == []
    assert loaded.shelf == main_with(after)
    assert await loaded.files.restore(sandbox, before) is None
    assert await sandbox.read_file("a.txt") == b"one"
    assert await sandbox.read_file("b.bin") == bytes(range(256))


async def test_states_of_files_that_no_turn_names_are_not_kept() -> None:
    files = FileHistory()
    sandbox = await sandbox_with(a__txt=b"one")
    await files.capture(sandbox)
    await sandbox.write_file("a.txt", b"two")
    now = await files.capture(sandbox)
    assert list(kept(told_book(1), files, main_with(now))["files"]["states"]) == [now]


@given(log=logs, prompt=any_text, data=any_json)
@bounded(60)
def test_whatever_was_said_comes_back(log: list[Any], prompt: str, data: Any) -> None:
    book = ThreadBook()
    before = book.active.mark()
    messages = valid_log([user_text("x"), *log]).messages
    book.active.thread.record(prompt, prompt, messages, data=data, has_data=True)
    run = {"cell": "c1", "prompt": prompt, "model": prompt, "tokens": 1, "cost": prompt}
    book.add_turn(book.active, before, files_before=None, files_after=None, **run)

    loaded = state_from_metadata(kept(book))

    assert loaded.problems == []
    assert everything(loaded.book) == everything(book)
    assert loaded.book.active.thread.log == messages


@given(text=st.text(st.characters(codec=None, exclude_categories=()), max_size=20))
@bounded(20)
def test_nbformat_writes_it(text: str) -> None:
    book = ThreadBook()
    say(book, book.active, text + "\ud800", text + "\udfff", "\ud83d" + text, output=text + "\ud800.")
    state = kept(book, before={"version": 1, "recordings": {text: [text + "\ud800", float("nan")]}})
    notebook = nbformat.v4.new_notebook(metadata={"runcell": state})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.ipynb")
        nbformat.write(notebook, path)
        read = nbformat.read(path, as_version=4)
    assert read.metadata.runcell == state
    assert state_from_metadata(read.metadata.runcell).problems == []


def test_the_same_input_gives_the_same_value() -> None:
    book = told_book(3)
    assert kept(book) == kept(book)


async def test_every_sandbox_is_kept_with_its_files_and_without_values() -> None:
    files = FileHistory()
    box, main = await sandbox_with(a__txt=b"of box"), await sandbox_with(a__txt=b"of main")
    shelf = KeptShelf(
        {
            "main": KeptSandbox(files=await files.capture(main)),
            "box": KeptSandbox(files=await files.capture(box), variables=("TOKEN", "MODE")),
            "empty": KeptSandbox(made_by="cell x"),
        },
        active="box",
    )
    state = kept(told_book(1), files, shelf)
    loaded = state_from_metadata(state)
    assert loaded.problems == []
    assert loaded.shelf == shelf
    assert state["sandboxes"]["box"]["variables"] == ["TOKEN", "MODE"]
    assert set(state["files"]["states"]) == set(shelf.states)


async def test_files_of_a_disk_and_of_sandboxes_that_are_gone_are_not_kept() -> None:
    files, book = FileHistory(), ThreadBook()
    sandbox = await sandbox_with()
    for name in ("main", "disk", "gone"):
        await sandbox.write_file("a.txt", name.encode())
        now = await files.capture(sandbox)
        say(book, book.active, name, files=(None, now), sandbox=name)
    shelf = KeptShelf({"main": KeptSandbox(), "disk": KeptSandbox("host")}, active="disk")
    state = kept(book, files, shelf)
    assert list(state["files"]["states"]) == [book.active.turns[0].files_after]
    assert state["sandboxes"]["disk"] == {"type": "host", "files": None}
    assert [turn["sandbox"] for turn in state["threads"]["main"]["turns"]] == ["main", "disk", "gone"]


def test_threads_that_were_deleted_are_kept_as_that_bounded() -> None:
    book = told_book(1)
    for number in range(150):
        book.new(f"t{number}")
        book.delete(f"t{number}")
    state = kept(book)
    assert len(state["deleted"]) == 100 and "t149" in state["deleted"]
    assert state_from_metadata(state).book.deleted == state["deleted"]


@pytest.mark.usefixtures("secrets")
def test_no_key_is_in_the_names_of_sandboxes_and_deleted_threads() -> None:
    book = told_book(1)
    book.new(KEY)
    book.delete(KEY)
    shelf = KeptShelf({"main": KeptSandbox(variables=(KEY,)), KEY: KeptSandbox()}, active=KEY)
    assert KEY not in json.dumps(kept(book, None, shelf))


def test_entries_of_other_writers_and_the_revision_are_kept() -> None:
    before = {"version": 1, "revision": 77, "threads": {"gone": 1}, "recordings": {"x": [1]}, "z": None}
    state = kept(told_book(1), before=before)
    assert (state["recordings"], state["z"], state["revision"]) == ({"x": [1]}, None, 77)
    assert list(state["threads"]) == ["main"]


def test_what_a_newer_version_wrote_is_not_touched() -> None:
    newer = {"version": 2, "threads": "another form"}
    assert state_to_metadata(told_book(1), FileHistory(), before=newer) == newer


@pytest.mark.usefixtures("secrets")
async def test_no_key_is_written_anywhere() -> None:
    files = FileHistory()
    sandbox = await sandbox_with(plain__txt=b"text", env__txt=f"KEY={KEY}".encode(), **{KEY: b"in a name"})
    with_name = await files.capture(sandbox)
    await sandbox.remove(KEY)
    after = await files.capture(sandbox)
    book = ThreadBook()
    text = f"say {KEY} and {PASSWORD} twice"
    say(book, book.active, "c", text, text, output=text, argument=text, files=(with_name, after))
    book.active.thread.record(text, "42", book.active.thread.log or (), data={KEY: [text]}, has_data=True)
    log = book.active.thread.log

    state = kept(book, files, main_with(after), before={"version": 1, "recordings": {"a": text}})
    loaded = state_from_metadata(state)

    inside = journal_from(state["threads"]["main"]["continuation"])
    written = json.dumps(state) + repr(inside)
    assert KEY not in written and PASSWORD not in written
    assert "say [key] and [key] twice" in written
    assert book.active.thread.log == log and KEY in repr(log)
    assert len(inside) == len(log)
    assert '{"command":"say [key] and [key] twice"}' in repr(inside)
    assert list(state["files"]["states"]) == [after]
    assert "env.txt" in " ".join(loaded.problems)
    other = await sandbox_with()
    assert "env.txt" in str(await loaded.files.restore(other, after))
    assert await other.read_file("plain.txt") == b"text"


@pytest.mark.usefixtures("secrets")
def test_a_signed_thought_with_a_key_goes_without_its_signature() -> None:
    book = told_book(1)
    log = list(book.active.thread.log or ())
    signed = {"provider": "anthropic", "block": {"signature": "abc"}}
    thoughts = (
        ReasoningBlock(text="fine", provider=signed),
        ReasoningBlock(text=f"use {KEY}", provider=signed),
    )
    log[-1] = log[-1].model_copy(update={"content": (*thoughts, *log[-1].content)})
    book.active.thread.record("a", "b", log)
    state = kept(book)
    inside = journal_from(state["threads"]["main"]["continuation"])
    assert inside[-1].content[:2] == (thoughts[0], ReasoningBlock(text="use [key]"))


@pytest.mark.usefixtures("secrets")
def test_arguments_that_are_no_json_lose_their_keys_too() -> None:
    book = ThreadBook()
    deep = f'{"[" * 700}"{KEY}"{"]" * 700}'
    for number, arguments in enumerate(('{"a":' + deep + "}", deep, f'{{"a": "{KEY}')):
        book = told_book(1)
        log = list(book.active.thread.log or ())
        call = log[1].content[0].model_copy(update={"arguments": arguments})
        log[1] = log[1].model_copy(update={"content": (call,)})
        book.active.thread.record(str(number), "b", log)
        inside = journal_from(kept(book)["threads"]["main"]["continuation"])
        assert KEY not in repr(inside) and len(inside) == len(log)


def test_twenty_runs_of_one_cell_take_what_one_takes() -> None:
    once, often = told_book(1), told_book(1)
    for _ in range(19):
        say(often, often.active, "cell-0", "Prompt 0", "Answer 0")
    assert abs(size(kept(often)) - size(kept(once))) < 100


def test_a_notebook_grows_by_its_content_only() -> None:
    small, large = (size(kept(told_book(turns, output="line\n" * 200))) for turns in (10, 100))
    assert large < small * 11
    assert large < 100_000


def test_too_much_output_becomes_a_stub_and_the_newest_stays() -> None:
    book = ThreadBook()
    for number in range(30):
        say(book, book.active, f"c{number}", output=noise(200_000, number))
    state = kept(book)
    log = journal_from(state["threads"]["main"]["continuation"])
    results = [message.content[0].content[0].text for message in log if isinstance(message, ToolMessage)]
    assert size(state) <= MAX_METADATA_BYTES
    assert "characters of this result were left out" in results[0] and len(results[0]) < 500
    assert results[-1] == noise(200_000, 29)
    assert len(log) == len(book.active.thread.log or ())
    loaded = state_from_metadata(state)
    assert [turn.log_before for turn in loaded.book.active.turns] == list(range(0, 120, 4))
    assert any("were shortened" in problem for problem in loaded.problems)


async def test_the_oldest_states_of_files_give_way() -> None:
    files, book = FileHistory(), ThreadBook()
    sandbox = await sandbox_with()
    states = []
    for number in range(8):
        await sandbox.write_file("a.txt", noise(200_000, number).encode())
        states.append(await files.capture(sandbox))
        say(book, book.active, f"c{number}", files=(states[-2] if number else None, states[-1]))
    state = kept(book, files, main_with(states[-1]))
    assert size(state) <= MAX_METADATA_BYTES
    assert sorted(state["files"]["states"]) == sorted(states[-3:])
    assert "states of the files" in " ".join(state_from_metadata(state).problems)


async def test_a_sandbox_that_is_too_big_is_not_kept_and_that_is_said() -> None:
    files = FileHistory()
    parts = {f"part_{number}": noise(900_000, number).encode() for number in range(3)}
    sandbox = await sandbox_with(**parts)
    now = await files.capture(sandbox)
    state = kept(told_book(1), files, main_with(now))
    assert state["sandboxes"]["main"]["files"] is None
    assert any("files of sandbox 'main'" in problem for problem in state_from_metadata(state).problems)


def test_inactive_threads_lose_their_log_before_the_active_one() -> None:
    book = told_book(1)
    for name in ("a", "b"):
        thread = book.new(name)
        for number in range(150):
            say(book, thread, f"c{number}", noise(1000, number), noise(1000, -number))
    limit = size(kept(book)) - 50_000
    state = kept(book, limit_bytes=limit)
    assert size(state) <= limit
    assert "continuation" in state["threads"]["main"]
    assert "continuation" in state["threads"]["b"]
    assert "continuation" not in state["threads"]["a"]
    loaded = state_from_metadata(state)
    assert any("only the messages" in problem and "'a'" in problem for problem in loaded.problems)
    assert loaded.book.get("a").turns[5].log_before is None
    assert len(loaded.book.get("a").turns) == 150


@pytest.mark.parametrize("turns, length", [(3, 4_000_000), (1500, 2000), (40, 100_000)])
def test_whatever_was_said_it_fits(turns: int, length: int) -> None:
    book = ThreadBook()
    before = book.active.mark()
    for number in range(turns):
        book.active.thread.record(
            noise(length, number), noise(length, -number), (), data="x" * length, has_data=True
        )
        turn = {"cell": f"c{number}", "prompt": "p", "model": "m", "tokens": 1, "cost": "local"}
        book.add_turn(book.active, before, files_before=None, files_after=None, **turn)
        before = book.active.mark()
    state = kept(book)
    assert size(state) <= MAX_METADATA_BYTES
    loaded = state_from_metadata(state)
    assert loaded.problems
    assert loaded.book.active.turns
    assert loaded.book.active.turns[-1].cell == f"c{turns - 1}"


def test_a_key_that_becomes_known_later_goes_from_what_was_said_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    book = ThreadBook()
    say(book, book.active, "c", "the word is opensesame", output="opensesame")
    assert "opensesame" in json.dumps(kept(book))
    monkeypatch.setenv("CAVE_PASSWORD", "opensesame")
    state = kept(book)
    assert "opensesame" not in json.dumps(state)
    assert "opensesame" not in repr(journal_from(state["threads"]["main"]["continuation"]))


@pytest.mark.usefixtures("secrets")
def test_texts_are_redacted_one_by_one_and_together_alike() -> None:
    texts = [
        "plain",
        "",
        f"a {KEY}",
        "//user:pw@host/x",
        "//",
        "@x",
        "\n\x000\x00\n",
        "bearer",
        "abcdef123456",
    ]
    changed = redacted_texts([*texts, *texts])
    assert changed == {text: redact(text) for text in texts if redact(text) != text}
    assert set(changed) == {f"a {KEY}", "//user:pw@host/x"}
    assert redacted_texts(texts) == changed


def test_many_headers_without_a_value_take_no_time() -> None:
    assert redacted_texts(f"{number} authorization:" * 20 for number in range(5000)) == {}
