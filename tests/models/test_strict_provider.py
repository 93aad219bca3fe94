"""The strict fake itself: what it takes, and that each of its rules, broken once, is a 400."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from .strict_anthropic import check_anthropic, check_messages, signature_of
from .strict_json import PIXEL, RefusedError
from .strict_openai import check_openai
from .strict_provider import Call, StrictProvider, Think, anthropic_answer, openai_answer

SCHEMA = {"type": "object", "properties": {}}

OPENAI = {
    "model": "m",
    "tools": [{"type": "function", "function": {"name": "ls", "description": "", "parameters": SCHEMA}}],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
                {"id": "b", "type": "function", "function": {"name": "ls", "arguments": '{"n": 1}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "b", "content": "x"},
        {"role": "tool", "tool_call_id": "a", "content": ""},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            ],
        },
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": "Good."},
    ],
}
ANTHROPIC = {
    "model": "m",
    "max_tokens": 4096,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [{"name": "ls", "input_schema": SCHEMA}],
    "messages": [
        {"role": "user", "content": "Hi."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": signature_of("Hm.")},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "a", "name": "ls", "input": {}},
                {"type": "tool_use", "id": "b", "name": "ls", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True},
                {
                    "type": "tool_result",
                    "tool_use_id": "b",
                    "content": [
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                        }
                    ],
                },
                {"type": "text", "text": "Go on."},
            ],
        },
    ],
}


def at(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change of one place of a body; `...` as the value takes the place away."""

    def change(body: Any) -> None:
        for step in path[:-1]:
            body = body[step]
        if value is ...:
            del body[path[-1]]
        else:
            body[path[-1]] = value

    return change


def openai(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    return at("messages", *path, value=value)


CALL = OPENAI["messages"][2]["tool_calls"][0]
FIRST = (2, "tool_calls", 0)
URL = (5, "content", 1, "image_url", "url")
OPENAI_RULES = {
    "no model": at("model", value=""),
    "no messages": at("messages", value=[]),
    "message of another type": openai(1, value="Hi."),
    "unknown role": openai(1, "role", value="human"),
    "lone surrogate": openai(1, "content", value="a\ud800"),
    "NaN": at("temperature", value=float("nan")),
    "call without result": openai(4, value=...),
    "call without result at the end": at("messages", value=OPENAI["messages"][:4]),
    "result without call": openai(3, "tool_call_id", value="z"),
    "second result of a call": openai(4, "tool_call_id", value="b"),
    "two calls of one id": openai(*FIRST, value=OPENAI["messages"][2]["tool_calls"][1]),
    "no calls in the list": openai(6, "tool_calls", value=[]),
    "129 calls": openai(2, "tool_calls", value=[CALL | {"id": f"c{number}"} for number in range(129)]),
    "no id": openai(*FIRST, "id", value=""),
    "long id": openai(*FIRST, "id", value="x" * 41),
    "call of another type": openai(*FIRST, "type", value="tool"),
    "name of a call": openai(*FIRST, "function", "name", value="a.b"),
    "long name of a call": openai(*FIRST, "function", "name", value="n" * 65),
    "arguments no text": openai(*FIRST, "function", "arguments", value={}),
    "arguments no JSON": openai(*FIRST, "function", "arguments", value="{}{}"),
    "arguments no object": openai(*FIRST, "function", "arguments", value="[]"),
    "arguments with a lone surrogate": openai(*FIRST, "function", "arguments", value='{"a": "\\ud800"}'),
    "arguments with infinity": openai(*FIRST, "function", "arguments", value='{"a": 1e999}'),
    "nothing said": openai(6, "content", value=None),
    "empty text": openai(1, "content", value=""),
    "no parts": openai(5, "content", value=[]),
    "empty part": openai(5, "content", 0, "text", value=" "),
    "part of another type": openai(5, "content", 0, "type", value="input_text"),
    "image of a tool": openai(3, "content", value=OPENAI["messages"][5]["content"]),
    "image of the model": openai(6, "content", value=OPENAI["messages"][5]["content"]),
    "image elsewhere": openai(*URL, value="file:///a.png"),
    "image of another format": openai(
        5, "content", 1, "image_url", "url", value="data:image/bmp;base64,AAAA"
    ),
    "image that does not decode": openai(
        5, "content", 1, "image_url", "url", value="data:image/png;base64,A"
    ),
    "image without data": openai(*URL, value="data:image/png;base64,"),
    "129 tools": at(
        "tools",
        value=[{"function": {"name": f"t{number}", "parameters": SCHEMA}} for number in range(129)],
    ),
    "two tools of one name": at("tools", value=OPENAI["tools"] * 2),
    "name of a tool": at("tools", 0, "function", "name", value="ü"),
    "description of a tool": at("tools", 0, "function", "description", value=None),
    "no parameters of a tool": at("tools", 0, "function", "parameters", value=None),
    "parameters of a tool": at("tools", 0, "function", "parameters", "type", value="array"),
    "properties of a tool": at("tools", 0, "function", "parameters", "properties", value=None),
}

USE = (1, "content", 2)
IMAGE = (2, "content", 1, "content", 0, "source")
ANTHROPIC_RULES = {
    "no model": at("model", value=""),
    "no messages": at("messages", value=[]),
    "no max_tokens": at("max_tokens", value=...),
    "max_tokens within the budget": at("max_tokens", value=1024),
    "small budget": at("thinking", "budget_tokens", value=1000),
    "temperature while thinking": at("temperature", value=0),
    "forced tool while thinking": at("tool_choice", value={"type": "any"}),
    "no system text": at("system", value=[]),
    "blank system text": at("system", 0, "text", value=" "),
    "lone surrogate": at("system", 0, "text", value="\udc00"),
    "NaN": openai(*USE, "input", value={"a": float("nan")}),
    "the model first": at("messages", value=ANTHROPIC["messages"][1:]),
    "system among the messages": openai(0, "role", value="system"),
    "two of the user": at("messages", value=[ANTHROPIC["messages"][0]] + ANTHROPIC["messages"]),
    "the model last": at("messages", value=[*ANTHROPIC["messages"], {"role": "assistant", "content": "I"}]),
    "nothing said": openai(1, "content", value=[]),
    "empty text": openai(0, "content", value=""),
    "blank text of the model": openai(1, "content", 1, "text", value="\n"),
    "blank text of the user": openai(2, "content", 2, "text", value=" "),
    "block of another type": openai(2, "content", 2, "type", value="input_text"),
    "block of another type of the model": openai(1, "content", 1, "type", value="image"),
    "id of a call": openai(*USE, "id", value="functions.ls:0"),
    "two calls of one id": openai(*USE, "id", value="b"),
    "name of a call": openai(*USE, "name", value="a.b"),
    "input no object": openai(*USE, "input", value=[]),
    "call without result": openai(2, "content", 0, value=...),
    "call without anything after": at(
        "messages", value=[*ANTHROPIC["messages"][:2], {"role": "user", "content": "x"}]
    ),
    "result without call": openai(2, "content", 0, "tool_use_id", value="z"),
    "second result of a call": openai(2, "content", 2, value=ANTHROPIC["messages"][2]["content"][0]),
    "text before results": openai(2, "content", value=ANTHROPIC["messages"][2]["content"][::-1]),
    "error without words": openai(2, "content", 0, "content", value=""),
    "error with an image": openai(2, "content", 1, "is_error", value=True),
    "blank text in a result": openai(2, "content", 0, "content", value=[{"type": "text", "text": ""}]),
    "image by address": openai(*IMAGE, "type", value="url"),
    "image of another format": openai(*IMAGE, "media_type", value="image/svg+xml"),
    "image that does not decode": openai(*IMAGE, "data", value="AA"),
    "image without data": openai(*IMAGE, "data", value=""),
    "thinking without signature": openai(1, "content", 0, "signature", value=""),
    "thinking without text": openai(1, "content", 0, "thinking", value=...),
    "thinking of others": openai(1, "content", 0, "thinking", value="Aha."),
    "thinking not first": openai(1, "content", value=ANTHROPIC["messages"][1]["content"][::-1]),
    "thinking left out": openai(1, "content", 0, value=...),
    "two tools of one name": at("tools", value=ANTHROPIC["tools"] * 2),
    "name of a tool": at("tools", 0, "name", value=""),
    "schema of a tool": at("tools", 0, "input_schema", value={}),
}


FORMATS: dict[str, Any] = {
    "openai": ("/v1/chat/completions", check_openai, OPENAI, OPENAI_RULES),
    "anthropic": ("/v1/messages", check_anthropic, ANTHROPIC, ANTHROPIC_RULES),
}


def broken(format_name: str, rule: str) -> dict[str, Any]:
    """A body that breaks one rule."""
    _, _, body, rules = FORMATS[format_name]
    body = copy.deepcopy(body)
    rules[rule](body)
    return body


@pytest.mark.parametrize(
    ("format_name", "rule"), [(name, rule) for name, parts in FORMATS.items() for rule in parts[3]]
)
def test_a_broken_rule_is_refused_and_the_whole_body_is_not(format_name: str, rule: str) -> None:
    check, good = FORMATS[format_name][1:3]
    check(good)
    with pytest.raises(RefusedError):
        check(broken(format_name, rule))


@pytest.mark.parametrize("format_name", FORMATS)
async def test_a_refusal_is_a_400_with_the_reason_and_all_else_is_answered(format_name: str) -> None:
    """The bodies go as Python writes JSON, NaN and lone surrogates included."""
    path, _, good, rules = FORMATS[format_name]
    bodies = [broken(format_name, rule) for rule in rules]
    async with StrictProvider([openai_answer("fine")]) as server, httpx.AsyncClient() as client:
        sent = [await client.post(server.url + path, content=json.dumps(body).encode()) for body in bodies]
        answer = await client.post(server.url + path, json=good)
    assert [response.status_code for response in sent] == [400] * len(rules)
    assert [response.json()["error"]["message"] for response in sent] == server.refusals
    assert all(response.json()["error"]["type"] == "invalid_request_error" for response in sent)
    assert answer.status_code == 200 and "fine" in answer.text


def test_thinking_that_moved_is_refused() -> None:
    first = {"type": "thinking", "thinking": "A", "signature": signature_of("A")}
    text = {"type": "text", "text": "so"}
    second = {"type": "thinking", "thinking": "B", "signature": signature_of("B", ["thinking", "text"])}
    user = {"role": "user", "content": "x"}
    check_messages([user, {"role": "assistant", "content": [first, text, second]}, user])
    with pytest.raises(RefusedError, match="cannot be modified"):
        check_messages([user, {"role": "assistant", "content": [first, second, text]}, user])


def test_answers_carry_what_the_model_said() -> None:
    pieces = ("Hm.", Think("so"), Call("c", "ls", '{"a": 1}'))
    for answer in (openai_answer(*pieces), anthropic_answer(*pieces)):
        stream = b"".join(answer).decode()
        assert all(said in stream for said in ("Hm.", "so", "ls", '{\\"a\\": 1}'))
