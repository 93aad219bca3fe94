"""How a run fails: what is raised, what is told, what it cost, and that foreign errors stay untouched."""

from __future__ import annotations

import asyncio
import traceback

import pytest

from runcell_nb import (
    AgentEvents,
    ErrorDelta,
    FinishDelta,
    IncompleteResultError,
    InvalidOptionError,
    LimitExceededError,
    ModelInfo,
    RunLimits,
    ScriptedModel,
    TextDelta,
    ToolCallDelta,
    TurnError,
    create_agent,
    create_thread,
    get_run_usage,
)
from runcell_nb.core import errors
from runcell_nb.core.usage import RequestUsage, RunUsage
from tests.conformance import cases


def usage_of(totals):
    return RequestUsage(
        totals["inputTokens"],
        totals["outputTokens"],
        totals["cacheReadTokens"],
        totals["cacheWriteTokens"],
        totals["costUsd"],
        priced=totals["costUsd"] > 0,
    )


class Failing:
    """Answers once with a call, which uses all the tokens, and then does what it is told."""

    def __init__(self, usage, then):
        self.usage, self.then, self.requests = usage, then, 0

    async def describe(self, name):
        return ModelInfo(name="failing/model", local=True)

    async def stream(self, request):
        self.requests += 1
        if self.requests == 1:
            yield ToolCallDelta("1", "ls", "{}")
            yield FinishDelta("tool-calls", self.usage)
            return
        async for delta in self.then(self):
            yield delta


def thrown_by(description):
    if description["kind"] == "exception":
        return RuntimeError(description["message"])
    if description["kind"] == "own":
        return getattr(errors, description["class"])(description["message"])
    return description["value"]


@pytest.mark.parametrize(("given", "expected"), cases("core_cases.json", "failure"))
async def test_failures(given, expected):
    told = []

    def on_error(error):
        told.append(error)
        if given.get("on_error_raises"):
            raise RuntimeError("the listener is broken")

    raised, thrown, reason = await FAIL[given["where"]](given, AgentEvents(on_error=on_error))
    assert len(told) == expected["on_error"]
    assert all(error is raised for error in told)
    if expected["error"] == "$same":
        assert raised is thrown
    else:
        assert type(raised).__name__ == expected["error"]
    if "message" in expected:
        assert str(raised) == expected["message"]
    if "cause" in expected:
        known = {"$same": thrown, "$abort": reason}
        cause = known.get(expected["cause"], expected["cause"]) if expected["cause"] else None
        assert raised.cause is cause or raised.cause == cause
    usage = get_run_usage(raised)
    assert (usage and usage.to_dict()) == expected["usage"]


async def fail_options(given, events):
    thrown = thrown_by(given["thrown"])
    with pytest.raises(InvalidOptionError) as caught:
        await create_agent(ScriptedModel([])).run("", events=events)
    return caught.value, thrown, None


async def fail_session_start(given, events):
    thrown = thrown_by(given["thrown"])

    class Provider:
        specification_version = "harness-sandbox-v1"
        provider_id = "broken"

        async def create_session(self, *, session_id):
            raise thrown

    option = {"type": "custom", "provider": Provider()}
    with pytest.raises(Exception) as caught:
        await create_agent(ScriptedModel([]), sandbox=option).run("go", events=events)
    return caught.value, thrown, None


async def fail_turn(given, events):
    thrown, abort, runs = thrown_by(given["thrown"]), given.get("abort"), []

    async def then(_gateway):
        if abort:
            runs[0].cancel(abort["value"])
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                raise thrown from None
        raise thrown
        yield TextDelta("")  # makes this a generator

    runs.append(create_agent(Failing(usage_of(given["totals"]), then)).stream("go", events=events))
    with pytest.raises(Exception) as caught:
        await runs[0].result()
    return caught.value, thrown, abort and abort["value"]


async def fail_engine_error(given, events):
    thrown = thrown_by(given["thrown"])

    async def then(_gateway):
        yield ErrorDelta(thrown)
        yield ErrorDelta("a later one")
        yield FinishDelta("error", RequestUsage(source="local"))

    with pytest.raises(Exception) as caught:
        await create_agent(Failing(usage_of(given["totals"]), then)).run("go", events=events)
    return caught.value, thrown, None


async def fail_incomplete(given, events):
    async def then(_gateway):
        yield FinishDelta("stop", RequestUsage(source="local"))

    agent = create_agent(Failing(usage_of(given["totals"]), then), max_repairs=1)
    with pytest.raises(Exception) as caught:
        await agent.run("go", schema=int, events=events)
    return caught.value, None, None


async def fail_constructed(given, events):
    usage = given.get("usage")
    told = None if usage is None else RunUsage(**{snake(name): value for name, value in usage.items()})
    return getattr(errors, given["class"])("m", usage=told), None, None


def snake(name):
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


FAIL = {
    "options": fail_options,
    "session_start": fail_session_start,
    "turn": fail_turn,
    "engine_error": fail_engine_error,
    "incomplete": fail_incomplete,
    "constructed": fail_constructed,
}


class Unreadable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    "foreign",
    [
        TurnError("somebody else's"),
        TurnError("with usage", usage=RunUsage(total_tokens=9, input_tokens=9)),
        LimitExceededError("theirs"),
        IncompleteResultError("theirs"),
        InvalidOptionError("theirs"),
        Unreadable(),
        ValueError(),
        StopIteration(3),
        TimeoutError("theirs"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("where", ["gateway", "sandbox"])
async def test_a_foreign_error_is_wrapped_and_untouched_whatever_its_class(foreign, where, monkeypatch):
    before = dict(vars(foreign))
    agent = create_agent(ScriptedModel([[foreign]]))
    if where == "sandbox":
        from runcell_nb.core.changes import WorkspaceWatch

        async def broken(self):
            raise foreign

        monkeypatch.setattr(WorkspaceWatch, "baseline", broken)
    told = []
    with pytest.raises(TurnError) as caught:
        await agent.run("go", events=AgentEvents(on_error=told.append))
    assert caught.value is not foreign
    assert told == [caught.value]
    assert type(caught.value) is TurnError
    # Python itself turns a StopIteration that leaves a coroutine into a RuntimeError with it as its cause.
    cause = caught.value.cause.__cause__ if isinstance(foreign, StopIteration) else caught.value.cause
    assert cause is foreign
    assert str(caught.value)
    assert caught.value.usage == RunUsage()
    assert vars(foreign) == before


async def test_a_foreign_turn_error_as_a_reason_is_wrapped_and_untouched():
    reason = TurnError("the caller's own")
    run = create_agent(ScriptedModel([["a", "b"]])).stream("go")
    run.cancel(reason)
    with pytest.raises(TurnError) as caught:
        await run.result()
    assert caught.value is not reason
    assert caught.value.cause is reason
    assert reason.usage is None


async def test_own_errors_keep_their_class_and_have_no_cause():
    with pytest.raises(LimitExceededError) as limited:
        await create_agent(ScriptedModel([[{"tool": "ls"}], "x"]), limits=RunLimits(max_requests=1)).run("go")
    assert limited.value.cause is None
    with pytest.raises(IncompleteResultError) as incomplete:
        await create_agent(ScriptedModel(["x"]), max_repairs=0).run("go", schema=int)
    assert incomplete.value.cause is None
    assert incomplete.value.__cause__ is None
    assert "max_repairs=0" in str(incomplete.value)


async def test_a_reason_that_is_no_exception_is_kept_as_it_is():
    reason = {"code": 7}
    run = create_agent(ScriptedModel([[{"tool": "bash", "input": {"command": "sleep 5"}}]])).stream("go")
    async for event in run.events():
        if event.type == "tool-call":
            run.cancel(reason)
    with pytest.raises(TurnError) as caught:
        await run.result()
    assert caught.value.cause is reason
    assert caught.value.__cause__ is None
    assert "7" in traceback.format_exception_only(caught.value)[-1]


async def test_a_failed_run_leaves_the_thread_as_it_was():
    thread = create_thread()
    await create_agent(ScriptedModel(["hello"])).run("hi", thread=thread)
    before = thread.to_dict()
    for model, options in (
        (ScriptedModel([["half", RuntimeError("x")]]), {}),
        (ScriptedModel(["no result"] * 2), {"schema": int}),
        (ScriptedModel([[{"tool": "ls"}], "x"]), {"limits": RunLimits(max_requests=1)}),
    ):
        with pytest.raises(TurnError if not options.get("schema") else IncompleteResultError):
            await create_agent(model).run("again", thread=thread, **options)
        assert thread.to_dict() == before
    thread.acquire()  # nobody holds it


async def test_an_unknown_option_of_a_run_is_named():
    with pytest.raises(InvalidOptionError, match="'promt'"):
        await create_agent(ScriptedModel([])).run("x", promt="y")


async def test_the_rest_of_a_stream_is_read_behind_an_error_part_and_a_valid_result_outweighs_it():
    steps = [ErrorDelta("quota"), "and more", {"tool": "submitResult", "input": {"result": 3}}]
    result = await create_agent(ScriptedModel([steps])).run("go", schema=int)
    assert (result.data, result.text) == (3, "and more")
