"""Cancellation at every point of a run, by `run.cancel` and of the awaiting task: nothing is left behind."""

from __future__ import annotations

import asyncio
import threading

import pytest
from pydantic import BaseModel

from runcell_nb import (
    AgentEvents,
    ModelInfo,
    ScriptedModel,
    ToolContext,
    TurnError,
    create_agent,
    create_sandbox,
    create_thread,
    tool,
)
from runcell_nb.core.message_log import valid_log


class Answer(BaseModel):
    x: int


def script():
    """Text, a slow tool among quick ones, a command, a refused submission, a repair, a valid one."""
    return ScriptedModel(
        [
            ["thinking ", {"tool": "write", "input": {"file_path": "a", "content": "1"}}],
            [{"tool": "wait"}, {"tool": "ls"}, {"tool": "bash", "input": {"command": "sleep 0.05"}}],
            [{"tool": "submitResult", "input": {}}],
            "no more",
            ["so ", {"tool": "bash", "input": {"command": "echo x > b"}}],
            [{"tool": "submitResult", "input": {"x": 1}}],
        ]
    )


@tool
async def wait() -> str:
    """Wait a moment."""
    await asyncio.sleep(0.02)
    return "waited"


def others():
    """Tasks beside the test's own."""
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


def stream(sandbox, thread, events=None):
    agent = create_agent(script(), tools=[wait])
    return agent.stream(
        "go",
        schema=Answer,
        sandbox=sandbox,
        thread=thread,
        events=events,
        files=[{"path": "in.txt", "text": "x"}],
    )


async def test_the_script_runs_to_its_end():
    async with create_sandbox() as sandbox:
        run = stream(sandbox, create_thread())
        assert (await run.result()).data == Answer(x=1)
        assert len([event async for event in run.events()]) == LENGTH


LENGTH = 31
ACCEPTED = 28
"""From here on the last response is on its way, whose first delta is a valid submission."""


@pytest.mark.parametrize("how", ["cancel", "task"])
@pytest.mark.parametrize("position", range(LENGTH))
async def test_cancelled_at_each_event(position, how):
    async with create_sandbox() as sandbox:
        await sandbox.exec("true")  # its worker is up
        before = others()
        thread, told = create_thread(), []
        run = stream(sandbox, thread, AgentEvents(on_error=told.append))
        waiting = asyncio.ensure_future(run.result())
        seen = 0
        async for _ in run.events():
            if seen == position:
                run.cancel("enough") if how == "cancel" else waiting.cancel("enough")
            seen += 1
        done = (await asyncio.wait({waiting}))[0].pop()
        if not done.cancelled() and done.exception() is None:
            assert position >= ACCEPTED, "a run in the middle of a turn went on to its end"
            assert len(thread.messages) == 2
            return
        await asyncio.sleep(0)
        assert others() <= before
        if how == "cancel":
            failure = done.exception()
            assert isinstance(failure, TurnError)
            assert failure.cause == "enough"
            assert failure.usage is not None
            assert told == [failure]
        elif not run.done or thread.messages == []:
            assert done.cancelled()
            assert len(told) == 1
            assert isinstance(told[0].cause, asyncio.CancelledError)
        assert thread.messages == [] or position >= ACCEPTED
        assert (await sandbox.exec("echo ok")).stdout == "ok\n"
        if thread.messages == []:
            again = await create_agent(ScriptedModel(["fine"])).run("go", sandbox=sandbox, thread=thread)
            assert again.text == "fine"


class Stages:
    """A gateway and a sandbox provider that stop at one stage until they are cancelled."""

    specification_version = "harness-sandbox-v1"
    provider_id = "stages"

    def __init__(self, stage, swallow=None):
        self.stage, self.swallow = stage, swallow
        self.reached, self.ended = asyncio.Event(), []

    async def _at(self, stage):
        if stage != self.stage:
            return
        self.reached.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            self.ended.append(stage)
            if self.swallow == "raises":
                raise OSError("harness abort") from None
            if self.swallow != "returns":
                raise

    async def describe(self, name):
        await self._at("describe")
        return ModelInfo(name="stages/model", local=True)

    async def stream(self, request):
        await self._at("stream")
        async for delta in ScriptedModel(["x", "y"]).stream(request):
            yield delta

    async def create_session(self, *, session_id):
        await self._at("create_session")
        return self

    id = "s"
    working_directory = "/"

    async def run(self, command, *, cwd=None, env=None, timeout=None):
        raise AssertionError("nothing runs commands here")

    async def read_file(self, path):
        return None

    async def write_file(self, path, data):
        await self._at("write_file")

    async def remove(self, path):
        return None

    async def list_files(self):
        await self._at("list_files")
        return []

    async def stop(self):
        self.ended.append("stop")


@pytest.mark.parametrize("swallow", [None, "raises", "returns"])
@pytest.mark.parametrize("stage", ["describe", "create_session", "write_file", "list_files", "stream"])
async def test_cancelled_at_each_stage_of_the_start(stage, swallow):
    stages, told = Stages(stage, swallow), []
    agent = create_agent(stages, sandbox={"type": "custom", "provider": stages})
    run = agent.stream("go", files=[{"path": "a", "text": "1"}], events=AgentEvents(on_error=told.append))
    await stages.reached.wait()
    run.cancel("enough")
    with pytest.raises(TurnError) as caught:
        await run.result()
    assert caught.value.cause == "enough"
    assert stage in stages.ended
    started = stage not in ("describe", "create_session")
    assert (caught.value.usage is not None) is started
    assert told == ([caught.value] if started else [])
    if started or (stage == "create_session" and swallow == "returns"):
        assert stages.ended[-1] == "stop"  # an ephemeral sandbox goes away with its run


async def test_a_cancelled_task_propagates_and_on_error_gets_a_turn_error_with_it_as_the_cause():
    stages, told = Stages("stream"), []
    agent = create_agent(stages, sandbox={"type": "custom", "provider": stages})
    task = asyncio.ensure_future(agent.run("go", events=AgentEvents(on_error=told.append)))
    await stages.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(told[0], TurnError)
    assert isinstance(told[0].cause, asyncio.CancelledError)


async def test_a_timeout_around_a_run_is_the_callers_own():
    stages = Stages("stream")
    agent = create_agent(stages, sandbox={"type": "custom", "provider": stages})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await agent.run("go")
    assert stages.ended[-1] == "stop"


async def test_every_tool_of_a_response_is_stopped():
    stopped, started = [], threading.Event()

    @tool
    async def endless(n: int, context: ToolContext) -> None:
        """Never end."""
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append(n)

    calls = [{"tool": "endless", "input": {"n": n}} for n in range(5)]
    run = create_agent(ScriptedModel([calls]), tools=[endless]).stream("go")
    while not started.is_set():
        await asyncio.sleep(0.01)
    run.cancel()
    with pytest.raises(TurnError):
        await run.result()
    assert sorted(stopped) == list(range(5))


async def test_what_one_run_left_in_the_middle_is_accepted_by_the_next_one_on_the_same_session():
    async with create_sandbox() as sandbox:
        agent = create_agent(ScriptedModel(["first"]))
        await agent.run("one", sandbox=sandbox, session_id="s")
        run = create_agent(ScriptedModel([[{"tool": "bash", "input": {"command": "sleep 9"}}]])).stream(
            "two", sandbox=sandbox, session_id="s"
        )
        async for event in run.events():
            if event.type == "tool-call":
                run.cancel()
        with pytest.raises(TurnError):
            await run.result()
        model = ScriptedModel(["third"])
        await create_agent(model).run("three", sandbox=sandbox, session_id="s")
        messages = model.requests[0].messages
        assert messages == valid_log(messages).messages
        assert [message.content[0].text for message in messages][-1] == "three"


async def test_cancelling_twice_keeps_the_first_reason_and_after_the_end_does_nothing():
    run = create_agent(ScriptedModel([[{"tool": "bash", "input": {"command": "sleep 9"}}]])).stream("go")
    async for event in run.events():
        if event.type == "tool-call":
            run.cancel("first")
            run.cancel("second")
    with pytest.raises(TurnError, match="first"):
        await run.result()
    done = create_agent(ScriptedModel(["x"])).stream("go")
    result = await done.result()
    done.cancel("late")
    assert await done.result() is result
