"""The notebook session itself: what is shown never touches a run, and a cell always comes to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from runcell_nb import ScriptedModel, TurnError
from runcell_nb.core import run as core_run
from runcell_nb.core.gateway import FinishDelta, ModelDelta, ModelInfo, TextDelta
from runcell_nb.core.usage import RequestUsage
from runcell_nb.notebook import cell_run, cell_view
from runcell_nb.notebook.cell_view import TextCellView
from runcell_nb.notebook.commands import run_command
from runcell_nb.notebook.interrupt import Stopper
from runcell_nb.notebook.session import NotebookSession
from runcell_nb.notebook.settings import Runcell


@pytest.fixture
async def notebook() -> AsyncIterator[NotebookSession]:
    notebook = NotebookSession(SimpleNamespace(user_ns={}), Runcell())
    yield notebook
    await notebook.close()


def script(notebook: NotebookSession, *responses: Any) -> ScriptedModel:
    model = notebook._shell.user_ns["model"] = ScriptedModel(responses)
    return model


def fail(*_args: Any, **_kwargs: Any) -> Any:
    raise KeyError("a \x1b[2Jbug")


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (TextCellView, "show"),
        (TextCellView, "end"),
        (cell_view, "event_to_dict"),
        (cell_view, "static_plain"),
        (cell_view.Transcript, "apply"),
        (cell_view.Transcript, "finish"),
        (NotebookSession, "_feed_browser"),
    ],
)
async def test_a_fault_in_showing_is_one_line_and_loses_nothing(
    notebook: NotebookSession, monkeypatch: pytest.MonkeyPatch, capsys: Any, place: Any, name: str
) -> None:
    def view(_self: NotebookSession, _stop: object, *_: object) -> cell_view.GuardedView:
        return cell_view.GuardedView(TextCellView(model="m"), notebook._feed_browser)

    monkeypatch.setattr(NotebookSession, "view", view)
    monkeypatch.setattr(place, name, fail)
    script(notebook, [{"tool": "ls", "input": {}}], "fine")
    result = await notebook.run_cell("-m model --out r", "hi")
    assert result.text == "fine"
    assert notebook._shell.user_ns["r"] is result
    assert (notebook.spent[0].state, notebook.spent[0].cost) == ("done", "local")
    assert len(notebook.thread.messages) == 2
    assert capsys.readouterr().err.splitlines() == [
        "runcell: the display is incomplete (KeyError: 'a \\x1b[2Jbug'); the run goes on."
    ]


async def test_without_a_view_nothing_starts(
    notebook: NotebookSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = script(notebook, "fine")
    with monkeypatch.context() as patch:
        patch.setattr(TextCellView, "__init__", fail)
        with pytest.raises(KeyError):
            await notebook.run_cell("-m model", "hi")
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert model.requests == []
    assert (await notebook.run_cell("-m model", "hi")).text == "fine"


class Deaf:
    """A gateway that does not let itself be stopped."""

    def __init__(self) -> None:
        self.asked, self.released = asyncio.Event(), asyncio.Event()

    async def stream(self, _request: object) -> AsyncIterator[ModelDelta]:
        yield TextDelta("…")
        self.asked.set()
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                continue
        yield FinishDelta("stop", RequestUsage(source="local"))

    async def describe(self, name: str) -> ModelInfo:
        return ModelInfo(name=name, local=True)


async def test_a_run_that_hangs_is_left_behind(
    notebook: NotebookSession, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(core_run, "CLEAN_UP_SECONDS", 0.05)
    monkeypatch.setattr(cell_run, "SETTLE_SECONDS", 0.05)
    model = notebook._shell.user_ns["deaf"] = Deaf()
    cell = asyncio.ensure_future(notebook.run_cell("-m deaf", "hi"))
    await model.asked.wait()
    cell.cancel()
    done, _ = await asyncio.wait({cell}, timeout=5)
    model.released.set()
    assert done
    assert cell.cancelled()
    assert "stopped after" in capsys.readouterr().out
    assert notebook.spent[0].state == "stopped"


def usage(**values: Any) -> FinishDelta:
    return FinishDelta("stop", RequestUsage(input_tokens=10, **values))


@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        ([], "0 tokens, $0"),
        ([usage(source="local")], "10 tokens, local"),
        ([usage(cost_usd=0.02, priced=True)], "10 tokens, $0.0200"),
        ([usage(cost_usd=0.02, priced=True, source="estimated")], "10 tokens, ~$0.02"),
        ([usage(cost_usd=0.02, priced=True), usage()], "20 tokens, $0.0200 + unpriced"),
        ([usage(cost_usd=0.02, priced=True), usage(source="local")], "20 tokens, $0.0200"),
        ([usage(source="replayed")], "10 tokens, $0 (replayed)"),
        ([usage()], "10 tokens, unpriced"),
    ],
)
async def test_the_sum_of_all_runs_is_as_honest_as_one(
    notebook: NotebookSession, answers: list[FinishDelta], shown: str
) -> None:
    for answer in answers:
        script(notebook, ["ok", answer])
        await notebook.run_cell("-m model", "hi")
    told = await asyncio.to_thread(run_command, notebook, "")
    assert f"spent    {shown}\n" in told


async def test_a_failed_run_counts_what_it_used(notebook: NotebookSession) -> None:
    script(notebook, [{"tool": "ls", "input": {}}, usage(cost_usd=0.5, priced=True)], ConnectionError("x"))
    with pytest.raises(TurnError):
        await notebook.run_cell("-m model", "hi")
    assert notebook.costs.text() == "$0.5000"
    assert (notebook.spent[0].state, notebook.spent[0].cost) == ("failed", "$0.5000")


async def test_a_stop_before_the_run_ends_what_prepares_it() -> None:
    stop, begun = Stopper(), asyncio.Event()

    async def prepare() -> None:
        begun.set()
        await asyncio.Event().wait()

    preparing = asyncio.ensure_future(stop.during(prepare()))
    await begun.wait()
    stop()
    with pytest.raises(TurnError, match="stopped by the user"):
        await preparing
    calls: list[int] = []
    stop.stops(lambda: calls.append(1))
    assert calls == [1], "what comes after a stop is stopped too"


async def test_a_cancelled_cell_cancels_what_prepares_it() -> None:
    stop, ended = Stopper(), asyncio.Event()

    async def prepare() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    preparing = asyncio.ensure_future(stop.during(prepare()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    preparing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await preparing
    assert ended.is_set()
