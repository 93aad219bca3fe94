"""A thread whose journal somebody edited is gone on with all the same, at either strict provider."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from runcell_nb import thread_from_dict
from runcell_nb.core.journal import UNREADABLE_IMAGE, journal_of
from runcell_nb.core.message_log import INTERRUPTED
from runcell_nb.core.messages import (
    AssistantMessage,
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    UserMessage,
)

from .strict_provider import Call
from .strict_runs import MODELS, OTHER, agent, saved, strict


def call(call_id: str, name: str = "ls", arguments: str = "{}") -> ToolCallBlock:
    return ToolCallBlock(id=call_id, name=name, arguments=arguments)


def result(call_id: str, *content: TextBlock | ImageBlock) -> ToolResultBlock:
    return ToolResultBlock(call_id=call_id, name="ls", content=content)


def says(text: str) -> TextBlock:
    return TextBlock(text=text)


def user(*content: Any) -> UserMessage:
    return UserMessage(content=content)


def model(*content: Any) -> AssistantMessage:
    return AssistantMessage(content=content)


def tools(*content: Any) -> ToolMessage:
    return ToolMessage(content=content)


BAD_IMAGES = [
    ImageBlock(data=data, media_type=media_type)
    for data, media_type in (
        ("", "image/png"),
        ("A", "image/png"),
        ("AAAA", "image/svg+xml"),
        ("A A=", "image/gif"),
    )
]
ODD_DATA: list[dict[str, Any]] = [
    {},
    {"provider": "anthropic"},
    {"provider": "anthropic", "block": 3},
    {"provider": "anthropic", "block": {}},
    {"provider": "anthropic", "block": {"type": "thinking"}},
    {"provider": "anthropic", "block": {"type": "thinking", "signature": ""}},
    {"provider": "anthropic", "block": {"type": "redacted_thinking"}},
    {"provider": "openai", "block": {"type": "thinking", "signature": "S"}},
]
EDITED: dict[str, Sequence[Message]] = {
    "call without result": [user(says("go")), model(call("a"), call("b")), tools(result("a"))],
    "call without result before the user": [user(says("go")), model(call("a")), user(says("and?"))],
    "call without result before the model": [user(says("go")), model(call("a")), model(says("so"))],
    "result without call": [tools(result("a", says("x"))), user(says("go")), tools(result("b", *BAD_IMAGES))],
    "result of another call": [user(says("go")), model(call("a")), tools(result("b", says("x")))],
    "two results of a call": [
        user(says("go")),
        model(call("a")),
        tools(result("a", says("1")), result("a", says("2"))),
    ],
    "one id twice": [
        user(says("go")),
        model(call("a"), call("a")),
        tools(result("a"), result("a")),
        model(call("a")),
    ],
    "results before calls": [tools(result("a")), model(call("a")), user(says("go"))],
    "the model first": [model(says("hi")), model(says("there")), model(call("a"))],
    "nothing in it": [
        user(),
        model(),
        tools(),
        user(says(" ")),
        model(says("")),
        model(ReasoningBlock(text="hm")),
    ],
    "broken calls": [
        user(says("go")),
        model(*(call("", name, "[") for name in ("", "a.b", "n" * 65, "<b>"))),
    ],
    "200 calls": [
        user(says("go")),
        model(*(call(f"c{n}") for n in range(200))),
        tools(result("c150", says("x"))),
    ],
    "bad images": [user(*BAD_IMAGES), model(call("a")), tools(result("a", *BAD_IMAGES))],
    "odd data": [
        user(says("go")),
        model(*(ReasoningBlock(text="", provider=data) for data in ODD_DATA), call("a")),
    ],
}


WITH_BAD_IMAGES = ("bad images", "result without call")
WITHOUT_OPEN_CALLS = ("bad images", "nothing in it", "result without call", "two results of a call")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("edited", EDITED)
async def test_an_edited_journal_is_taken(edited: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"role": "user", "content": "go", "createdAt": "2026-01-01T00:00:00Z"}
    state = {"version": 1, "id": "t", "messages": [said], "continuation": journal_of(EDITED[edited])}
    thread = thread_from_dict(state)
    assert thread.log is not None
    responses = [(name, (Call("a", "null"),)), (name, ("Done.",)), (OTHER[name], ("Done.",))]
    async with strict(monkeypatch, *responses) as server:
        level = "medium" if name == "anthropic" else None
        await agent(name, thinking_level=level).run("Go.", thread=thread)
        await agent(OTHER[name]).run("Go.", thread=saved(thread))
    asked = json.dumps(server.requests[0].body)
    assert (UNREADABLE_IMAGE in asked) is (edited in WITH_BAD_IMAGES)
    assert (INTERRUPTED in asked) is (edited not in WITHOUT_OPEN_CALLS)
