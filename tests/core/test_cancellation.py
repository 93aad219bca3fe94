"""Cancellation at every point of a run, by `run.cancel` and of the awaiting task: nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest
from pydantic import BaseModel, field_validator

from runcell_nb import (
    AgentEvents,
    ErrorDelta,
    FinishDelta,
    LimitExceededError,
    ModelInfo,
    RequestUsage,
    RuncellError,
    RunLimits,
    ScriptedModel,
    TextDelta,
    ToolCallDelta,
    ToolContext,
    TurnError,
    UsageDelta,
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


CALLBACKS = ["on_text", "on_tool_call", "on_tool_result", "on_file_change", "on_repair"]


@pytest.mark.parametrize("name", CALLBACKS)
async def test_cancelled_from_a_callback_nothing_is_left_running(name):
    async with create_sandbox() as sandbox:
        await sandbox.exec("true")
        before, runs, thread = others(), [], create_thread()
        events = AgentEvents(**{name: lambda _: runs[0].cancel("from a callback")})
        runs.append(stream(sandbox, thread, events))
        with pytest.raises(TurnError) as caught:
            await runs[0].result()
        assert caught.value.cause == "from a callback"
        assert others() <= before
        assert thread.messages == []


class Slow:
    """A gateway that counts, takes a moment to close, and swallows cancellations if it is told to."""

    def __init__(self, deltas=("a",), pause=0.0, swallows=False):
        self.deltas, self.pause, self.swallows, self.closed = deltas, pause, swallows, False

    async def describe(self, name):
        return ModelInfo(name="slow/model", local=True)

    async def stream(self, request):
        try:
            yield UsageDelta(RequestUsage(input_tokens=10, output_tokens=5, source="local"))
            for delta in self.deltas:
                try:
                    await asyncio.sleep(self.pause)
                except asyncio.CancelledError:
                    if not self.swallows:
                        raise
                yield TextDelta(delta)
            yield FinishDelta("stop", RequestUsage(source="local"))
        finally:
            await asyncio.sleep(0.05)
            self.closed = True


async def test_cancelled_from_a_callback_the_stream_is_closed_and_its_usage_counts():
    model, runs = Slow(["a", "b", "c"]), []
    events = AgentEvents(on_text=lambda _: runs[0].cancel())
    runs.append(create_agent(model).stream("go", events=events))
    with pytest.raises(TurnError) as caught:
        await runs[0].result()
    assert model.closed
    assert caught.value.usage.total_tokens == 15


@pytest.mark.parametrize("limit", ["max_seconds", "stall_seconds"])
async def test_a_gateway_that_swallows_cancellations_does_not_outlive_a_limit(limit):
    model = Slow("abcdefgh" * 10, pause=0.3, swallows=True)
    with pytest.raises(LimitExceededError, match=limit):
        await create_agent(model, limits=RunLimits(**{limit: 0.1})).run("go")
    assert model.closed


async def test_a_deadline_counts_from_the_start_and_a_busy_gateway_does_not_hide_it():
    class Late(Slow):
        async def describe(self, name):
            await asyncio.sleep(5)

    with pytest.raises(LimitExceededError, match="max_seconds") as caught:
        await create_agent(Late(), limits=RunLimits(max_seconds=0.1)).run("go")
    assert caught.value.usage is None
    endless = ScriptedModel([["x"] * 3_000_000])
    with pytest.raises(LimitExceededError, match="max_seconds"):
        await create_agent(endless, limits=RunLimits(max_seconds=0.1)).run("go")


@pytest.mark.parametrize("where", ["stream", "describe", "schema", "on_text"])
async def test_a_cancellation_that_nobody_asked_for_is_an_error_like_any_other(where):
    def unasked(*_):
        raise asyncio.CancelledError("by itself")

    class Model(Slow):
        async def describe(self, name):
            return unasked() if where == "describe" else await super().describe(name)

        async def stream(self, request):
            if where == "stream":
                unasked()
            async for delta in super().stream(request):
                yield delta

    class Field(BaseModel):
        x: int
        check = field_validator("x")(lambda value: unasked())

    submitting = ScriptedModel([{"tool": "submitResult", "input": {"x": 1}}])
    agent = create_agent(submitting if where == "schema" else Model(), max_repairs=0)
    events = AgentEvents(on_text=unasked if where == "on_text" else None)
    async with asyncio.TaskGroup() as group:  # a cancelled member would end it without a word
        task = group.create_task(outcome_of(agent, events, Field if where == "schema" else None))
    outcome = task.result()
    if where == "on_text":
        assert outcome.text == "a"
    else:
        assert isinstance(outcome, RuncellError)


async def outcome_of(agent, events, schema):
    try:
        return await agent.run("go", events=events, schema=schema)
    except RuncellError as error:
        return error


async def test_one_cancelled_waiter_does_not_cancel_the_others():
    run = create_agent(Slow(pause=5)).stream("go")
    first, second = asyncio.ensure_future(run.result()), asyncio.ensure_future(outcome(run))
    await asyncio.sleep(0.05)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    failure = await second
    assert isinstance(failure, TurnError)
    assert isinstance(failure.cause, asyncio.CancelledError)
    assert await outcome(run) is failure


async def outcome(run):
    try:
        return await run.result()
    except TurnError as error:
        return error


async def test_cancelled_from_another_thread_it_ends_at_once():
    run = create_agent(Slow(pause=60)).stream("go")
    await asyncio.sleep(0.05)
    threading.Timer(0.05, run.cancel, ["from a thread"]).start()
    failure = await asyncio.wait_for(outcome(run), 10)
    assert failure.cause == "from a thread"


async def test_an_abandoned_run_is_not_collected():
    class Waiting(Slow):
        async def stream(self, request):
            await self.go.wait()
            async for delta in super().stream(request):
                yield delta

    model, texts = Waiting(), []
    model.go = asyncio.Event()
    agent = create_agent(
        model, limits=RunLimits(stall_seconds=None), events=AgentEvents(on_text=texts.append)
    )
    agent.stream("go")
    await asyncio.sleep(0.05)
    gc.collect()
    model.go.set()
    await asyncio.sleep(0.3)
    assert texts == ["a"]


@pytest.mark.parametrize(
    "leave", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), ValueError()]
)
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_no_callback_reaches_the_run_or_the_loop_whatever_it_raises(kind, leave):
    def sync(_):
        raise leave

    async def later(_):
        raise leave

    callback = sync if kind == "sync" else later
    events = AgentEvents(on_text=callback, on_error=callback, on_finish=callback)
    assert (await create_agent(Slow()).run("go", events=events)).text == "a"
    with pytest.raises(TurnError, match="broken"):
        await create_agent(ScriptedModel([["x", OSError("broken")]])).run("go", events=events)


async def test_the_first_error_part_wins_over_what_the_stream_raises_behind_it():
    with pytest.raises(TurnError, match=r"^quota$"):
        await create_agent(ScriptedModel([[ErrorDelta("quota"), RuntimeError("closed")]])).run("go")


async def test_arguments_that_come_whole_count_in_an_estimate():
    call = ToolCallDelta("a", "write", '{"file_path": "a", "content": "%s"}' % ("x" * 4000))
    run = create_agent(ScriptedModel([[call, OSError("cut")]])).stream("go")
    events = [event async for event in run.events()]
    cut = next(event for event in events if event.type == "request-finished")
    assert cut.usage.output_tokens > 1000


@pytest.mark.parametrize(
    "delta", [TextDelta(None), ToolCallDelta("a", "ls", {}), ToolCallDelta(None, "ls", "{}"), "text", None]
)
async def test_what_is_no_delta_is_told_in_one_sentence(delta):
    class Odd(Slow):
        async def stream(self, request):
            yield delta

    with pytest.raises(TurnError, match="The gateway yielded"):
        await create_agent(Odd()).run("go")


async def test_a_gateway_may_return_its_iterator_and_its_description_in_other_ways():
    class Other(Slow):
        def describe(self, name):
            return ModelInfo(name="other/model", local=True)

        async def stream(self, request):
            return Slow.stream(self, request)

    model = Other()
    assert (await create_agent(model).run("go")).text == "a"
    assert model.closed
    model.stream = lambda request: ["a"]
    with pytest.raises(TurnError, match="async iterator"):
        await create_agent(model).run("go")


@pytest.mark.parametrize("leave", [SystemExit(3), KeyboardInterrupt()])
def test_no_gateway_ends_the_loop_that_plain_code_shares(leave):
    class Model(Slow):
        async def describe(self, name):
            raise leave

    with pytest.raises(TurnError, match=type(leave).__name__):
        create_agent(Model()).run_sync("go")
    assert create_agent(Slow()).run_sync("go").text == "a"
