"""Runs whose conversation gets too long for the model: made shorter once, sent again, told as an event."""

from __future__ import annotations

import pytest

from runcell_nb import (
    AgentEvents,
    ContextOverflowError,
    ModelInfo,
    RunLimits,
    ScriptedModel,
    TextDelta,
    TurnError,
    create_agent,
    create_sandbox,
    create_thread,
)
from runcell_nb.core.message_log import valid_log
from runcell_nb.core.messages import AssistantMessage, ToolMessage


class Narrow:
    """A scripted model with a window: what has more characters does not fit."""

    def __init__(self, responses, window, begin=False):
        self.script, self.window, self.begin = ScriptedModel(responses), window, begin
        self.refused = 0

    async def describe(self, name):
        return ModelInfo(name="narrow/model", local=True)

    async def stream(self, request):
        if sum(len(message.model_dump_json()) for message in request.messages) > self.window:
            self.refused += 1
            if self.begin:
                yield TextDelta("half")
            raise ContextOverflowError("prompt is too long")
        async for delta in self.script.stream(request):
            yield delta


def bash(command):
    return {"tool": "bash", "input": {"command": command}}


BIG = bash("yes 0123456789 | head -1500")


async def test_old_tool_results_make_room_and_the_run_goes_on():
    model = Narrow(
        [[BIG], [bash("echo middle")], *[[bash(f"echo {n}")] for n in range(5)], [BIG], "done"], 20_000
    )
    run = create_agent(model).stream("the task")
    events = [event async for event in run.events()]
    (compaction,) = [event for event in events if event.type == "compaction"]
    assert compaction.shortened + compaction.removed >= 1
    assert compaction.reason == "prompt is too long"
    assert (await run.result()).text == "done"
    assert model.refused == 1
    messages = model.script.requests[-1].messages
    assert messages == valid_log(messages).messages
    assert messages[0].content[-1].text == "the task"
    for response, results in zip(messages[1::2], messages[2::2], strict=True):
        assert isinstance(response, AssistantMessage)
        assert isinstance(results, ToolMessage)
        assert [call.id for call in response.calls] == [result.call_id for result in results.content]
    numbers = [event.number for event in events if event.type == "request-started"]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_one_giant_result_is_cut_too():
    model = Narrow([[BIG], "done"], 9_000)
    assert (await create_agent(model).run("go")).text == "done"


@pytest.mark.parametrize("begin", [False, True])
async def test_what_still_does_not_fit_or_has_begun_fails_with_the_providers_words(begin):
    model, told = Narrow([[BIG], "done"], 100 if not begin else 9_000, begin), []
    with pytest.raises(TurnError, match="prompt is too long") as caught:
        await create_agent(model).run(
            "go " * (200 if not begin else 1), events=AgentEvents(on_error=told.append)
        )
    assert isinstance(caught.value.cause, ContextOverflowError)
    assert told == [caught.value]
    assert model.refused <= 2


async def test_every_request_has_its_own_try_and_counts():
    script = [step for _ in range(4) for step in ([BIG], [bash("echo small")])]
    model = Narrow([*script, "done"], 25_000)
    run = create_agent(model).stream("go")
    assert (await run.result()).text == "done"
    compactions = [event async for event in run.events() if event.type == "compaction"]
    assert len(compactions) == model.refused > 1
    limited = Narrow([*script, "done"], 25_000)
    with pytest.raises(TurnError, match="max_requests"):
        await create_agent(limited, limits=RunLimits(max_requests=3)).run("go")


async def test_the_thread_keeps_the_shorter_log_and_all_its_messages():
    thread = create_thread()
    await create_agent(ScriptedModel([[BIG], "first"])).run("one", thread=thread)
    model = Narrow([[bash("echo x")], "second"], 9_000)
    await create_agent(model).run("two", thread=thread)
    assert model.refused == 1
    assert [message.content for message in thread.messages] == ["one", "first", "two", "second"]
    last = ScriptedModel(["third"])
    await create_agent(last).run("three", thread=thread)
    assert sum(len(message.model_dump_json()) for message in last.requests[0].messages) < 9_000


async def test_a_session_goes_on_in_its_sandbox_by_name():
    async with create_sandbox() as sandbox, create_sandbox() as other:
        first = await create_agent(ScriptedModel(["one"])).run("a", sandbox=sandbox)
        model = ScriptedModel(["two", "fresh", "elsewhere"])
        agent = create_agent(model)
        second = await agent.run("b", sandbox=sandbox, session_id=first.session_id)
        assert second.session_id == first.session_id
        assert [message.content[0].text for message in model.requests[0].messages] == ["a", "one", "b"]
        await agent.run("c", sandbox=sandbox, session_id="never/../heard of")
        await agent.run("d", sandbox=other, session_id=first.session_id)
        for request, prompt in zip(model.requests[1:], ("c", "d"), strict=True):
            assert [message.content[0].text for message in request.messages] == [prompt]
        assert await sandbox.list_files() == []
        assert (await sandbox.snapshot())["files"] == []


async def test_a_thread_is_the_memory_also_beside_a_session_id():
    async with create_sandbox() as sandbox:
        await create_agent(ScriptedModel(["one"])).run("a", sandbox=sandbox, session_id="s")
        model = ScriptedModel(["two", "three"])
        thread = create_thread()
        await create_agent(model).run("b", sandbox=sandbox, session_id="s", thread=thread)
        assert len(model.requests[0].messages) == 1
        await create_agent(model).run("c", sandbox=sandbox, session_id="s")
        assert [message.content[0].text for message in model.requests[1].messages] == ["b", "two", "c"]


async def test_a_failed_run_leaves_the_session_as_it_was_and_a_broken_state_folder_fails_nothing():
    async with create_sandbox() as sandbox:
        await create_agent(ScriptedModel(["one"])).run("a", sandbox=sandbox, session_id="s")
        with pytest.raises(TurnError):
            await create_agent(ScriptedModel([["x", OSError("broken")]])).run(
                "b", sandbox=sandbox, session_id="s"
            )
        model = ScriptedModel(["two", "three"])
        await create_agent(model).run("c", sandbox=sandbox, session_id="s")
        assert [message.content[0].text for message in model.requests[0].messages] == ["a", "one", "c"]
        await sandbox.exec("rm -rf .runcell && touch .runcell")
        assert (await create_agent(model).run("d", sandbox=sandbox, session_id="s")).text == "three"
