"""The Python side of the keeper: one numbered state, one writer, an answer or None; and headless runs."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from runcell_nb.notebook.keeper import MAX_REVISION, MetadataKeeper

from .kernels import PATIENCE, Done, Kernel

Updates = list[dict[str, Any]]

MAKE = "from runcell_nb.notebook.keeper import MetadataKeeper\nkeeper = MetadataKeeper()"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Updates:
    """What went to the front end after the widget itself."""
    updates: Updates = []

    def send(_self: object, message: dict[str, Any], buffers: object = None) -> None:
        if not any(name.startswith("_") for name in message["state"]):
            updates.append(message["state"])

    monkeypatch.setattr(MetadataKeeper, "_send", send)
    return updates


def test_a_state_goes_out_once_with_a_number(sent: Updates) -> None:
    keeper = MetadataKeeper()
    keeper.keep({"version": 1})
    keeper.keep({"version": 1})
    keeper.keep({"version": 1, "more": True})
    first, second = (update["state"] for update in sent)
    assert first == {"version": 1, "revision": first["revision"]}
    assert second["revision"] > first["revision"] > 1_700_000_000_000
    assert keeper.state == second


def test_a_state_that_was_kept_is_no_news_with_its_own_number(sent: Updates) -> None:
    keeper = MetadataKeeper()
    keeper.keep({"version": 1})
    keeper.keep(keeper.state)
    assert len(sent) == 1


def test_a_state_is_copied(sent: Updates) -> None:
    keeper = MetadataKeeper()
    state = {"turns": [1]}
    keeper.keep(state)
    state["turns"].append(2)
    assert keeper.state["turns"] == [1]
    keeper.keep(state)
    assert [update["state"]["turns"] for update in sent] == [[1], [1, 2]]


def test_a_loaded_number_is_outdone() -> None:
    keeper = MetadataKeeper()
    future = 9_000_000_000_000
    keeper.keep({"n": 1, "revision": future})
    assert keeper.state["revision"] == future + 1
    keeper.keep({"n": 2})
    assert keeper.state["revision"] == future + 2


@pytest.mark.parametrize("loaded", [MAX_REVISION, 10**30, "9", None, [], 1e300, -5, True])
def test_a_hostile_number_is_nothing_to_outdo(loaded: object) -> None:
    keeper = MetadataKeeper()
    keeper.keep({"revision": loaded})
    assert 1_700_000_000_000 < keeper.state["revision"] < MAX_REVISION


@pytest.mark.parametrize(
    ("value", "error"), [("\ud800", ValueError), (float("nan"), ValueError), ({1, 2}, TypeError)]
)
def test_what_would_spoil_the_file_is_refused(sent: Updates, value: object, error: type[Exception]) -> None:
    keeper = MetadataKeeper()
    keeper.keep({"n": 1})
    before = keeper.state
    with pytest.raises(error):
        keeper.keep({"n": {"deep": [value]}})
    assert keeper.state == before
    assert len(sent) == 1


def test_states_from_many_threads_are_numbered_one_by_one(sent: Updates) -> None:
    keeper = MetadataKeeper()
    threads = [threading.Thread(target=keeper.keep, args=({"n": n},)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    revisions = [update["state"]["revision"] for update in sent]
    assert sorted({update["state"]["n"] for update in sent}) == list(range(20))
    assert revisions == sorted(set(revisions))


def test_another_page_may_write_what_nobody_has_written(sent: Updates) -> None:
    keeper = MetadataKeeper()
    keeper.keep({"n": 1})
    keeper._handle_custom_msg({"type": "may write", "client": "second page"}, [])
    assert sent[-1] == {"writer": "second page"}


def test_what_is_written_is_written_once(sent: Updates) -> None:
    keeper = MetadataKeeper()
    keeper.keep({"n": 1})
    keeper._handle_custom_msg({"type": "kept", "revision": keeper.state["revision"]}, [])
    keeper._handle_custom_msg({"type": "may write", "client": "second page"}, [])
    assert keeper.writer == ""
    keeper.keep({"n": 2})
    keeper._handle_custom_msg({"type": "kept", "revision": keeper.state["revision"] - 1}, [])
    keeper._handle_custom_msg({"type": "may write", "client": "second page"}, [])
    assert keeper.writer == "second page"


def test_what_was_seen_may_be_replaced_and_goes_out_with_the_next_state(sent: Updates) -> None:
    keeper = MetadataKeeper()
    keeper.keep({"n": 1})
    for held in ({"revision": 123}, {}, {"revision": -1}, {"revision": True}, {"revision": 1e300}, "hostile"):
        keeper.saw(held)
    assert len(sent) == 1
    keeper.keep({"n": 1})  # the same, but in place of others
    keeper.keep({"n": 1})
    first, second = sent
    assert first["seen"] == [first["state"]["revision"]]
    assert second["seen"] == [*first["seen"], 123, 0, second["state"]["revision"]]
    assert second["state"]["revision"] > first["state"]["revision"]


def test_many_states_leave_a_short_list(sent: Updates) -> None:
    keeper = MetadataKeeper()
    for n in range(100):
        keeper.keep({"n": n})
    assert len(sent[-1]["seen"]) == 20
    assert sent[-1]["seen"][-2:] == [update["state"]["revision"] for update in sent[-2:]]


async def test_what_nobody_asked_for_is_handed_over_once() -> None:
    held: list[Any] = []
    keeper = MetadataKeeper(held.append)
    for kind in ("held", "answer"):
        keeper._handle_custom_msg({"type": kind, "state": {"revision": 7, "n": kind}}, [])
    assert held == [{"revision": 7, "n": "held"}, {"revision": 7, "n": "answer"}]
    keeper.saw({"revision": 7})
    for content in ({"state": {"revision": 7}}, {"state": None}, {}):
        keeper._handle_custom_msg({"type": "held", **content}, [])
    assert len(held) == 2
    asked = await question(keeper)
    keeper._handle_custom_msg({"type": "answer", "state": {"revision": 8}}, [])
    assert await asked == {"revision": 8}
    keeper._handle_custom_msg({"type": "answer", "state": {"revision": 8}}, [])  # a second page
    assert len(held) == 2


async def question(keeper: MetadataKeeper) -> asyncio.Task[dict[str, Any] | None]:
    asked = asyncio.create_task(keeper.ask(PATIENCE))
    while not keeper.question:
        await asyncio.sleep(0)
    return asked


@pytest.mark.parametrize("state", [{"version": 1}, None, "hostile", ["list"]])
async def test_the_first_answer_wins(state: object) -> None:
    keeper = MetadataKeeper()
    asked = await question(keeper)
    keeper._handle_custom_msg({"type": "answer", "state": state}, [])
    keeper._handle_custom_msg({"type": "answer", "state": {"version": 2}}, [])
    assert await asked == (state if isinstance(state, dict) else None)
    assert keeper.question == 0
    assert keeper.state == {}


async def test_an_answer_can_come_on_another_thread() -> None:
    keeper = MetadataKeeper()
    asked = await question(keeper)
    await asyncio.to_thread(keeper._handle_custom_msg, {"type": "answer", "state": {"version": 1}}, [])
    assert await asked == {"version": 1}


async def test_nobody_answers() -> None:
    keeper = MetadataKeeper()
    assert await keeper.ask(0.05) is None
    assert keeper.question == 0
    keeper._handle_custom_msg({"type": "answer", "state": {"version": 1}}, [])


async def test_a_question_that_is_given_up_is_closed() -> None:
    keeper = MetadataKeeper()
    asked = await question(keeper)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert keeper.question == 0


def execute(kernel: Kernel, code: str, cell: str) -> str:
    """Run a cell as a notebook does: with its id."""
    content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
    message = kernel.client.session.msg("execute_request", content, metadata={"cellId": cell})
    kernel.client.shell_channel.send(message)
    return str(message["header"]["msg_id"])


def updates(done: Done, name: str) -> list[Any]:
    """The values of a trait that a cell sent."""
    states = [m["content"]["data"].get("state", {}) for m in done.messages if m["msg_type"] == "comm_msg"]
    return [state[name] for state in states if name in state]


def test_the_client_and_the_cell_of_a_run_go_with_its_state(kernel: Kernel) -> None:
    kernel.run(MAKE)
    done = kernel.finish(execute(kernel, "keeper.keep({'n': 1})", "cafacea4"))
    assert [state["n"] for state in updates(done, "state")] == [1]
    assert updates(done, "cell") == ["cafacea4"]
    assert updates(done, "writer") == [kernel.client.session.session]


def test_a_cell_that_awaits_gets_the_answer(kernel: Kernel) -> None:
    made = kernel.run(MAKE)
    opened = [message["content"] for message in made.messages if message["msg_type"] == "comm_open"]
    comm = next(one["comm_id"] for one in opened if "question" in one["data"]["state"])
    request = execute(kernel, f"print(await keeper.ask({PATIENCE}))", "cafacea4")
    kernel.wait_for(request, "comm_msg")
    content = {"type": "answer", "state": {"version": 1, "n": 7}}
    data = {"comm_id": comm, "data": {"method": "custom", "content": content}}
    kernel.client.shell_channel.send(kernel.client.session.msg("comm_msg", data))
    assert kernel.finish(request).text == "{'version': 1, 'n': 7}\n"


async def test_headless_runs_store_the_last_state_once() -> None:
    cells = [MAKE, *[f"keeper.keep({{'version': 1, 'n': {n}}})" for n in range(20)]]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    await NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3").async_execute()
    nbformat.validate(notebook)
    stored = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"].values()
    states = [model["state"]["state"] for model in stored if "question" in model["state"]]
    assert [state["n"] for state in states] == [19]
    assert len(json.dumps(notebook.metadata.widgets)) < 7_000
    assert "runcell" not in notebook.metadata
