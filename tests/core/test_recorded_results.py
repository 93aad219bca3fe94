"""A gateway that keeps the results of tools: which it is asked for, and what the engine does with them."""

from __future__ import annotations

import pytest

from runcell_nb import (
    RuncellError,
    ScriptedModel,
    ToolResultEvent,
    TurnError,
    create_agent,
    tool,
    tool_content,
)
from runcell_nb.core.messages import ImageBlock, TextBlock, ToolResultBlock
from runcell_nb.core.recorded_results import RecordedResults


class Keeping(ScriptedModel):
    """Gives back what it is told to and notes what it gets."""

    def __init__(self, script, kept=None) -> None:
        super().__init__(script)
        self.kept = kept
        self.asked, self.noted = [], []

    def kept_result(self, call):
        self.asked.append(call.name)
        if isinstance(self.kept, Exception):
            raise self.kept
        return self.kept

    def keep_result(self, call, result) -> None:
        self.noted.append((call.arguments, result))


PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(32)
runs: list[int] = []


@tool(record=True)
def kept(x: int = 0) -> str:
    """Answer."""
    runs.append(x)
    return f"answer {x}"


@tool
def plain(x: int = 0) -> str:
    """Answer."""
    runs.append(x)
    return f"answer {x}"


@pytest.fixture(autouse=True)
def no_runs():
    runs.clear()


CALLS = [[{"tool": "kept", "input": {"x": 1}}, {"tool": "plain", "input": {"x": 2}}, {"tool": "ls"}], "Done."]


async def events_of(model):
    run = create_agent(model, tools=[kept, plain]).stream("Go.")
    events = [event async for event in run.events()]
    await run.result()
    return events


async def test_only_tools_with_record_are_kept() -> None:
    model = Keeping(CALLS)
    assert isinstance(model, RecordedResults)
    await events_of(model)
    assert model.asked == ["kept"]
    ((arguments, result),) = model.noted
    assert (arguments, result.name, result.content[0].text) == ('{"x":1}', "kept", "answer 1")
    assert sorted(runs) == [1, 2]


async def test_a_kept_result_is_given_instead_of_running() -> None:
    block = ToolResultBlock(
        call_id="other", name="kept", content=(TextBlock(text="from before"),), is_error=True
    )
    model = Keeping(CALLS, block)
    events = await events_of(model)
    assert runs == [2] and model.noted == []
    (shown,) = [event for event in events if isinstance(event, ToolResultEvent) and event.name == "kept"]
    assert (shown.output, shown.is_error) == ("from before", True)
    result = model.requests[1].messages[-1].content[0]
    assert (result.content[0].text, result.is_error) == ("from before", True)
    assert result.call_id == model.requests[1].messages[-2].calls[0].id


async def test_a_kept_image() -> None:
    image = tool_content([{"type": "image", "data": PIXEL, "media_type": "image/png"}])["content"][0]
    block = ToolResultBlock(
        call_id="c", name="kept", content=(ImageBlock(data=image["data"], media_type="image/png"),)
    )
    events = await events_of(Keeping(CALLS, block))
    (shown,) = [event for event in events if isinstance(event, ToolResultEvent) and event.name == "kept"]
    assert shown.output == [dict(image)]


async def test_what_is_refused_fails_the_run_and_nothing_runs() -> None:
    refused = RuncellError("not recorded")
    with pytest.raises(TurnError, match="not recorded") as caught:
        await create_agent(Keeping([CALLS[0][:1]], refused), tools=[kept]).run("Go.")
    assert caught.value.cause is refused and runs == []


async def test_a_failure_is_kept_too() -> None:
    model = Keeping([[{"tool": "kept", "input": {"x": "many"}}], "Done."])
    await events_of(model)
    assert model.noted[0][1].is_error and runs == []


async def test_a_gateway_without_that_runs_all_tools() -> None:
    await events_of(ScriptedModel(CALLS))
    assert sorted(runs) == [1, 2]
