"""A whole agent against every fault that llmock offers, in three wire formats, and llmock's own verdict."""

from __future__ import annotations

import random
from typing import Any

import pytest
from llmock.chaos import ChaosSettings, StreamChaos
from llmock.scenarios import Reply

from runcell_nb import Agent, LimitExceededError, RunLimits, RunResult, TurnError, create_agent
from runcell_nb.core.events import CompactionEvent, RetryEvent
from runcell_nb.core.gateway import ContextOverflowError
from runcell_nb.models.request_error import ModelRequestError

from .gateway_calls import KEY, MODELS

pytestmark = pytest.mark.slow

FORMATS = MODELS | {"gemini": "gemini/gemini-2.5-flash"}
ANSWER = "one two three four five six seven eight nine ten"
TOLD_CHUNKS = 6
"""After so many every format has brought text."""


@pytest.fixture(params=sorted(FORMATS))
def provider(request: pytest.FixtureRequest, llmock: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each format; the model says the same until the test says otherwise."""
    monkeypatch.setenv(f"{request.param.upper()}_API_KEY", KEY)
    monkeypatch.setenv("GEMINI_BASE_URL", llmock.base_url("gemini") + "/v1beta")
    return str(request.param)


def agent_for(provider: str, **options: Any) -> Agent:
    return create_agent(model=FORMATS[provider], **options)


async def run(provider: str, **options: Any) -> RunResult[Any]:
    return await agent_for(provider).run("Count.", **options)


async def failure(provider: str, **options: Any) -> TurnError:
    """The error of a run that told its caller what was wrong, and nobody the key."""
    with pytest.raises(TurnError) as caught:
        await run(provider, **options)
    assert KEY not in f"{caught.value}{caught.value!r}{caught.value.cause!r}"
    return caught.value


def codes(llmock: Any) -> set[str]:
    """What llmock finds fault with."""
    return {finding.code for finding in llmock.verdict().findings}


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_what_may_pass_is_tried_again(llmock: Any, provider: str, status: int) -> None:
    llmock.fail(status, times=1, retry_after=0.1).reply(ANSWER)
    result = await run(provider)
    assert (result.text, result.finish_reason, len(llmock.requests)) == (ANSWER, "stop", 2)
    assert result.usage.cost_measured and result.usage.total_tokens > 0
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 410, 422, 451])
async def test_what_will_not_pass_is_told_at_once(llmock: Any, provider: str, status: int) -> None:
    llmock.fail(status, times=None)
    error = await failure(provider)
    assert isinstance(error.cause, ModelRequestError) and error.cause.status == status
    assert f"answered {status}" in str(error) and len(llmock.requests) == 1
    assert error.usage is not None and error.usage.total_tokens == 0
    llmock.assert_resilient(strict=True)


async def test_an_outage_ends_after_four_attempts_with_growing_pauses(llmock: Any, provider: str) -> None:
    llmock.fail(500, times=None)
    error = await failure(provider)
    assert "answered 500" in str(error) and len(llmock.requests) == 4
    llmock.assert_resilient(strict=True)


async def test_a_rate_limit_is_waited_for_as_long_as_it_asks(llmock: Any, provider: str) -> None:
    llmock.rate_limit(times=2, retry_after=0.7).reply(ANSWER)
    stream = agent_for(provider).stream("Count.")
    pauses = [event.delay async for event in stream.events() if isinstance(event, RetryEvent)]
    assert (await stream.result()).text == ANSWER
    assert len(pauses) == 2 and all(0.7 <= pause < 1.1 for pause in pauses)
    llmock.assert_resilient(strict=True)


async def test_a_quota_that_refills_is_waited_for(llmock: Any, llmock_server: Any, provider: str) -> None:
    llmock.limits(rpm=120).reply(ANSWER, times=None)
    assert (await run(provider)).text == ANSWER
    for (name, key, _), bucket in llmock_server.state.limiter._buckets.items():
        assert name == provider and KEY in key
        bucket.level = 0.0
    assert (await run(provider)).text == ANSWER
    assert [record.status for record in llmock.requests] == [200, 429, 200]
    llmock.assert_resilient(strict=True)


async def test_a_quota_that_refills_too_late_is_told(llmock: Any, provider: str) -> None:
    llmock.limits(rpm=1).reply(ANSWER, times=None)
    await run(provider)
    error = await failure(provider, limits=RunLimits(max_seconds=20))
    assert "asks to wait" in str(error) and len(llmock.requests) == 2
    assert codes(llmock) == {"gave_up"}  # a warning only: the pause is longer than the run may last


async def test_a_conversation_that_does_not_fit_is_told_once(llmock: Any, provider: str) -> None:
    llmock.limits(context_window=1)  # llmock counts nothing of Gemini's contents
    llmock.context_overflow(times=None, provider="gemini")
    error = await failure(provider)
    assert isinstance(error.cause, ContextOverflowError) and isinstance(error.cause, ModelRequestError)
    assert "too long" in str(error) and len(llmock.requests) == 1
    llmock.assert_resilient(strict=True)


async def test_a_conversation_that_outgrows_the_window_is_made_shorter(llmock: Any, provider: str) -> None:
    def look_up(topic: str) -> str:
        """Look a topic up."""
        if topic == "Oslo":
            llmock.context_overflow()
        return f"{topic} " * 20_000

    for topic in ("Rome", "Oslo"):
        llmock.call_tool("look_up", {"topic": topic})
    llmock.reply(ANSWER)
    stream = agent_for(provider, tools=[look_up]).stream("Compare them.")
    told = [event async for event in stream.events() if isinstance(event, CompactionEvent)]
    assert (await stream.result()).text == ANSWER
    assert len(told) == 1 and "too long" in told[0].reason
    assert [record.status for record in llmock.requests] == [200, 200, 400, 200]
    too_long, shorter = (len(str(record.body)) for record in llmock.requests[-2:])
    assert shorter < too_long
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt"])
async def test_a_stream_broken_before_its_text_is_tried_again(llmock: Any, provider: str, fault: str) -> None:
    llmock.reply(ANSWER, times=None)
    getattr(llmock, fault)(after_chunks=0)
    result = await run(provider)
    assert (result.text, len(llmock.requests)) == (ANSWER, 2)
    # A stream with a broken chunk goes on to its end: to llmock the second attempt is another call.
    llmock.assert_resilient(strict=fault != "corrupt")


FINDINGS = {
    # Text that was passed on cannot be taken back, so the request is not sent again and the run fails.
    "disconnect": {"gave_up"},
    # llmock takes every cut that is not tried again for one that went unnoticed; it cannot see the error.
    "truncate": {"truncated_stream_accepted"},
    "corrupt": set(),
}


@pytest.mark.parametrize("fault", FINDINGS)
async def test_a_stream_broken_after_its_text_fails_the_run(llmock: Any, provider: str, fault: str) -> None:
    llmock.reply(ANSWER, times=None)
    getattr(llmock, fault)(after_chunks=TOLD_CHUNKS)
    error = await failure(provider)
    assert isinstance(error.cause, ModelRequestError) and "broke off" in str(error)
    assert error.usage is not None and error.usage.total_tokens > 0 and len(llmock.requests) == 1
    assert codes(llmock) - {"malformed_chunk_ignored"} == FINDINGS[fault]


@pytest.mark.parametrize("after_chunks", [0, TOLD_CHUNKS])
async def test_a_stall_ends_at_the_runs_limit(llmock: Any, provider: str, after_chunks: int) -> None:
    llmock.reply(ANSWER).stall(after_chunks=after_chunks, seconds=30)
    error = await failure(provider, limits=RunLimits(stall_seconds=0.5))
    assert isinstance(error, LimitExceededError) and "stall_seconds" in str(error)
    (record,) = llmock.requests
    assert not record.completed  # the connection was closed
    llmock.assert_resilient(strict=True)


async def test_slowness_is_borne(llmock: Any, provider: str) -> None:
    llmock.delay(0.2).slow_first_token(0.2).stall(after_chunks=3, seconds=0.2).pace(5).reply(ANSWER)
    assert (await run(provider, limits=RunLimits(stall_seconds=5))).text == ANSWER
    llmock.assert_resilient(strict=True)


BREAKS = [("openai", "malformed_arguments"), ("anthropic", "malformed_arguments"),
          ("openai", "unknown_tool"), ("anthropic", "unknown_tool"), ("gemini", "unknown_tool")]  # fmt: skip


@pytest.mark.parametrize(("provider", "kind"), BREAKS, indirect=["provider"])
async def test_a_broken_call_goes_back_to_the_model(llmock: Any, provider: str, kind: str) -> None:
    llmock.break_tool_call(kind)
    llmock.call_tool("ls", {"path": "."}).reply(ANSWER)
    result = await run(provider)
    assert (result.text, len(llmock.requests)) == (ANSWER, 2)
    told = str(llmock.last_request.body)
    assert "llmock_unknown_tool" in told or "JSON" in told
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize(("wire", "ours"), [("length", "length"), ("content_filter", "content-filter")])
async def test_how_an_answer_was_cut_is_told(llmock: Any, provider: str, wire: str, ours: str) -> None:
    llmock.add(Reply(text=ANSWER, finish_reason=wire))
    result = await run(provider)
    assert (result.text, result.finish_reason) == (ANSWER, ours)
    assert result.usage.total_tokens > 0 and result.usage.cost_measured
    llmock.assert_resilient(strict=True)


async def test_chaos_ends_in_the_whole_answer_or_in_an_error(
    llmock: Any, llmock_server: Any, provider: str
) -> None:
    random.seed(7)  # llmock draws from it, in this process
    llmock.reply(ANSWER, times=None)
    llmock_server.state.chaos = ChaosSettings(latency_ms=5, error_rates={429: 0.1, 500: 0.1, 503: 0.1})
    faults = (("disconnect", 0.2), ("truncate", 0.2), ("malformed", 0.1))
    llmock_server.state.stream_chaos = StreamChaos(faults)
    outcomes = []
    for number in range(8):  # equal prompts would be attempts of one call to llmock
        try:
            outcomes.append((await agent_for(provider).run(f"Count to {number}.")).text)
        except TurnError as error:
            assert isinstance(error.cause, ModelRequestError)
            outcomes.append("")
    assert set(outcomes) == {ANSWER, ""}
    assert not {"retry_after_ignored", "retried_non_retryable", "retry_storm"} & codes(llmock)
