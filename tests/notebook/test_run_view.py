"""The Python side of the run view: numbered, batched, bounded messages."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runcell_nb import ScriptedModel, create_agent
from runcell_nb.notebook.run_end import STOPPED
from runcell_nb.notebook.run_view import RunView

from . import samples as s

Messages = list[dict[str, Any]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Messages:
    messages: Messages = []
    monkeypatch.setattr(RunView, "send", lambda _self, content, buffers=None: messages.append(content))
    return messages


def text_in(messages: Messages) -> str:
    return "".join(block.get("append", "") for message in messages for block in message["blocks"])


async def test_many_events_make_few_messages_without_loss(sent: Messages) -> None:
    view = RunView()
    for n in range(2_000):
        view.feed(s.text(f"{n} "))
        if n % 100 == 0:
            await asyncio.sleep(0.01)
    await view.flush()
    assert text_in(sent) == "".join(f"{n} " for n in range(2_000))
    assert [message["seq"] for message in sent] == list(range(1, len(sent) + 1))
    assert len(sent) < 60


async def test_a_waiting_event_is_sent_by_the_timer(sent: Messages) -> None:
    view = RunView()
    view.feed(s.text("a"))
    view.feed(s.text("b"))
    assert text_in(sent) == "a"
    while text_in(sent) != "ab":
        await asyncio.sleep(0.01)


def test_without_an_event_loop_every_event_is_sent_at_once(sent: Messages) -> None:
    view = RunView()
    view.feed(s.text("a"))
    view.feed(s.text("b"))
    assert text_in(sent) == "ab"


async def test_a_resync_sends_what_waits_and_then_everything(sent: Messages) -> None:
    view = RunView(thread="t")
    for event in s.report_run():
        view.feed(event)
    before = len(sent)
    view._handle_custom_msg({"type": "resync"}, [])
    changes, whole = sent[before:]
    assert (changes["type"], whole["type"]) == ("changes", "whole")
    assert changes["seq"] == whole["seq"] == before + 1
    assert [block["i"] for block in whole["blocks"]] == list(range(6))
    assert whole["blocks"][1]["append"].startswith("I'll read")
    assert whole["header"]["thread"] == "t"
    assert [file["path"] for file in whole["files"]["listed"]] == ["report.md", "feedback.csv"]


async def test_changed_files_cross_only_when_they_change(sent: Messages) -> None:
    view = RunView()
    view.feed(s.change("a.txt", None, b"1\n"))
    await view.flush()
    view.feed(s.text("and on"))
    await view.flush()
    with_files = [message["files"]["count"] for message in sent if "files" in message]
    assert with_files == [1]
    assert text_in(sent) == "and on"


async def test_stop_calls_back_once_the_run_is_on_and_not_after_it(sent: Messages) -> None:
    view, stops = RunView(), []
    view.on_stop(lambda: stops.append(1))
    view._handle_custom_msg({"type": "stop"}, [])
    view.finish("stopped")
    view._handle_custom_msg({"type": "stop"}, [])
    assert stops == [1]
    assert sent[-1]["header"]["state"] == "stopped"


async def test_a_message_on_another_thread_is_handed_to_the_loop(sent: Messages) -> None:
    view, threads = RunView(), []
    view.on_stop(lambda: threads.append(asyncio.get_running_loop()))
    await asyncio.to_thread(view._handle_custom_msg, {"type": "stop"}, [])
    await asyncio.sleep(0)
    assert threads == [asyncio.get_running_loop()]


async def shown_state(view: RunView) -> str:
    assert view._following is not None
    await view._following
    return view.transcript.state


async def test_a_view_follows_a_run_to_its_end(sent: Messages) -> None:
    view = RunView(create_agent(ScriptedModel(["hi"])).stream("say hi"))
    assert await shown_state(view) == "done"
    assert text_in(sent) == "hi"
    assert sent[-1]["header"]["cost"] == "local"


async def test_a_view_tells_a_failure(sent: Messages) -> None:
    view = RunView(create_agent(ScriptedModel([["a", ConnectionError("broken")]])).stream("x"))
    assert await shown_state(view) == "failed"
    assert sent[-1]["header"]["error"] == {"kind": "TurnError", "message": "broken"}


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("local/dmo", {}, "local/dmo"),
        (ScriptedModel([]), {"prompt": " "}, "empty"),
        (ScriptedModel([]), {"files": [{"path": "../x", "text": ""}]}, "../x"),
        (ScriptedModel([]), {"sandbox": "nowhere"}, "nowhere"),
    ],
)
async def test_a_run_that_never_started_has_failed(
    sent: Messages, model: Any, options: dict[str, Any], said: str
) -> None:
    view = RunView(create_agent(model).stream(**{"prompt": "x", **options}))
    assert await shown_state(view) == "failed"
    assert said in sent[-1]["header"]["error"]["message"]


async def test_stop_cancels_the_run_that_is_followed(sent: Messages) -> None:
    wait = [{"tool": "bash", "input": {"command": "sleep 30"}}]
    run = create_agent(ScriptedModel([wait])).stream("x")
    view = RunView(run)
    async with asyncio.timeout(10):
        while view.transcript.call_count == 0:
            await asyncio.sleep(0.01)
    view._handle_custom_msg({"type": "stop"}, [])
    assert await shown_state(view) == "stopped"
    assert run.done
    assert sent[-1]["header"]["error"]["message"] == STOPPED


@pytest.mark.parametrize("reason", [None, "enough"])
async def test_a_run_that_the_program_cancels_has_failed_with_its_reason(
    sent: Messages, reason: object
) -> None:
    run = create_agent(ScriptedModel(["never"])).stream("x")
    view = RunView(run)
    run.cancel(reason)
    assert await shown_state(view) == "failed"
    assert sent[-1]["header"]["error"]["message"] == (reason or "the run was cancelled")


async def test_a_view_may_be_fed_on_another_thread(sent: Messages) -> None:
    asyncio.get_running_loop().set_debug(True)  # refuses timers of other threads
    view = RunView()

    def feed() -> None:
        for n in range(50):
            view.feed(s.text(f"{n} "))
        view.finish("done")

    await asyncio.to_thread(feed)
    async with asyncio.timeout(10):
        while view.transcript.state != "done":
            await asyncio.sleep(0.01)
    assert text_in(sent) == "".join(f"{n} " for n in range(50))


async def test_a_long_output_crosses_bounded(sent: Messages) -> None:
    view = RunView()
    view.feed(s.call("a", "bash", command="seq 1000000"))
    view.feed(s.result("a", "bash", "\n".join(map(str, range(1_000_000))), exit_code=0))
    await view.flush()
    assert len(str(sent)) < 20_000


async def test_closing_stops_the_timer(sent: Messages) -> None:
    view = RunView()
    view.feed(s.text("a"))
    view.feed(s.text("b"))
    view.close()
    assert view._timer is None
