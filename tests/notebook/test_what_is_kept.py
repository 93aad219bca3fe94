"""When a notebook keeps its threads: after commands and actions, whatever a front end holds or says late."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .kernels import PATIENCE, Done, Kernel
from .test_keeping import cell, kernel_at, run_cell, script

pytestmark = pytest.mark.slow

SESSION = "get_ipython().magics_manager.registry['RuncellMagics'].session"


@pytest.fixture
def notebook() -> Iterator[Kernel]:
    kernel = kernel_at()
    yield kernel
    kernel.close()


def states(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The states that messages of a kernel keep, oldest first."""
    sent = [
        message["content"]["data"].get("state", {})
        for message in messages
        if message["msg_type"] in ("comm_msg", "comm_open")
    ]
    return [state["state"] for state in sent if "question" not in state and state.get("state")]


def keeper_of(messages: list[dict[str, Any]]) -> str:
    opened = [m["content"] for m in messages if m["msg_type"] == "comm_open"]
    return next(str(one["comm_id"]) for one in opened if "question" in one["data"].get("state", {}))


def tell(kernel: Kernel, comm: str, **content: Any) -> str:
    """Send what a page would; return the id of the message."""
    data = {"comm_id": comm, "data": {"method": "custom", "content": content}}
    message = kernel.client.session.msg("comm_msg", data)
    kernel.client.shell_channel.send(message)
    return str(message["header"]["msg_id"])


def next_state(kernel: Kernel) -> tuple[dict[str, Any], dict[str, Any]]:
    """Wait for the next state that is kept; return it and the whole update."""
    while True:
        message = kernel.client.get_iopub_msg(timeout=PATIENCE)
        if states([message]):
            update: dict[str, Any] = message["content"]["data"]["state"]
            return update["state"], update


def ran(kernel: Kernel, command: str, cell_id: str = "a") -> Done:
    done = run_cell(kernel, f"%runcell {command}", cell_id)
    assert done.ok, done.error
    return done


def test_commands_that_change_something_are_kept_at_once_and_once(notebook: Kernel) -> None:
    script(notebook, "one")
    run_cell(notebook, cell(prompt="first"), "first")
    for command, threads, active in (
        ("thread new side", ["main", "side"], "side"),
        ("thread switch main", ["main", "side"], "main"),
        ("thread fork copy", ["copy", "main", "side"], "copy"),
        ("thread rename other", ["main", "other", "side"], "other"),
        ("thread delete side", ["main", "other"], "other"),
    ):
        (state,) = states(ran(notebook, command).messages)
        assert (sorted(state["threads"]), state["activeThread"]) == (threads, active), command
    for command, sandboxes, active in (
        ("sandbox new box", ["box", "main"], "box"),
        ("sandbox switch main", ["box", "main"], "main"),
        ("sandbox delete box", ["main"], "main"),
    ):
        (state,) = states(ran(notebook, command).messages)
        assert (sorted(state["sandboxes"]), state["activeSandbox"]) == (sandboxes, active), command
    for command in ("", "thread", "thread switch other", "sandbox switch main", "history", "thread show"):
        assert states(ran(notebook, command).messages) == [], command


def test_files_that_a_command_changes_are_kept_too(notebook: Kernel) -> None:
    write = [{"tool": "write", "input": {"file_path": "a.txt", "content": "kept"}}]
    script(notebook, write, "one")
    run_cell(notebook, cell(prompt="first"), "first")
    (state,) = states(ran(notebook, "sandbox reset").messages)
    assert state["sandboxes"]["main"]["files"] is None


def test_a_command_that_fails_keeps_nothing(notebook: Kernel) -> None:
    done = run_cell(notebook, "%runcell thread delete nothing", "a")
    assert not done.ok
    assert states(done.messages) == []


def test_the_cell_that_made_a_thread_may_make_it_again(notebook: Kernel) -> None:
    ran(notebook, "thread new other", "maker")
    script(notebook, "one")
    run_cell(notebook, cell(prompt="first"), "first")
    assert "was made by this cell before" in ran(notebook, "thread new other", "maker").text
    assert notebook.value(f"len({SESSION}.thread.messages)") == "2"
    assert "already" in run_cell(notebook, "%runcell thread new other", "another").error
    ran(notebook, "thread fork alt", "forker")
    ran(notebook, "thread switch other", "b")
    ran(notebook, "thread fork alt", "forker")
    assert notebook.value(f"{SESSION}.book.names") == "['main', 'other', 'alt']"


KEPT = {
    "version": 1,
    "revision": 1_800_000_000_000,
    "activeThread": "main",
    "threads": {
        "main": {
            "version": 1,
            "id": "of another kernel",
            "name": "main",
            "revision": 3,
            "messages": [
                {"role": role, "content": text, "createdAt": "2026-01-01T00:00:00.000Z"}
                for role, text in (("user", "before"), ("agent", "long ago"))
            ],
            "turns": [],
        }
    },
}


@pytest.mark.parametrize("kind", ["held", "answer"])
def test_what_a_page_tells_late_is_taken_in_and_kept(notebook: Kernel, kind: str) -> None:
    script(notebook, "one")
    done = run_cell(notebook, cell(prompt="first"), "first")
    tell(notebook, keeper_of(done.messages), type=kind, state=KEPT)
    state, update = next_state(notebook)
    assert {name: len(thread["messages"]) for name, thread in state["threads"].items()} == {
        "main": 2,
        "main fork 1": 2,
    }
    assert state["threads"]["main fork 1"]["messages"][0]["content"] == "before"
    assert KEPT["revision"] in update["seen"]
    assert state["revision"] > KEPT["revision"]
    listed = ran(notebook, "thread")
    assert states(listed.messages) == []
    assert listed.text.count("holds another thread 'main' than this kernel; it is 'main fork 1' now") == 1
    tell(notebook, keeper_of(done.messages), type=kind, state=KEPT)  # another page of the same notebook
    again = ran(notebook, "thread")
    assert states(again.messages) == []
    assert "another thread" not in again.text


def test_what_a_page_holds_comes_before_a_first_turn(notebook: Kernel) -> None:
    made = ran(notebook, "thread new side")
    tell(notebook, keeper_of(made.messages), type="held", state=KEPT)
    state, _ = next_state(notebook)
    assert state["threads"]["main"]["messages"][0]["content"] == "before"
    assert state["activeThread"] == "side"


@pytest.mark.parametrize("held", ["hostile", 7, ["a"], {"version": 9, "revision": -1}, {"threads": 1}])
def test_hostile_metadata_of_a_page_are_replaced_not_believed(notebook: Kernel, held: object) -> None:
    made = ran(notebook, "thread new side")
    tell(notebook, keeper_of(made.messages), type="held", state=held)
    _, update = next_state(notebook)
    assert 0 in update["seen"]


def test_metadata_that_come_during_a_run_wait_for_its_end(notebook: Kernel) -> None:
    made = ran(notebook, "thread new side")
    script(notebook, [{"tool": "bash", "input": {"command": "sleep 2"}}], "one")
    ran(notebook, "thread switch main")
    assert run_cell(notebook, cell(options="--background", prompt="first"), "first").ok
    tell(notebook, keeper_of(made.messages), type="held", state=KEPT)
    kept = [next_state(notebook)[0] for _ in range(2)]
    assert [sorted(state["threads"]) for state in kept] == [["main", "side"], ["main", "main fork 1", "side"]]
    assert [len(state["threads"]["main"]["messages"]) for state in kept] == [2, 2]


def test_an_action_in_the_thread_browser_is_kept(notebook: Kernel) -> None:
    script(notebook, "one")
    run_cell(notebook, cell(prompt="first"), "first")
    shown = ran(notebook, "thread show")
    opened = [m["content"] for m in shown.messages if m["msg_type"] == "comm_open"]
    browser = next(one["comm_id"] for one in opened if "place" in one["data"]["state"])
    tell(notebook, browser, type="resync")
    while True:
        message = notebook.client.get_iopub_msg(timeout=PATIENCE)
        content = message["content"].get("data", {}).get("content", {})
        if content.get("type") == "whole":
            break
    tell(notebook, browser, type="fork", key="main", version=content["version"], keep=0)
    state, _ = next_state(notebook)
    assert sorted(state["threads"]) == ["main", "main fork 1"]
    tell(notebook, browser, type="switch", key="main", version=content["version"])
    assert states(ran(notebook, "thread").messages) == []


def test_there_is_one_thread_browser_at_a_time(notebook: Kernel) -> None:
    first, second = (ran(notebook, "thread show") for _ in range(2))
    comms = [
        [
            m["content"]["comm_id"]
            for m in done.messages
            if m["msg_type"] == "comm_open" and "place" in m["content"]["data"]["state"]
        ]
        for done in (first, second)
    ]
    closed = [m["content"]["comm_id"] for m in second.messages if m["msg_type"] == "comm_close"]
    assert closed == comms[0]
    assert "text/html" in first.displays[0]


def test_a_run_that_fails_leaves_what_was_kept(notebook: Kernel) -> None:
    script(notebook, "one", ConnectionError("the line is dead"))
    run_cell(notebook, cell(prompt="first"), "first")
    failed = run_cell(notebook, cell(prompt="first"), "first")
    assert not failed.ok
    after = states([*failed.messages, *ran(notebook, "thread").messages])
    assert all(len(state["threads"]["main"]["messages"]) == 2 for state in after)
    assert notebook.value(f"len({SESSION}.thread.messages)") == "2"


SLOW = """
import pathlib, time
from runcell_nb.notebook import notebook_memory
as_it_is = notebook_memory.state_to_metadata
def slowly(*arguments):
    pathlib.Path({at!r}).touch()
    time.sleep(1)
    return as_it_is(*arguments)
notebook_memory.state_to_metadata = slowly
"""


@pytest.mark.parametrize("nested", ["", "%%time\n"])
def test_an_interrupt_while_a_turn_is_kept_loses_nothing(
    notebook: Kernel, tmp_path: Path, nested: str
) -> None:
    at = tmp_path / "keeping"
    assert notebook.run(SLOW.format(at=str(at))).ok
    script(notebook, "long " * 300_000)
    content = {"code": nested + cell(prompt="first"), "silent": False, "allow_stdin": True}
    message = notebook.client.session.msg("execute_request", content, metadata={"cellId": "first"})
    notebook.client.shell_channel.send(message)
    deadline = time.monotonic() + PATIENCE
    while not at.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(notebook.manager.provisioner.pid, signal.SIGINT)
    done = notebook.finish(message["header"]["msg_id"])
    assert done.ok is not bool(nested)  # a cell that had its answer is done
    kept = states(done.messages)
    assert [len(state["threads"]["main"]["messages"]) for state in kept] == [2]
    assert len(json.dumps(kept[0])) > 1_000_000
    assert notebook.value(f"len({SESSION}.thread.messages)") == "2"
    script(notebook, "two")
    assert run_cell(notebook, cell(prompt="second"), "second").ok


def test_unloading_stops_a_run_in_the_background_and_gives_the_sandbox_back_after_it(
    notebook: Kernel,
) -> None:
    script(notebook, [{"tool": "bash", "input": {"command": "sleep 60"}}], "never")
    assert run_cell(notebook, cell(options="--background --out r"), "a").ok
    assert notebook.run(f"session = {SESSION}; box = await session.sandbox(); loose = session._background").ok
    done = notebook.run("%unload_ext runcell_nb")
    assert done.ok, done.error
    wait = "import asyncio\nwhile loose.going_on or 'live' in repr(box): await asyncio.sleep(0.05)\n'gone'"
    assert notebook.run(wait).ok
    assert "stopped" in notebook.run("await r.result()").error
    assert not notebook.run("%runcell").ok
    assert notebook.run("%load_ext runcell_nb").ok
    assert notebook.run("%runcell").ok
