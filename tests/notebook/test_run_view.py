"""The Python side of the run view: numbered, batched, bounded messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from runcell_nb.core.errors import TurnError
from runcell_nb.core.events import ErrorEvent, FinishEvent, RunEvent, TextEvent
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
    view._handle_custom_msg({"type": "resync", "from": 0}, [])
    update, reset = sent[before:]
    assert (update["type"], reset["type"]) == ("update", "reset")
    assert update["seq"] == reset["seq"] == before + 1
    assert [block["i"] for block in reset["blocks"]] == list(range(6))
    assert reset["blocks"][1]["append"].startswith("I'll read")
    assert reset["header"]["thread"] == "t"
    assert [file["path"] for file in reset["files"]["listed"]] == ["report.md", "feedback.csv"]


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


class FakeRun:
    """Stands for an `AgentRun`: the two members that a view uses."""

    def __init__(self, *events: RunEvent, hold: bool = False) -> None:
        self.given, self.cancelled = events, asyncio.Event()
        self.hold = hold
        self.reason: object = None

    async def events(self) -> AsyncIterator[RunEvent]:
        for event in self.given:
            yield event
        if self.hold:
            await self.cancelled.wait()
            yield ErrorEvent(TurnError(str(self.reason)))

    def cancel(self, reason: object) -> None:
        self.reason = reason
        self.cancelled.set()


async def shown_state(view: RunView) -> str:
    assert view._following is not None
    await view._following
    return view.transcript.state


async def test_a_view_follows_a_run_to_its_end(sent: Messages) -> None:
    view = RunView(FakeRun(TextEvent("hi"), FinishEvent("s", "stop")))
    assert await shown_state(view) == "done"
    assert text_in(sent) == "hi"


async def test_a_view_tells_a_failure(sent: Messages) -> None:
    assert await shown_state(RunView(FakeRun(ErrorEvent(TurnError("broken"))))) == "failed"
    assert sent[-1]["header"]["error"] == {"kind": "TurnError", "message": "broken"}


async def test_stop_cancels_the_run_that_is_followed(sent: Messages) -> None:
    run = FakeRun(TextEvent("hi"), hold=True)
    view = RunView(run)
    await asyncio.sleep(0)
    view._handle_custom_msg({"type": "stop"}, [])
    assert await shown_state(view) == "stopped"
    assert run.reason == "Stopped by the user."


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
