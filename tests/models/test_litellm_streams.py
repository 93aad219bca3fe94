"""What llmock does not send: thinking, missing usage, empty answers, echoed keys, hang-ups."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from runcell_nb.core.gateway import (
    FinishDelta,
    ModelDelta,
    ReasoningDelta,
    RetryDelta,
    ToolCallDelta,
    ToolSpec,
)
from runcell_nb.core.messages import (
    AssistantMessage,
    ImageBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    user_text,
)
from runcell_nb.models.request_error import ModelRequestError

from .gateway_calls import (
    KEY,
    MODELS,
    USAGE,
    WEATHER,
    deltas_of,
    of_type,
    parts_of_key,
    read_into,
    request_to,
    stream_of,
    text_of,
    to,
)
from .wire_servers import WireServer, anthropic_stream, event, openai_stream


async def test_usage_that_the_provider_left_out_is_called_estimated() -> None:
    async with WireServer([openai_stream({"content": "It is sunny."})]) as server:
        deltas = await deltas_of(to(server))
    usage = deltas[-1].usage
    assert usage.source == "estimated" and usage.input_tokens > 0 and usage.output_tokens > 0


async def test_cached_tokens_are_not_counted_twice() -> None:
    usage = USAGE | {"prompt_tokens_details": {"cached_tokens": 60}}
    async with WireServer([openai_stream({"content": "Hi."}, usage=usage)]) as server:
        found = (await deltas_of(to(server)))[-1].usage
    assert (found.input_tokens, found.cache_read_tokens, found.output_tokens) == (40, 60, 7)
    assert found.cost_usd == pytest.approx(40 * 2.5e-6 + 60 * 1.25e-6 + 7 * 1e-5) and found.priced


async def test_anthropics_cache_buckets(litellm: Any) -> None:
    block = [{"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi."}]
    async with WireServer([anthropic_stream(block)]) as server:
        found = (await deltas_of(to(server, MODELS["anthropic"])))[-1].usage
    assert (found.input_tokens, found.cache_read_tokens, found.cache_write_tokens) == (10, 30, 20)
    assert found.output_tokens == 40 and found.source == "provider"
    prices = litellm.model_cost["claude-sonnet-5-5"]
    assert found.cost_usd == pytest.approx(
        10 * prices["input_cost_per_token"]
        + 30 * prices["cache_read_input_token_cost"]
        + 20 * prices["cache_creation_input_token_cost"]
        + 40 * prices["output_cost_per_token"]
    )


async def test_a_model_that_the_catalogue_lacks_is_unpriced() -> None:
    async with WireServer([openai_stream({"content": "Hi."}, usage=USAGE)]) as server:
        found = (await deltas_of(to(server, "openai/my-own-model")))[-1].usage
    assert found.total_tokens == 107 and (found.cost_usd, found.priced, found.source) == (
        0.0,
        False,
        "provider",
    )


async def test_a_local_server_costs_nothing_and_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    async with WireServer([openai_stream({"content": "Hi."}, usage=USAGE)]) as server:
        monkeypatch.setenv("HOSTED_VLLM_API_BASE", server.url + "/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        deltas = await deltas_of(request_to("hosted_vllm/qwen"))
    assert deltas[-1].usage.source == "local" and deltas[-1].usage.cost_usd == 0
    assert KEY not in repr(server.requests)


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
async def test_an_empty_answer_is_tried_again_then_an_error(reason: str) -> None:
    async with WireServer([openai_stream(finish=reason, usage=USAGE)]) as server:
        deltas: list[ModelDelta] = []
        with pytest.raises(ModelRequestError, match="was empty"):
            await read_into(deltas, stream_of(to(server, patience=1.2)))
    assert of_type(deltas, RetryDelta)


ANSWERED = (
    user_text("Weather?"),
    AssistantMessage(content=(ToolCallBlock(id="c1", name="get_weather", arguments="{}"),)),
    ToolMessage(content=(ToolResultBlock(call_id="c1", name="get_weather"),)),
)
NOTHING = {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}
HIDDEN = {
    "prompt_tokens": 100,
    "completion_tokens": 502,
    "total_tokens": 602,
    "completion_tokens_details": {"reasoning_tokens": 500},
}
EMPTY_TEXT = [{"type": "text", "text": ""}]


@pytest.mark.parametrize(
    ("provider", "parts", "tokens"),
    [
        ("anthropic", anthropic_stream(output_tokens=3), 3),
        ("anthropic", anthropic_stream(EMPTY_TEXT, output_tokens=3), 3),
        ("openai", openai_stream(usage=NOTHING), 2),
        ("openai", openai_stream({"content": ""}, usage=NOTHING), 2),
        ("openai", openai_stream(usage=HIDDEN), 502),
    ],
)
async def test_after_tool_results_an_empty_answer_is_one(provider: str, parts: Any, tokens: int) -> None:
    async with WireServer([parts]) as server:
        deltas = await deltas_of(to(server, MODELS[provider], *ANSWERED, tools=(WEATHER,)))
    assert [type(delta) for delta in deltas] == [FinishDelta] and len(server.requests) == 1
    assert (deltas[0].reason, deltas[0].usage.output_tokens) == ("stop", tokens)
    assert deltas[0].usage.source == "provider"


@pytest.mark.parametrize(
    ("provider", "messages", "parts"),
    [
        ("anthropic", (), anthropic_stream(output_tokens=3)),
        ("openai", (), openai_stream(usage=NOTHING)),
        ("anthropic", ANSWERED, anthropic_stream(output_tokens=40)),
        ("openai", ANSWERED, openai_stream(usage=NOTHING | {"completion_tokens": 40, "total_tokens": 140})),
        ("anthropic", ANSWERED, anthropic_stream(stop="tool_use", output_tokens=3)),
        ("openai", ANSWERED, openai_stream(finish="tool_calls", usage=NOTHING)),
        ("openai", ANSWERED, openai_stream()),
        ("openai", ANSWERED, openai_stream(finish=None, usage=NOTHING)),
    ],
)
async def test_every_other_empty_answer_is_an_error(provider: str, messages: Any, parts: Any) -> None:
    async with WireServer([parts]) as server:
        with pytest.raises(ModelRequestError, match=r"was empty|broke off"):
            await deltas_of(to(server, MODELS[provider], *messages, tools=(WEATHER,), patience=0.0))


@pytest.mark.parametrize(("provider", "field"), [("anthropic", "input_schema"), ("openai", "parameters")])
@pytest.mark.parametrize(
    "parameters", [{}, {"type": "object"}, {"properties": {}}, {"type": "object", "properties": {}}]
)
async def test_a_tool_without_parameters_goes_out_as_an_empty_object(
    provider: str, field: str, parameters: dict[str, Any]
) -> None:
    parts = [*EMPTY_TEXT, {"type": "text_delta", "text": "Hi."}]
    answer = (
        anthropic_stream(parts) if provider == "anthropic" else openai_stream({"content": "Hi."}, usage=USAGE)
    )
    tool = ToolSpec("now", "Tell the time.", parameters)
    async with WireServer([answer]) as server:
        await deltas_of(to(server, MODELS[provider], tools=(tool,)))
    (sent,) = server.requests[0].body["tools"]
    schema = sent.get("function", sent)[field]
    assert (schema["type"], schema["properties"]) == ("object", {})


async def test_an_answer_that_was_cut_before_any_text_is_an_ending() -> None:
    async with WireServer([openai_stream(finish="length", usage=USAGE)]) as server:
        deltas = await deltas_of(to(server))
    assert [type(delta) for delta in deltas] == [FinishDelta] and deltas[0].reason == "length"


async def test_an_error_in_the_middle_of_a_stream_is_told() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": f"Busy {KEY}"}}
    block = [{"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi, "}]
    parts = [*anthropic_stream(block)[:3], event(overloaded)]
    async with WireServer([parts]) as server:
        deltas: list[ModelDelta] = []
        with pytest.raises(ModelRequestError, match="Busy") as caught:
            await read_into(deltas, stream_of(to(server, MODELS["anthropic"])))
    assert text_of(deltas) == "Hi, "
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("model", sorted(MODELS.values()))
async def test_a_key_that_a_refusal_repeats_is_not_shown(model: str) -> None:
    body = json.dumps({"error": {"message": f"Bad key {KEY} in Bearer {KEY}", "code": KEY}}).encode()
    refusal = (401, {"content-type": "application/json", "x-echo": KEY}, body)
    async with WireServer([refusal]) as server:
        with pytest.raises(ModelRequestError) as caught:
            await deltas_of(to(server, model))
    error = caught.value
    shown = "".join(traceback.format_exception(error)) + str(error) + repr(error) + repr(vars(error))
    assert not parts_of_key(shown) and ("[key]" in shown or "REDACTED" in shown)  # litellm hides some itself
    assert error.__cause__ is None and error.__context__ is None
    assert KEY in repr(server.requests[0].headers)  # the canary was really sent


@pytest.mark.parametrize("model", sorted(MODELS.values()))
@pytest.mark.parametrize("before", [275, 285, 295])
async def test_a_key_that_lies_across_the_cut_is_not_shown_in_part(model: str, before: int) -> None:
    body = json.dumps({"error": {"message": f"{'x ' * (before // 2)} {KEY} {'y ' * 200}"}}).encode()
    async with WireServer([(400, {"content-type": "application/json"}, body)]) as server:
        with pytest.raises(ModelRequestError) as caught:
            await deltas_of(to(server, model))
    assert caught.value.detail.endswith("…")
    assert not parts_of_key(str(caught.value) + repr(vars(caught.value)))


async def test_a_pause_in_milliseconds_is_understood() -> None:
    busy = (
        429,
        {"content-type": "application/json", "retry-after-ms": "40"},
        b'{"error": {"message": "Slow"}}',
    )
    async with WireServer([busy, openai_stream({"content": "Hi."}, usage=USAGE)]) as server:
        deltas = await deltas_of(to(server))
    (retry,) = of_type(deltas, RetryDelta)
    assert 0.04 <= retry.delay <= 0.3 and text_of(deltas) == "Hi."


async def test_a_server_that_is_not_there_is_named_so() -> None:
    async with WireServer([]) as server:
        address = server.url + "/v1"
    with pytest.raises(ModelRequestError, match=r"could not be reached.*Check that the server runs"):
        await deltas_of(request_to("openai/gpt-4o", base_url=address, patience=0.0))


async def test_connections_are_used_again() -> None:
    async with WireServer([openai_stream({"content": "Hi."}, usage=USAGE)]) as server:
        for _ in range(3):
            await deltas_of(to(server))
    assert (len(server.requests), server.connections) == (3, 1)


@pytest.mark.parametrize("model", sorted(MODELS.values()))
async def test_leaving_a_stream_closes_its_connection(model: str) -> None:
    block = [{"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi, "}]
    begun = (
        anthropic_stream(block)[:3] if "claude" in model else openai_stream({"content": "Hi, "}, finish=None)
    )
    async with WireServer([[*begun, 60.0]]) as server:
        stream = stream_of(to(server, model))
        await anext(stream)
        await stream.aclose()
        await asyncio.wait_for(server.hung_up.wait(), 5)


async def until(happened: Callable[[], object], task: asyncio.Task[None]) -> None:
    """Wait for something that the task does; one that ended without it is the failure."""
    while not happened():
        assert not task.done(), task
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("begun", [True, False])
async def test_cancelling_the_reader_closes_the_connection(begun: bool) -> None:
    parts = openai_stream({"content": "Hi, "}, finish=None) if begun else []
    async with WireServer([[*parts, 60.0]]) as server:
        deltas: list[ModelDelta] = []
        task = asyncio.create_task(read_into(deltas, stream_of(to(server))))
        await until(lambda: deltas if begun else server.requests, task)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.hung_up.wait(), 5)


async def test_cancelling_while_waiting_for_a_retry_ends_at_once() -> None:
    busy = (429, {"content-type": "application/json", "retry-after": "50"}, b'{"error": {"message": "Slow"}}')
    async with WireServer([busy]) as server:
        deltas: list[ModelDelta] = []
        task = asyncio.create_task(read_into(deltas, stream_of(to(server))))
        await until(lambda: deltas, task)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 5)
    assert len(server.requests) == 1


THINKING = [
    [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Rome, "},
        {"type": "thinking_delta", "thinking": "then."},
        {"type": "signature_delta", "signature": "SIGNED"},
    ],
    [{"type": "redacted_thinking", "data": "HIDDEN"}],
    [
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"city": "Rome"}'},
    ],
]


async def test_anthropics_signed_thinking_comes_and_goes_back() -> None:
    answer = anthropic_stream([{"type": "text", "text": ""}, {"type": "text_delta", "text": "Sunny."}])
    async with WireServer([anthropic_stream(*THINKING, stop="tool_use"), answer]) as server:
        model = MODELS["anthropic"]
        deltas = await deltas_of(to(server, model, tools=(WEATHER,), thinking_level="low"))
        blocks = reasoning_blocks(of_type(deltas, ReasoningDelta))
        (call,) = of_type(deltas, ToolCallDelta)
        asked = AssistantMessage(
            content=(*blocks, ToolCallBlock(id=call.id, name=call.name, arguments=call.arguments))
        )
        result = ToolMessage(content=(ToolResultBlock(call_id=call.id, name=call.name),))
        log = (user_text("Weather?"), asked, result)
        await deltas_of(to(server, model, *log, tools=(WEATHER,), thinking_level="low"))

    assert [block.text for block in blocks] == ["Rome, then.", ""]
    assert "thinking" in server.requests[0].body
    sent = server.requests[1].body["messages"][1]["content"]
    assert sent[0] == {"type": "thinking", "thinking": "Rome, then.", "signature": "SIGNED"}
    assert sent[1] == {"type": "redacted_thinking", "data": "HIDDEN"}
    assert sent[2]["type"] == "tool_use" and sent[2]["input"] == {"city": "Rome"}


def reasoning_blocks(deltas: list[ReasoningDelta]) -> list[ReasoningBlock]:
    """Put the pieces together as the engine does: provider data ends a block."""
    blocks, text = [], ""
    for delta in deltas:
        text += delta.text
        if delta.provider is not None:
            blocks.append(ReasoningBlock(text=text, provider=delta.provider))
            text = ""
    assert not text
    return blocks


async def test_images_of_a_result_go_where_the_provider_takes_them() -> None:
    call = ToolCallBlock(id="c1", name="plot", arguments="{}")
    image = ImageBlock(data="iVBORw0KGgo=", media_type="image/png")
    result = ToolResultBlock(call_id="c1", name="plot", content=(TextBlock(text="a plot"), image))
    log = (user_text("Plot."), AssistantMessage(content=(call,)), ToolMessage(content=(result,)))
    block = [{"type": "text", "text": ""}, {"type": "text_delta", "text": "Nice."}]
    async with WireServer(
        [anthropic_stream(block), openai_stream({"content": "Nice."}, usage=USAGE)]
    ) as server:
        await deltas_of(to(server, MODELS["anthropic"], *log))
        await deltas_of(to(server, MODELS["openai"], *log))

    anthropic, openai = (request.body["messages"] for request in server.requests)
    parts = anthropic[-1]["content"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "image"]
    assert [message["role"] for message in openai] == ["system", "user", "assistant", "tool", "user"]
    assert "c1" in openai[-1]["content"][0]["text"]
    assert openai[-1]["content"][1]["image_url"]["url"] == "data:image/png;base64,iVBORw0KGgo="
