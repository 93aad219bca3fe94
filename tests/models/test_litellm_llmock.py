"""The gateway against llmock over real HTTP, in the wire formats of OpenAI, Anthropic and Gemini."""

from __future__ import annotations

import asyncio
import json
import traceback
from typing import Any

import pytest
from llmock.scenarios import Reply, ToolCall

from runcell_nb.core.errors import CredentialError
from runcell_nb.core.gateway import (
    FinishDelta,
    ModelDelta,
    RetryDelta,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallDelta,
)
from runcell_nb.core.messages import (
    AssistantMessage,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    user_text,
)
from runcell_nb.models.litellm_gateway import LiteLLMGateway
from runcell_nb.models.request_error import ModelRequestError

from .gateway_calls import KEY, MODELS, WEATHER, deltas_of, of_type, read_into, request_to, text_of

pytestmark = pytest.mark.usefixtures("llmock")

FORMATS = MODELS | {"gemini": "gemini/gemini-2.5-flash"}


@pytest.fixture(params=sorted(FORMATS))
def provider(request: pytest.FixtureRequest, llmock: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each format, reached through the environment with the canary key."""
    monkeypatch.setenv(f"{request.param.upper()}_API_KEY", KEY)
    monkeypatch.setenv("GEMINI_BASE_URL", llmock.base_url("gemini") + "/v1beta")  # litellm adds no version
    return str(request.param)


async def failure(provider: str, deltas: list[ModelDelta] | None = None) -> ModelRequestError:
    """The error of one request, which shows the key nowhere."""
    with pytest.raises(ModelRequestError) as caught:
        await read_into(
            [] if deltas is None else deltas, LiteLLMGateway().stream(request_to(FORMATS[provider]))
        )
    error = caught.value
    assert KEY not in "".join(traceback.format_exception(error)) + repr(vars(error))
    assert error.__cause__ is None and error.__context__ is None
    return error


async def test_text_streams_and_ends_with_the_providers_usage(llmock: Any, provider: str) -> None:
    llmock.reply("It is sunny in Paris today.")
    deltas = await deltas_of(request_to(FORMATS[provider]))

    assert len(of_type(deltas, TextDelta)) > 2
    assert text_of(deltas) == "It is sunny in Paris today."
    finish = deltas[-1]
    assert isinstance(finish, FinishDelta) and finish.reason == "stop"
    assert finish.usage.source == "provider" and finish.usage.priced
    assert finish.usage.cost_usd > 0 < finish.usage.input_tokens
    assert "Be brief." in json.dumps(llmock.last_request.body) and llmock.last_request.stream
    assert len(llmock.requests) == 1


def test_several_loops_one_after_the_other(llmock: Any, provider: str) -> None:
    """litellm has one client of its own for all loops, whose connections belong to the first."""
    llmock.reply("Sunny.", times=None)
    for _ in range(3):
        assert text_of(asyncio.run(deltas_of(request_to(FORMATS[provider])))) == "Sunny."
    assert len(llmock.requests) == 3


async def test_several_calls_in_one_response(llmock: Any, provider: str) -> None:
    calls = tuple(ToolCall("get_weather", {"city": city}) for city in ("Paris", "Rome", "Oslo"))
    llmock.add(Reply(text="Let me look.", tool_calls=calls))
    deltas = await deltas_of(request_to(FORMATS[provider], tools=(WEATHER,)))

    found = of_type(deltas, ToolCallDelta)
    assert [json.loads(call.arguments)["city"] for call in found] == ["Paris", "Rome", "Oslo"]
    assert len({call.id for call in found}) == 3
    for call in found:
        pieces = [piece.text for piece in of_type(deltas, ToolArgumentsDelta) if piece.call_id == call.id]
        assert "".join(pieces) == call.arguments
    assert deltas[-1].reason == "tool-calls"


async def test_calls_over_several_requests(llmock: Any, provider: str) -> None:
    llmock.call_tool("get_weather", {"city": "Paris"})
    llmock.reply("Sunny.")
    log: list[Any] = [user_text("How is the weather?")]
    deltas = await deltas_of(request_to(FORMATS[provider], *log, tools=(WEATHER,)))
    (call,) = of_type(deltas, ToolCallDelta)
    log.append(
        AssistantMessage(content=(ToolCallBlock(id=call.id, name=call.name, arguments=call.arguments),))
    )
    result = ToolResultBlock(call_id=call.id, name=call.name, content=(TextBlock(text="21C and sunny"),))
    log.append(ToolMessage(content=(result,)))

    answer = await deltas_of(request_to(FORMATS[provider], *log, tools=(WEATHER,)))

    assert text_of(answer) == "Sunny."
    sent = json.dumps(llmock.last_request.body)
    assert "21C and sunny" in sent
    assert sent.count(call.id) == 2 or provider == "gemini"  # whose older models know calls by name


async def test_a_rate_limit_is_waited_for_and_told(llmock: Any, provider: str) -> None:
    llmock.rate_limit(times=2, retry_after=1)
    deltas = await deltas_of(request_to(FORMATS[provider]))

    retries = of_type(deltas, RetryDelta)
    assert [retry.attempt for retry in retries] == [1, 2]
    assert all(retry.delay >= 1 and "429" in retry.reason for retry in retries)
    assert text_of(deltas)
    llmock.assert_resilient(strict=True)


@pytest.mark.parametrize("status", [500, 503, 529])
async def test_a_server_error_is_tried_again(llmock: Any, provider: str, status: int) -> None:
    llmock.fail(status, times=1)
    deltas = await deltas_of(request_to(FORMATS[provider]))

    assert len(of_type(deltas, RetryDelta)) == 1 and text_of(deltas)
    llmock.assert_resilient(strict=True)


async def test_a_provider_that_stays_down_is_given_up_after_four_attempts(llmock: Any) -> None:
    llmock.fail(503, times=None, retry_after=0)
    deltas: list[ModelDelta] = []
    error = await failure("openai", deltas)

    assert error.status == 503 and "'openai/gpt-4o' answered 503" in str(error)
    assert len(of_type(deltas, RetryDelta)) == 3 and len(llmock.requests) == 4


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "Check the key in {}_API_KEY"), (403, "{}_API_KEY"), (404, "name of the model"), (400, "Change")],
)
async def test_other_refusals_are_told_at_once(llmock: Any, provider: str, status: int, says: str) -> None:
    llmock.fail(status, message=f"No: {KEY} and https://user:{KEY}@host/?key={KEY}")
    error = await failure(provider)

    assert error.status == status and says.format(provider.upper()) in str(error)
    assert "[key]" in str(error)
    assert len(llmock.requests) == 1
    llmock.assert_resilient()


async def test_a_used_up_quota_is_told_at_once(llmock: Any, provider: str) -> None:
    llmock.fail(429, code="insufficient_quota", message="You exceeded your current quota", retry_after=1)
    error = await failure(provider)

    assert "quota" in str(error) and "billing" in str(error) and "wait" not in str(error)
    assert len(llmock.requests) == 1


async def test_a_pause_beyond_all_patience_is_told_not_slept_through(llmock: Any, provider: str) -> None:
    llmock.rate_limit(retry_after=3600)
    error = await failure(provider)

    assert error.retry_after == 3600 and "asks to wait 3600 s" in str(error) and len(llmock.requests) == 1


async def test_a_pause_beyond_the_runs_patience_is_told(llmock: Any) -> None:
    llmock.rate_limit(retry_after=20)
    with pytest.raises(ModelRequestError, match="asks to wait 20 s"):
        await deltas_of(request_to(FORMATS["openai"], patience=5.0))
    assert len(llmock.requests) == 1


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt"])
async def test_a_stream_broken_before_its_first_delta_is_tried_again(
    llmock: Any, provider: str, fault: str
) -> None:
    getattr(llmock, fault)(after_chunks=0)
    deltas = await deltas_of(request_to(FORMATS[provider]))

    assert len(of_type(deltas, RetryDelta)) == 1 and text_of(deltas)
    assert isinstance(deltas[-1], FinishDelta)
    llmock.assert_resilient()


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt"])
async def test_a_stream_broken_after_its_first_delta_is_an_error(
    llmock: Any, provider: str, fault: str
) -> None:
    llmock.reply("one two three four five six seven eight nine ten")
    getattr(llmock, fault)(after_chunks=6)
    deltas: list[ModelDelta] = []
    error = await failure(provider, deltas)

    assert "broke off" in str(error)
    assert text_of(deltas).startswith("one two") and not of_type(deltas, FinishDelta)
    assert len(llmock.requests) == 1


@pytest.mark.parametrize("provider", sorted(MODELS), indirect=True)  # Gemini sends arguments as JSON
async def test_malformed_arguments_come_as_they_are(llmock: Any, provider: str) -> None:
    llmock.break_tool_call("malformed_arguments")
    deltas = await deltas_of(request_to(FORMATS[provider], tools=(WEATHER,)))

    (call,) = of_type(deltas, ToolCallDelta)
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(call.arguments)
    assert call.name == "get_weather" and call.arguments.startswith("{")


async def test_an_unknown_tool_comes_as_it_is(llmock: Any, provider: str) -> None:
    llmock.break_tool_call("unknown_tool")
    deltas = await deltas_of(request_to(FORMATS[provider], tools=(WEATHER,)))

    (call,) = of_type(deltas, ToolCallDelta)
    assert call.name == "llmock_unknown_tool"


@pytest.mark.parametrize(("wire", "ours"), [("length", "length"), ("content_filter", "content-filter")])
async def test_how_a_response_was_cut_is_told(llmock: Any, provider: str, wire: str, ours: str) -> None:
    llmock.add(Reply(text="Half of it", finish_reason=wire))
    deltas = await deltas_of(request_to(FORMATS[provider]))

    assert deltas[-1].reason == ours and text_of(deltas) == "Half of it"


async def test_a_missing_key_is_told_before_anything_is_sent(
    llmock: Any, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (f"{provider.upper()}_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(f"{provider.upper()}_BASE_URL", "https://models.example.org/v1")
    with pytest.raises(CredentialError, match=f"{provider.upper()}_API_KEY.*local/demo"):
        await deltas_of(request_to(FORMATS[provider]))
    assert not llmock.requests


@pytest.mark.parametrize("provider", sorted(MODELS), indirect=True)  # a bare Gemini is that of Vertex
async def test_a_bare_id_means_what_the_catalogue_says(llmock: Any, provider: str) -> None:
    deltas = await deltas_of(request_to(FORMATS[provider].partition("/")[2]))
    assert text_of(deltas) and llmock.last_request.provider == provider
