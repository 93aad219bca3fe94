"""Sessions kept in a sandbox: they come back whole, and nothing put in their place does harm."""

from __future__ import annotations

import asyncio
import json
import zlib
from base64 import b64encode

import pytest

from runcell_nb import InvalidOptionError
from runcell_nb.core import session_state
from runcell_nb.core.messages import (
    AssistantMessage,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    user_text,
)
from runcell_nb.core.sandbox_options import create_sandbox
from runcell_nb.core.session_state import MAX_SESSIONS, SESSION_FOLDER, load_session, save_session

LOG = (
    user_text("go ü \u2028"),
    AssistantMessage(content=(ToolCallBlock(id="a", name="ls", arguments="{}"),)),
    ToolMessage(content=(ToolResultBlock(call_id="a", name="ls", content=(TextBlock(text="x"),)),)),
    AssistantMessage(content=(TextBlock(text="done"),)),
)


@pytest.fixture
async def sandbox():
    async with create_sandbox() as made:
        yield made


async def only_file(sandbox):
    (name,) = await sandbox.list_directory(SESSION_FOLDER)
    return f"{SESSION_FOLDER}/{name}"


async def test_a_session_comes_back_and_another_id_is_a_fresh_one(sandbox):
    await save_session(sandbox, "s", LOG)
    assert await load_session(sandbox, "s") == LOG
    assert await load_session(sandbox, "S") is None


async def test_saving_again_replaces_what_was_kept(sandbox):
    for log in (LOG, LOG[:1]):
        await save_session(sandbox, "s", log)
    assert await load_session(sandbox, "s") == LOG[:1]
    await only_file(sandbox)


IDS = [
    "a/b",
    "a_b",
    "../../etc",
    ".",
    "a\0b",
    "\n",
    " ",
    "x" * 10_000,
    "ü" * 10_000,
    "\ud83d\ude00",
    "\U0001f600",
    "\ud800",
    "é",
    "e\u0301",
    '{"a": 1}',
]


async def test_any_text_is_an_id_and_no_two_share_a_session(sandbox):
    for session_id in IDS:
        await save_session(sandbox, session_id, (user_text(ascii(session_id)),))
    for session_id in IDS:
        assert await load_session(sandbox, session_id) == (user_text(ascii(session_id)),)
    assert await sandbox.list_files() == []


async def test_a_session_of_one_id_under_the_name_of_another_is_not_taken(sandbox):
    await save_session(sandbox, "mine", LOG)
    mine = await only_file(sandbox)
    data = await sandbox.read_file(mine)
    await save_session(sandbox, "yours", LOG[:1])
    (yours,) = {f"{SESSION_FOLDER}/{name}" for name in await sandbox.list_directory(SESSION_FOLDER)} - {mine}
    await sandbox.write_file(yours, data)
    assert await load_session(sandbox, "yours") is None
    assert await load_session(sandbox, "mine") == LOG


def packed(text):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b64encode(packer.compress(text) + packer.flush())


DAMAGES = {
    "empty": lambda head, journal: b"",
    "no journal": lambda head, journal: head,
    "cut": lambda head, journal: head + b"\n" + journal[: len(journal) // 2],
    "only the journal": lambda head, journal: journal,
    "not ASCII": lambda head, journal: head + b"\n\xff\xfe" + journal,
    "no base64": lambda head, journal: head + b"\n!!!",
    "no gzip": lambda head, journal: head + b"\n" + b64encode(b"[]"),
    "no JSON": lambda head, journal: head + b"\n" + packed(b"["),
    "deep JSON": lambda head, journal: head + b"\n" + packed(b"[" * 1_000_000),
    "no messages": lambda head, journal: head + b"\n" + packed(b'[{"role": "king"}]'),
    "a bomb": lambda head, journal: head + b"\n" + packed(b" " * (257 * 1024 * 1024)),
    "another engine's": lambda head, journal: head.replace(b"runcell-nb", b"other") + b"\n" + journal,
    "another version": lambda head, journal: head.replace(b'"version": 1', b'"version": 2') + b"\n" + journal,
    "brackets": lambda head, journal: b"[" * 1_000_000 + b"\n" + journal,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_what_is_no_session_any_more_is_none_and_can_be_saved_over(sandbox, damage):
    await save_session(sandbox, "s", LOG)
    path = await only_file(sandbox)
    head, _, journal = (await sandbox.read_file(path)).partition(b"\n")
    await sandbox.write_file(path, damage(head, journal))
    assert await load_session(sandbox, "s") is None
    await save_session(sandbox, "s", LOG)
    assert await load_session(sandbox, "s") == LOG


async def test_a_session_edited_by_hand_comes_back_valid(sandbox):
    await save_session(sandbox, "s", LOG)
    path = await only_file(sandbox)
    head, _, _ = (await sandbox.read_file(path)).partition(b"\n")
    call = {"type": "tool_call", "id": "a b", "name": "ls", "arguments": "{"}
    edited = json.dumps([{"role": "assistant", "content": [call, call]}]).encode()
    await sandbox.write_file(path, head + b"\n" + packed(edited))
    _, response, results = await load_session(sandbox, "s")
    assert [result.call_id for result in results.content] == [made.id for made in response.calls]


COMMANDS = {
    "a folder": "rm {0} && mkdir -p {0}/x",
    "a link to a file of the workspace": "echo hello > mine.txt && rm {0} && ln -s ../../mine.txt {0}",
    "a link to nowhere": "rm {0} && ln -s nowhere {0}",
    "a link to itself": "rm {0} && ln -s {1} {0}",
    "a link out of the workspace": "rm {0} && ln -s ../../../../../../etc/passwd {0}",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
async def test_what_the_shell_puts_in_its_place_is_none_and_saving_leaves_the_workspace_alone(
    sandbox, command
):
    await save_session(sandbox, "s", LOG)
    path = await only_file(sandbox)
    await sandbox.exec(command.format(path, path.rpartition("/")[2]))
    assert await load_session(sandbox, "s") is None
    before = await sandbox.snapshot()
    await save_session(sandbox, "s", LOG)
    assert await load_session(sandbox, "s") == LOG
    assert await sandbox.snapshot() == before


async def test_a_file_in_the_place_of_the_folder_is_none_and_saving_says_so(sandbox):
    await sandbox.write_file(SESSION_FOLDER, "I am a file")
    assert await load_session(sandbox, "s") is None
    with pytest.raises(InvalidOptionError, match="sessions"):
        await save_session(sandbox, "s", LOG)


async def test_only_the_newest_are_kept_and_strange_files_stay(sandbox):
    await sandbox.write_file(f"{SESSION_FOLDER}/readme.txt", "not ours")
    for number in range(MAX_SESSIONS + 3):
        await save_session(sandbox, str(number), LOG[:1])
        await save_session(sandbox, "used again and again", LOG[:1])
    names = await sandbox.list_directory(SESSION_FOLDER)
    assert len(names) == MAX_SESSIONS + 1
    assert "readme.txt" in names
    assert await load_session(sandbox, "3") is None
    assert await load_session(sandbox, "4") == LOG[:1]
    assert await load_session(sandbox, "used again and again") == LOG[:1]


async def test_a_number_that_cannot_be_counted_on_does_not_end_the_keeping(sandbox):
    await sandbox.write_file(f"{SESSION_FOLDER}/999999999999-{'0' * 64}", "planted")
    for session_id in ("a", "b", "a"):
        await save_session(sandbox, session_id, LOG)
    assert await load_session(sandbox, "a") == LOG
    assert await load_session(sandbox, "b") == LOG


async def test_saves_at_the_same_time_wait_for_each_other(sandbox):
    ids = [str(number) for number in range(8)]
    await asyncio.gather(*(save_session(sandbox, session_id, (user_text(session_id),)) for session_id in ids))
    loaded = await asyncio.gather(*(load_session(sandbox, session_id) for session_id in ids))
    assert loaded == [(user_text(session_id),) for session_id in ids]


async def test_a_load_during_saves_finds_one_or_the_other(sandbox):
    await save_session(sandbox, "s", LOG)
    loads = [load_session(sandbox, "s") for _ in range(10)]
    saves = [save_session(sandbox, "s", LOG) for _ in range(10)]
    mixed = [step for pair in zip(loads, saves, strict=True) for step in pair]
    assert (await asyncio.gather(*mixed))[::2] == [LOG] * 10


async def test_what_is_too_big_is_not_kept_and_not_read(sandbox, monkeypatch):
    await save_session(sandbox, "s", LOG)
    monkeypatch.setattr(session_state, "MAX_SESSION_BYTES", 100)
    with pytest.raises(ValueError, match="limit is 100"):
        await save_session(sandbox, "s", LOG)
    assert await load_session(sandbox, "s") is None
    monkeypatch.undo()
    assert await load_session(sandbox, "s") == LOG


async def test_a_destroyed_sandbox_has_no_session_and_says_so_when_saving():
    sandbox = await create_sandbox()
    await sandbox.destroy()
    assert await load_session(sandbox, "s") is None
    with pytest.raises(InvalidOptionError, match="destroyed"):
        await save_session(sandbox, "s", LOG)
