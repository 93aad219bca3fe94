"""Structured output over the wire: the result, what it cost, and that the next run is accepted."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from runcell_nb import create_agent, create_thread

from .wire_servers import (
    WireServer,
    anthropic_stream,
    call_piece,
    gemini_call,
    gemini_chunk,
    openai_stream,
)


class Answer(BaseModel):
    x: int


OPENAI_USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
GEMINI_USAGE = {"promptTokenCount": 100, "candidatesTokenCount": 7, "totalTokenCount": 107}


def openai_answer(arguments):
    pieces = call_piece(0, "s", "submitResult", arguments)
    return openai_stream(pieces, finish="tool_calls", usage=OPENAI_USAGE)


def anthropic_answer(arguments):
    start = {"type": "tool_use", "id": "s", "name": "submitResult", "input": {}}
    return anthropic_stream(
        [start, {"type": "input_json_delta", "partial_json": arguments}], stop="tool_use", output_tokens=7
    )


def gemini_answer(arguments):
    parts = [gemini_call("submitResult", json.loads(arguments))]
    return [gemini_chunk(*parts, finish="STOP", usage=GEMINI_USAGE)]


FORMATS = {
    "openai": ("openai/gpt-4o", "/v1", openai_answer, 107),
    "anthropic": ("anthropic/claude-sonnet-5-5", "", anthropic_answer, 10 + 7 + 30 + 20),
    "gemini": ("gemini/gemini-2.5-flash", "/v1beta", gemini_answer, 107),
}


@pytest.mark.parametrize("name", FORMATS)
async def test_a_result_is_counted_by_the_provider_although_its_request_is_cut(name, monkeypatch):
    model, suffix, answer, tokens = FORMATS[name]
    scripts = [answer('{"x": "no number"}'), answer('{"x": 5}'), answer('{"x": 6}')]
    async with WireServer(scripts) as server:
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "k-wire-structured")
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", server.url + suffix)
        thread = create_thread()
        agent = create_agent(model)
        run = agent.stream("go", schema=Answer, thread=thread)
        result = await run.result()
        assert result.data == Answer(x=5)
        finished = [event async for event in run.events() if event.type == "request-finished"]
        assert [event.usage_source for event in finished] == ["provider", "provider"]
        assert [event.usage.total_tokens for event in finished] == [tokens, tokens]
        assert result.usage.cost_measured
        again = await agent.run("again", schema=Answer, thread=thread)
        assert again.data == Answer(x=6)
        assert len(server.requests) == 3
        assert "submitResult" in str(server.requests[0].body)
