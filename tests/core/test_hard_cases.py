"""Foreign code that misbehaves: tools, gateways and backends that a run must survive."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from runcell_nb import (
    AgentEvents,
    InvalidOptionError,
    ModelInfo,
    RunLimits,
    ScriptedModel,
    TurnError,
    create_agent,
    create_sandbox,
    create_thread,
)
from runcell_nb.core.gateway import FinishDelta, TextDelta, ToolArgumentsDelta
from runcell_nb.core.usage import RequestUsage


def call(name, **arguments):
    return {"tool": name, "input": arguments}


class PoorText(Exception):
    def __str__(self):
        raise RuntimeError("no text")


RAISED = [
    SystemExit(3),
    KeyboardInterrupt(),
    StopIteration(),
    StopAsyncIteration(),
    GeneratorExit(),
    PoorText(),
    asyncio.CancelledError(),
    TimeoutError("slow"),
    RecursionError("deep"),
]


IN_COROUTINES = [error for error in RAISED if not isinstance(error, StopIteration | GeneratorExit)]
"""Python itself gives the other two a meaning inside a coroutine."""


@pytest.mark.parametrize(
    ("kind", "error"),
    [("sync", error) for error in RAISED]
    + [(kind, error) for kind in ("async", "sync returning an awaitable") for error in IN_COROUTINES],
    ids=repr,
)
async def test_whatever_a_tool_raises_is_an_error_of_that_call(error, kind):
    def sync() -> str:
        raise error

    async def asynchronous() -> str:
        raise error

    def awaitable() -> str:
        return asynchronous()

    tool = {"sync": sync, "async": asynchronous}.get(kind, awaitable)
    model = ScriptedModel([[call("t")], "I see."])
    told = []
    tools = {"t": tool}
    result = await create_agent(model, tools=tools, events=AgentEvents(on_tool_result=told.append)).run("go")
    assert result.text == "I see."
    assert told[0].is_error
    assert type(error).__name__ in told[0].output


async def test_exit_called_in_a_tool_does_not_end_the_process():
    def leave() -> None:
        sys.exit(1)

    result = await create_agent(ScriptedModel([[call("leave")], "still here"]), tools=[leave]).run("go")
    assert result.text == "still here"


async def test_tools_that_block_their_threads_do_not_block_the_next_run():
    release = threading.Event()
    started = threading.Semaphore(0)

    def block() -> None:
        started.release()
        release.wait(60)

    workers = ThreadPoolExecutor()._max_workers + 4
    run = create_agent(ScriptedModel([[call("block")] * workers, "never"]), tools=[block]).stream("go")
    for _ in range(workers):
        await asyncio.to_thread(started.acquire)
    run.cancel("enough")
    with pytest.raises(TurnError):
        await run.result()
    try:
        model = ScriptedModel([[call("write", file_path="a", content="1"), call("ls")], "fine"])
        assert (await create_agent(model).run("next")).text == "fine"
        assert not release.is_set()
    finally:
        release.set()


@pytest.mark.parametrize("how", ["cancel", "deadline"])
async def test_a_tool_that_ignores_cancellation_is_left_behind(how):
    finished = asyncio.Event()
    release = asyncio.Event()

    async def stubborn() -> str:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        finished.set()
        return "late"

    limits = RunLimits(max_seconds=0.3) if how == "deadline" else None
    thread = create_thread()
    agent = create_agent(ScriptedModel([[call("stubborn")], "never"]), tools=[stubborn])
    run = agent.stream("go", limits=limits, thread=thread)
    if how == "cancel":
        await asyncio.sleep(0.2)
        run.cancel("enough")
    with pytest.raises(TurnError):
        await run.result()
    assert not finished.is_set()
    await create_agent(ScriptedModel(["fine"])).run("next", thread=thread)
    release.set()
    await finished.wait()


class Priced:
    """Streams a little and then does what it is told."""

    def __init__(self, then, local=False):
        self.then, self.local = then, local

    async def stream(self, request):
        yield ToolArgumentsDelta("c", "ls", "{}")
        yield TextDelta("eight ch")
        await self.then()
        yield FinishDelta("stop", RequestUsage(1, 1, cost_usd=1.0, priced=True))

    async def describe(self, name):
        prices = {} if self.local else {"input_price": 0.001, "output_price": 0.01}
        return ModelInfo(name="priced/model", local=self.local, **prices)


async def fail():
    raise ConnectionError("cut")


async def hang():
    await asyncio.sleep(60)


@pytest.mark.parametrize("then", [fail, hang])
async def test_a_cut_request_is_counted_and_called_an_estimate(then):
    run = create_agent(Priced(then)).stream(
        "a prompt of some length " * 50, limits=RunLimits(max_seconds=0.3)
    )
    with pytest.raises(TurnError) as caught:
        await run.result()
    usage = caught.value.usage
    assert usage.input_tokens > 300
    assert usage.output_tokens == 3
    assert usage.cost_usd == pytest.approx(usage.input_tokens * 0.001 + 3 * 0.01)
    (told,) = [event async for event in run.events() if event.type == "request-finished"]
    assert (told.usage_source, told.reason, told.total) == ("estimated", "cut", usage)


async def test_a_cut_request_of_a_local_model_costs_nothing_and_says_local():
    run = create_agent(Priced(fail, local=True)).stream("go")
    with pytest.raises(TurnError) as caught:
        await run.result()
    assert caught.value.usage.cost_usd == 0
    assert not caught.value.usage.cost_measured
    (told,) = [event async for event in run.events() if event.type == "request-finished"]
    assert told.usage_source == "local"


async def test_a_request_that_never_began_is_not_counted():
    run = create_agent(ScriptedModel([[ConnectionError("refused")]])).stream("go")
    with pytest.raises(TurnError) as caught:
        await run.result()
    assert caught.value.usage.total_tokens == 0


async def test_a_call_without_arguments_is_the_same_to_the_tool_and_in_the_log():
    model = ScriptedModel([[{"tool": "ls", "input": ""}, {"tool": "ls", "input": "  "}], "ok"])
    run = create_agent(model).stream("go")
    calls = [event async for event in run.events() if event.type == "tool-call"]
    assert [event.input for event in calls] == [{}, {}]
    assert [block.arguments for block in model.requests[1].messages[1].content] == ["{}", "{}"]
    assert not any(block.is_error for block in model.requests[1].messages[2].content)


@pytest.mark.parametrize(
    ("delta", "said"),
    [
        ("text", "'text'"),
        (None, "None"),
        (FinishDelta("stop", None), "RequestUsage"),
        ({"text": "x"}, "ModelDelta"),
    ],
)
async def test_a_gateway_that_yields_something_else_is_told_so(delta, said):
    class Wrong:
        async def stream(self, request):
            yield delta

        async def describe(self, name):
            return ModelInfo(name="wrong/model")

    with pytest.raises(TurnError, match=said):
        await create_agent(Wrong()).run("go")


async def test_a_gateway_that_describes_itself_wrongly_is_told_so():
    class Wrong:
        async def stream(self, request):
            yield TextDelta("x")

        async def describe(self, name):
            return {"name": "x"}

    with pytest.raises(InvalidOptionError, match="ModelInfo"):
        await create_agent(Wrong()).run("go")


class Session:
    """A backend of somebody's that breaks after its session exists."""

    working_directory = "/w"

    def __init__(self, log):
        self.id, self.log = "s", log

    @property
    def shell_notes(self):
        raise RuntimeError("notes are broken")

    async def run(self, command, *, cwd=None, env=None, timeout=None): ...
    async def read_file(self, path): ...
    async def write_file(self, path, data): ...
    async def remove(self, path): ...
    async def list_files(self):
        return []

    async def stop(self):
        self.log.append("stopped")


class Provider:
    specification_version = "harness-sandbox-v1"
    provider_id = "test"

    def __init__(self):
        self.log = []

    async def create_session(self, *, session_id):
        return Session(self.log)


async def test_what_fails_while_a_run_opens_gives_everything_back():
    provider, thread = Provider(), create_thread()
    agent = create_agent(ScriptedModel(["x"]), sandbox={"type": "custom", "provider": provider})
    with pytest.raises(RuntimeError, match="notes are broken"):
        await agent.run("go", thread=thread)
    assert provider.log == ["stopped"]
    assert (await create_agent(ScriptedModel(["fine"])).run("next", thread=thread)).text == "fine"


@pytest.mark.parametrize("reason", [ValueError("why"), "text"])
async def test_the_reason_of_an_early_cancel_is_the_cause(reason):
    class Slow:
        async def stream(self, request):
            yield TextDelta("x")

        async def describe(self, name):
            await asyncio.sleep(60)

    run = create_agent(Slow()).stream("go")
    await asyncio.sleep(0.05)
    run.cancel(reason)
    with pytest.raises(TurnError) as caught:
        await run.result()
    assert caught.value.cause is reason
    assert caught.value.__cause__ is (reason if isinstance(reason, BaseException) else None)
    assert caught.value.usage is None


async def test_only_the_newest_bytes_of_a_file_are_kept():
    steps = [[call("write", file_path="a", content=str(number) * 9)] for number in range(5)]
    run = create_agent(ScriptedModel([*steps, "ok"])).stream("go")
    result = await run.result()
    changes = [event async for event in run.events() if event.type == "file-change"]
    assert [event.file is None for event in changes] == [True] * 4 + [False]
    assert result.files[0].text() == "4" * 9


@pytest.mark.parametrize("identity", ["me", {"tenant": "t"}, 3])
async def test_an_identity_of_another_kind_is_refused(identity):
    with pytest.raises(InvalidOptionError, match="identity"):
        await create_agent(ScriptedModel(["x"])).run("go", identity=identity)


async def test_destroying_the_sandbox_under_a_command_is_an_error_of_that_call():
    sandbox = await create_sandbox()
    model = ScriptedModel([[call("bash", command="sleep 5")], "I see."])
    run = create_agent(model).stream("go", sandbox=sandbox)
    told = []
    async for event in run.events():
        if event.type == "tool-call":
            await sandbox.destroy()
        elif event.type == "tool-result":
            told.append(event)
    assert (await run.result()).text == "I see."
    assert told[0].is_error
    assert "destroyed" in told[0].output
