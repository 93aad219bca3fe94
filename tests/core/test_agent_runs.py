"""Runs from end to end on a scripted model, in the real virtual sandbox."""

from __future__ import annotations

import asyncio
import gc
import threading
from dataclasses import FrozenInstanceError

import pytest

from runcell_nb import (
    AgentEvents,
    FileInput,
    InvalidOptionError,
    LimitExceededError,
    RuncellNotImplementedError,
    RunLimits,
    ScriptedModel,
    ToolContext,
    TurnError,
    create_agent,
    create_sandbox,
    create_thread,
    get_run_usage,
    tool,
)
from runcell_nb.core.gateway import FinishDelta, ModelInfo, RetryDelta, TextDelta, ToolCallDelta
from runcell_nb.core.messages import AssistantMessage, ToolMessage
from runcell_nb.core.usage import RequestUsage

PRICED = RequestUsage(input_tokens=10, output_tokens=5, cost_usd=0.25, priced=True)


def call(name, _id=None, **arguments):
    return {"tool": name, "input": arguments, **({"id": _id} if _id else {})}


def finish(reason="stop", usage=PRICED):
    return FinishDelta(reason, usage)


async def events_of(run):
    found = [event async for event in run.events()]
    return found, [event.type for event in found]


async def test_a_run_writes_a_file_and_tells_it():
    model = ScriptedModel([["I'll write it. ", call("write", file_path="a/b.txt", content="hi\n")], "Done."])
    result = await create_agent(model).run("go")
    assert result.text == "I'll write it. Done."
    assert [(file.path, file.change, file.text()) for file in result.files] == [("a/b.txt", "create", "hi\n")]
    assert result.finish_reason == "stop"
    assert result.data is None
    assert result.pending is None
    assert result.session_id


async def test_events_come_in_order_and_every_iterator_starts_at_the_first():
    model = ScriptedModel([[call("write", file_path="a", content="1")], "ok"])
    run = create_agent(model).stream("go")
    _, types = await events_of(run)
    assert types == [
        "run-started",
        "request-started",
        "request-finished",
        "tool-call",
        "file-change",
        "tool-result",
        "request-started",
        "text",
        "request-finished",
        "finish",
    ]
    assert (await events_of(run))[1] == types
    assert [piece async for piece in run.text_stream] == ["ok"]


async def test_the_model_reads_the_results_of_its_calls_in_call_order():
    @tool
    async def slow(n: int) -> str:
        """Wait."""
        await asyncio.sleep(0.05 / n)
        return str(n)

    model = ScriptedModel([[call("slow", n=1), call("slow", n=2), call("slow", n=5)], "ok"])
    run = create_agent(model, tools=[slow]).stream("go")
    events, _ = await events_of(run)
    assert [event.output for event in events if event.type == "tool-result"] == ["5", "2", "1"]
    results = model.requests[1].messages[-1]
    assert isinstance(results, ToolMessage)
    assert [block.content[0].text for block in results.content] == ["1", "2", "5"]


async def test_a_read_behind_a_write_of_the_same_response_sees_the_write():
    steps = [call("write", file_path="a", content="new"), call("read", file_path="a")]
    run = create_agent(ScriptedModel([steps, "ok"])).stream("go")
    events, _ = await events_of(run)
    assert [event.output for event in events if event.type == "tool-result"][1] == "new"


async def test_host_tools_get_validated_input_and_their_context():
    seen = {}

    @tool
    def lookup(key: int, context: ToolContext) -> dict:
        """Look up."""
        seen.update(key=key, context=context, thread=threading.current_thread())
        return {"found": key}

    model = ScriptedModel([[call("lookup", key=7), call("lookup", key="x"), call("lookup", wrong=1)], "ok"])
    run = create_agent(model, tools=[lookup]).stream("go", session_id="s")
    events, _ = await events_of(run)
    results = {event.id: event for event in events if event.type == "tool-result"}
    outputs = [(event.output, event.is_error) for event in results.values()]
    assert ({"found": 7}, False) in outputs
    assert any(is_error and "key" in output for output, is_error in outputs)
    assert any(is_error and "wrong" in output for output, is_error in outputs)
    assert seen["key"] == 7
    assert seen["context"].session_id == "s"
    assert seen["thread"] is not threading.main_thread()


async def test_what_a_host_tool_changes_through_the_sandbox_is_a_changed_file():
    @tool
    async def save(context: ToolContext) -> None:
        """Save."""
        await context.sandbox.write_file("made.txt", "by the host")

    result = await create_agent(ScriptedModel([[call("save")], "ok"]), tools=[save]).run("go")
    assert [(file.path, file.text()) for file in result.files] == [("made.txt", "by the host")]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (call("nothing_like_it"), "no tool named 'nothing_like_it'"),
        ({"tool": "write", "input": '{"file_path": "a", "content"'}, "not a JSON object"),
        ({"tool": "write", "input": "[1]"}, "not a JSON object"),
        ({"tool": "write", "input": '{"file_path": "a"}{"file_path": "b"}'}, "not a JSON object"),
        (call("write", file_path="../x", content=""), "'..'"),
        (call("broken"), "KeyError"),
        (call("unserialisable"), "no JSON form"),
    ],
)
async def test_a_call_that_cannot_be_done_is_an_error_of_that_call_only(step, said):
    def broken() -> None:
        raise KeyError("k")

    model = ScriptedModel([[step], "I see."])
    run = create_agent(model, tools=[broken, unserialisable]).stream("go")
    events, _ = await events_of(run)
    (failed,) = [event for event in events if event.type == "tool-result"]
    assert failed.is_error
    assert said in failed.output
    result = await run.result()
    assert result.text == "I see."
    assert result.files == []


def unserialisable() -> object:
    """Give something that has no JSON form."""
    return object()


async def test_repeated_call_ids_become_unique():
    model = ScriptedModel([[call("ls", "same"), call("ls", "same")], [call("ls", "same")], "ok"])
    run = create_agent(model).stream("go")
    events, _ = await events_of(run)
    ids = [event.id for event in events if event.type == "tool-call"]
    assert len(set(ids)) == 3
    logged = [
        block.id for m in model.requests[-1].messages if isinstance(m, AssistantMessage) for block in m.calls
    ]
    assert logged == ids


async def test_usage_adds_up_over_requests():
    model = ScriptedModel([[call("ls"), finish("tool-calls")], ["ok", finish("length")]])
    result = await create_agent(model).run("go")
    assert (result.usage.total_tokens, result.usage.cost_usd, result.usage.cost_measured) == (30, 0.5, True)
    assert result.finish_reason == "length"


async def test_files_go_in_and_unchanged_ones_do_not_come_out():
    model = ScriptedModel(
        [
            [call("read", file_path="in/a.txt"), call("edit", file_path="b", old_string="1", new_string="2")],
            "ok",
        ]
    )
    files = [FileInput("in/a.txt", text="hello"), {"path": "b", "bytes": b"1"}]
    run = create_agent(model).stream("go", files=files)
    events, _ = await events_of(run)
    assert next(event.output for event in events if event.type == "tool-result") == "hello"
    assert [(file.path, file.change) for file in (await run.result()).files] == [("b", "modify")]


async def test_create_then_modify_is_one_create_and_a_deleted_file_is_gone():
    model = ScriptedModel(
        [
            [call("write", file_path="a", content="1"), call("bash", command="echo 2 > a; echo x > b")],
            [call("bash", command="rm b")],
            "ok",
        ]
    )
    told = []
    listener = AgentEvents(on_file_change=lambda file: told.append((file.path, file.change)))
    run = create_agent(model, events=listener).stream("go")
    events, _ = await events_of(run)
    assert told == [("a", "create"), ("a", "create"), ("b", "create")]
    assert [event.change for event in events if event.type == "file-change"] == [
        "create",
        "create",
        "create",
        "delete",
    ]
    assert [(file.path, file.change, file.text()) for file in (await run.result()).files] == [
        ("a", "create", "2\n")
    ]


async def test_callbacks_of_agent_and_run_fire_in_order_and_never_disturb():
    told = []

    def first(text):
        told.append(("agent", text))
        raise RuntimeError("a listener of bad manners")

    async def second(text):
        await asyncio.sleep(0.01)
        told.append(("run", text))
        raise RuntimeError("an async one too")

    agent = create_agent(ScriptedModel([["a", "b"]]), events=AgentEvents(on_text=first))
    result = await agent.run("go", events=AgentEvents(on_text=second))
    assert result.text == "ab"
    assert told == [("agent", "a"), ("agent", "b"), ("run", "a"), ("run", "b")]
    gc.collect()


async def test_a_failure_is_one_turn_error_with_cause_and_usage():
    told = []
    cause = ConnectionError("the line is dead")
    model = ScriptedModel([[call("ls"), finish("tool-calls")], ["partial", cause]])
    run = create_agent(model).stream("go", events=AgentEvents(on_error=told.append))
    with pytest.raises(TurnError, match="the line is dead") as caught:
        await run.result()
    assert caught.value.cause is cause
    assert caught.value.__cause__ is cause
    assert told == [caught.value]
    assert get_run_usage(caught.value).total_tokens > 15
    assert [piece async for piece in run.text_stream] == ["partial"]


async def test_a_stream_without_an_end_is_an_error_not_an_answer():
    class Cut:
        async def stream(self, request):
            yield TextDelta("half an ans")

        async def describe(self, name):
            return ModelInfo(name="cut/model")

    thread = create_thread()
    with pytest.raises(TurnError, match=r"cut/model.*cut"):
        await create_agent(Cut()).run("go", thread=thread)
    assert thread.messages == []


async def test_failures_before_the_start_carry_no_usage_and_no_event():
    told = []

    class Unknown:
        async def stream(self, request):
            yield TextDelta("never")

        async def describe(self, name):
            raise InvalidOptionError('Unknown model "x/y"')

    agent = create_agent(Unknown(), events=AgentEvents(on_error=told.append))
    with pytest.raises(InvalidOptionError) as caught:
        await agent.run("go")
    assert caught.value.usage is None
    assert told == []


@pytest.mark.parametrize("reason", [{"code": "x"}, "a text", TurnError("foreign"), ValueError("v")])
async def test_cancel_gives_a_turn_error_whose_cause_is_the_reason(reason):
    told = []
    thread = create_thread()
    model = ScriptedModel([[call("bash", command="sleep 30")], "never"])
    run = create_agent(model).stream("go", thread=thread, events=AgentEvents(on_error=told.append))
    async for event in run.events():
        if event.type == "tool-call":
            run.cancel(reason)
            run.cancel("a second one does nothing")
    with pytest.raises(TurnError) as caught:
        await run.result()
    assert caught.value.cause is reason
    assert caught.value is not reason
    assert told == [caught.value]
    assert caught.value.usage is not None
    assert thread.messages == []
    await create_agent(ScriptedModel(["next"])).run("again", thread=thread)
    assert len(thread.messages) == 2


async def test_cancelling_the_awaiting_task_stops_the_run_and_propagates():
    told = []
    sandbox = await create_sandbox()
    model = ScriptedModel([[call("bash", command="sleep 1; touch late")], "never"])
    agent = create_agent(model, events=AgentEvents(on_error=told.append))
    task = asyncio.ensure_future(agent.run("go", sandbox=sandbox))
    while not model.requests:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (error,) = told
    assert isinstance(error, TurnError)
    assert isinstance(error.cause, asyncio.CancelledError)
    await asyncio.sleep(1.2)
    assert await sandbox.read_file("late") is None
    await sandbox.destroy()


async def test_cancelled_before_the_start_there_is_no_usage_and_no_event():
    told = []
    run = create_agent(ScriptedModel(["x"]), events=AgentEvents(on_error=told.append)).stream("go")
    run.cancel("early")
    with pytest.raises(TurnError) as caught:
        await run.result()
    assert caught.value.cause == "early"
    assert caught.value.usage is None
    assert told == []


async def test_an_abandoned_failing_run_makes_no_noise():
    run = create_agent(ScriptedModel([[ValueError("x")]])).stream("go")
    assert [event.type async for event in run.events()][-1] == "error"
    del run
    gc.collect()


async def test_a_thread_goes_on_and_is_recorded_as_given():
    thread = create_thread()
    await create_agent(ScriptedModel([[call("ls")], "one"])).run("  first ", thread=thread)
    model = ScriptedModel(["two"])
    await create_agent(model).run("second", thread=thread)
    assert [(m.role, m.content) for m in thread.messages] == [
        ("user", "  first "),
        ("agent", "one"),
        ("user", "second"),
        ("agent", "two"),
    ]
    assert [message.role for message in model.requests[0].messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


async def test_a_thread_has_one_run_at_a_time():
    thread = create_thread()
    agent = create_agent(ScriptedModel([[call("bash", command="sleep 0.3")], "ok"]))
    first = agent.stream("go", thread=thread)
    await asyncio.sleep(0.05)
    with pytest.raises(InvalidOptionError, match=r"clone\(\)"):
        await create_agent(ScriptedModel(["x"])).run("too", thread=thread)
    await first.result()


async def test_a_sandbox_of_the_callers_is_never_destroyed_and_an_ephemeral_one_is():
    async with create_sandbox() as sandbox:
        await create_agent(ScriptedModel([[call("write", file_path="a", content="1")], "ok"])).run(
            "go", sandbox=sandbox
        )
        assert await sandbox.read_text_file("a") == "1"
    with pytest.raises(InvalidOptionError, match="destroyed"):
        await create_agent(ScriptedModel(["x"])).run("go", sandbox=sandbox)


async def test_concurrent_runs_of_one_agent_share_nothing():
    @tool
    async def echo(text: str) -> str:
        """Say it back."""
        await asyncio.sleep(0)
        return text

    class Echo:
        async def stream(self, request):
            if request.messages[-1].role == "user":
                prompt = request.messages[-1].content[0].text
                yield ToolCallDelta("c", "write", f'{{"file_path": "a", "content": "{prompt}"}}')
            else:
                yield TextDelta(request.messages[0].content[0].text)
            yield FinishDelta("stop", PRICED)

        async def describe(self, name):
            return ModelInfo(name="echo/model")

    agent = create_agent(Echo(), tools=[echo])
    results = await asyncio.gather(*(agent.run(str(number)) for number in range(8)))
    assert [(r.text, r.files[0].text(), r.usage.total_tokens) for r in results] == [
        (str(n), str(n), 30) for n in range(8)
    ]


@pytest.mark.parametrize(
    ("limits", "named", "requests"),
    [
        (RunLimits(max_requests=2), "max_requests", 2),
        (RunLimits(max_total_tokens=20), "max_total_tokens", 2),
        (RunLimits(max_cost_usd=0.3), "max_cost_usd", 2),
    ],
)
async def test_limits_are_checked_before_each_request(limits, named, requests):
    model = ScriptedModel([[call("ls"), finish("tool-calls")]] * 5)
    with pytest.raises(LimitExceededError, match=named) as caught:
        await create_agent(model).run("go", limits=limits)
    assert len(model.requests) == requests
    assert caught.value.usage.total_tokens == 15 * requests


async def test_the_deadline_cancels_and_names_itself():
    model = ScriptedModel([[call("bash", command="sleep 30")], "never"])
    with pytest.raises(LimitExceededError, match=r"max_seconds=0\.3"):
        await create_agent(model).run("go", limits=RunLimits(max_seconds=0.3))


async def test_a_silent_model_meets_the_stall_limit_but_a_told_retry_does_not():
    class Silent:
        async def stream(self, request):
            yield RetryDelta(1, 0.3, "told to wait")
            await asyncio.sleep(0.3)
            yield TextDelta("here")
            await asyncio.sleep(30)
            yield FinishDelta("stop", PRICED)

        async def describe(self, name):
            return ModelInfo(name="silent/model")

    run = create_agent(Silent()).stream("go", limits=RunLimits(stall_seconds=0.2))
    with pytest.raises(LimitExceededError, match="stall_seconds"):
        await run.result()
    assert [piece async for piece in run.text_stream] == ["here"]


async def test_a_cost_limit_on_an_unpriced_model_refuses_and_says_the_way_out():
    class Unpriced:
        requests = 0

        async def stream(self, request):
            self.requests += 1
            yield TextDelta("x")
            yield FinishDelta("stop", RequestUsage(input_tokens=1))

        async def describe(self, name):
            return ModelInfo(name="un/priced")

    model = Unpriced()
    with pytest.raises(LimitExceededError, match="allow_unpriced"):
        await create_agent(model).run("go", limits=RunLimits(max_cost_usd=1))
    assert model.requests == 0
    await create_agent(model).run("go", limits=RunLimits(max_cost_usd=1, allow_unpriced=True))


def test_a_stream_in_plain_code_says_the_way_out():
    with pytest.raises(InvalidOptionError, match="run_sync"):
        create_agent(ScriptedModel(["ok"])).stream("go")


def test_run_sync_works_in_plain_code():
    result = create_agent(ScriptedModel([[call("bash", command="echo hi > a")], "ok"])).run_sync("go")
    assert result.files[0].text() == "hi\n"


async def test_run_sync_works_where_a_loop_is_running():
    assert create_agent(ScriptedModel(["ok"])).run_sync("go").text == "ok"


async def test_run_sync_inside_an_async_tool_is_refused_instead_of_waiting_for_itself():
    inner = create_agent(ScriptedModel(["x"]))

    @tool
    async def nested() -> str:
        """Run another agent the wrong way."""
        return inner.run_sync("go").text

    outer = create_agent(ScriptedModel([[call("nested")], "ok"]), tools=[nested])
    told = []
    result = await asyncio.to_thread(outer.run_sync, "go", events=AgentEvents(on_tool_result=told.append))
    assert result.text == "ok"
    assert "await agent.run" in told[0].output


async def test_the_model_is_told_of_its_shell_and_the_users_system_prompt_comes_first():
    model = ScriptedModel(["ok"])
    await create_agent(model, system_prompt="Be brief.").run("go")
    system = model.requests[0].system
    assert system.startswith("Be brief.")
    for word in ("sandbox", "sqlite3", "python3"):
        assert word in system


async def test_options_are_checked_by_the_result_and_nothing_is_asked():
    model = ScriptedModel(["x"])
    agent = create_agent(model)
    for options in (
        {},
        {"prompt": "  "},
        {"prompt": "x", "messages": []},
        {"prompt": "x", "max_attachment_bytes": 0},
        {"prompt": 3},
        {"prompt": "x", "files": [{"path": "/abs", "text": ""}]},
        {"prompt": "x", "thread": {"id": "t", "messages": []}},
        {"prompt": "x", "thinking_level": "turbo"},
        {"prompt": "x", "sandbox": "host"},
        {"prompt": "x", "limits": {"max_requests": 1}},
        {"prompt": "x", "events": print},
        {"prompt": "x", "session_id": ""},
    ):
        run = agent.stream(**options)
        with pytest.raises(InvalidOptionError) as caught:
            await run.result()
        assert caught.value.usage is None
    assert model.requests == []


async def test_what_this_version_lacks_says_so():
    agent = create_agent(ScriptedModel(["x"]))
    with pytest.raises(RuncellNotImplementedError, match="messages="):
        await agent.run(messages=[{"role": "user", "content": "x"}])


def test_results_are_frozen_and_show_themselves_escaped():
    result = create_agent(ScriptedModel(["<script>alert(1)</script>"])).run_sync("go")
    assert "<script>" not in result._repr_html_()
    with pytest.raises(FrozenInstanceError):
        result.text = "x"
