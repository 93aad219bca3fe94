"""OpenAI's Responses API, through which litellm sends later GPT models that think and have tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runcell_nb.core.gateway import (
    ContextOverflowError,
    ModelDelta,
    ReasoningDelta,
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
from runcell_nb.models.request_error import ModelRequestError

from .gateway_calls import WEATHER, deltas_of, of_type, read_into, stream_of, text_of, to
from .wire_servers import WireServer, event

MODEL = "openai/gpt-5.4"
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60},
    "output_tokens": 57,
    "output_tokens_details": {"reasoning_tokens": 50},
    "total_tokens": 157,
}


def response(kind: str, **more: Any) -> bytes:
    """An event about the whole response."""
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": [], "usage": None}
    return event({"type": f"response.{kind}", "response": whole | {"status": kind} | more})


def item(index: int, kind: str, item_id: str, *events: tuple[str, str], **more: Any) -> list[bytes]:
    """The events of one item: that it begins, its pieces, that it ends."""
    whole = {"type": kind, "id": item_id, **more}
    pieces = [
        event({"type": f"response.{name}.delta", "item_id": item_id, "output_index": index, "delta": delta})
        for name, delta in events
    ]
    begun = event({"type": "response.output_item.added", "output_index": index, "item": whole})
    return [
        begun,
        *pieces,
        event({"type": "response.output_item.done", "output_index": index, "item": whole}),
    ]


def call(index: int, call_id: str, city: str) -> list[bytes]:
    name = "function_call_arguments"
    pieces = ((name, '{"city":'), (name, f'"{city}"}}'))
    return item(
        index, "function_call", f"fc_{index}", *pieces, call_id=call_id, name="get_weather", arguments=""
    )


BEGUN = [response("created"), response("in_progress")]
THOUGHT = item(0, "reasoning", "rs_1", ("reasoning_summary_text", "Hm."), summary=[])
TEXT = item(
    1, "message", "msg_1", ("output_text", "It is "), ("output_text", "sunny."), role="assistant", content=[]
)
DONE = response("completed", usage=USAGE)


def ask(server: WireServer, *messages: Any) -> Any:
    return to(server, MODEL, *messages, tools=(WEATHER,), thinking_level="low", patience=0.0)


async def answered(*parts: bytes) -> list[ModelDelta]:
    async with WireServer([list(parts)]) as server:
        deltas = await deltas_of(ask(server))
    assert server.requests[0].path == "/v1/responses"
    return deltas


async def test_text_thinking_and_figures() -> None:
    deltas = await answered(*BEGUN, *THOUGHT, *TEXT, DONE)
    assert [delta.text for delta in of_type(deltas, ReasoningDelta)] == ["Hm."]
    assert (text_of(deltas), deltas[-1].reason) == ("It is sunny.", "stop")
    usage = deltas[-1].usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (40, 60, 57)
    assert usage.source == "provider" and usage.priced


async def test_several_calls() -> None:
    deltas = await answered(*BEGUN, *call(0, "call_a", "Rome"), *call(1, "call_b", "Oslo"), DONE)
    found = of_type(deltas, ToolCallDelta)
    assert [(one.id, json.loads(one.arguments)["city"]) for one in found] == [
        ("call_a", "Rome"),
        ("call_b", "Oslo"),
    ]
    assert deltas[-1].reason == "tool-calls"


@pytest.mark.parametrize(
    ("why", "reason"), [("max_output_tokens", "length"), ("content_filter", "content-filter")]
)
async def test_how_a_response_was_cut_is_told(why: str, reason: str) -> None:
    end = response("incomplete", usage=USAGE, incomplete_details={"reason": why})
    deltas = await answered(*BEGUN, *TEXT, end)
    assert (text_of(deltas), deltas[-1].reason, deltas[-1].usage.total_tokens) == (
        "It is sunny.",
        reason,
        157,
    )


FAILED = response("failed", error={"code": "server_error", "message": "Oops"})
BROKEN = {
    "cut before anything": ([], "broke off"),
    "cut before its text": (BEGUN, "broke off"),
    "cut after its text": ([*BEGUN, *TEXT], "broke off"),
    "cut in a call": ([*BEGUN, *call(0, "call_a", "Rome")[:2]], "broke off"),
    "failed": ([*BEGUN, FAILED], "Oops"),
    "failed after its text": ([*BEGUN, *TEXT, FAILED], "Oops"),
    "empty": ([*BEGUN, DONE], "was empty"),
}


@pytest.mark.parametrize("how", BROKEN)
async def test_a_broken_response_is_an_error(how: str) -> None:
    parts, says = BROKEN[how]
    deltas: list[ModelDelta] = []
    async with WireServer([list(parts)]) as server:
        with pytest.raises(ModelRequestError, match=says):
            await read_into(deltas, stream_of(ask(server)))
    assert not of_type(deltas, ToolCallDelta)
    assert bool(text_of(deltas)) == ("after its text" in how)
    assert bool(of_type(deltas, ToolArgumentsDelta)) == ("in a call" in how)


async def test_a_conversation_that_is_too_long_is_told_so() -> None:
    error = {"code": "context_length_exceeded", "message": "Your input exceeds the context window."}
    async with WireServer([[*BEGUN, response("failed", error=error)]]) as server:
        with pytest.raises(ContextOverflowError):
            await deltas_of(ask(server))


async def test_calls_and_their_results_go_back() -> None:
    asked = AssistantMessage(
        content=(
            TextBlock(text="I look."),
            ToolCallBlock(id="call_a", name="get_weather", arguments='{"city":"Rome"}'),
        )
    )
    result = ToolResultBlock(call_id="call_a", name="get_weather", content=(TextBlock(text="21C"),))
    async with WireServer([[*BEGUN, *TEXT, DONE]]) as server:
        await deltas_of(ask(server, user_text("Weather?"), asked, ToolMessage(content=(result,))))
    sent = server.requests[0].body["input"]
    kinds = [part.get("type") for part in sent]
    assert kinds == ["message", "message", "message", "function_call", "function_call_output"]
    assert sent[-2]["call_id"] == sent[-1]["call_id"] == "call_a" and "21C" in json.dumps(sent[-1])
