"""Any log, as it goes out to each provider, keeps the rules of the strict fake."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given

from runcell_nb.core.gateway import ToolSpec
from runcell_nb.core.message_log import valid_log
from runcell_nb.core.messages import (
    AssistantMessage,
    ImageBlock,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    user_text,
)
from runcell_nb.models.litellm_wire import wire_messages, wire_tools
from tests.core.log_strategies import any_json, any_text, bounded, logs

from .strict_anthropic import check_anthropic
from .strict_openai import check_openai

MODEL = "claude-sonnet-4-5"


def sent(broken: list[Message]) -> tuple[Message, ...]:
    """The log as a run would send it: after an answer without thinking, whose signature nobody could make."""
    answer = AssistantMessage(content=(TextBlock(text="Fine. "),))
    return valid_log([*broken, user_text("so"), answer, user_text("and?")]).messages


def said(log: tuple[Message, ...]) -> list[str]:
    """What users and tools showed, as it must stand in a request."""
    blocks = [
        block for message in log if not isinstance(message, AssistantMessage) for block in message.content
    ]
    shown = [part for block in blocks for part in getattr(block, "content", [block])]
    return [part.data if isinstance(part, ImageBlock) else part.text for part in shown]


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in strings(item)] if isinstance(value, list) else []


def assert_all_said(log: tuple[Message, ...], body: Any) -> None:
    everything = "\0".join(strings(body["messages"]))
    assert [text for text in said(log) if text not in everything] == []


@given(broken=logs)
@bounded(200)
def test_openai_takes_any_log(broken: list[Message]) -> None:
    log = sent(broken)
    body = {"model": "m", "messages": wire_messages("Be brief.", log, "openai")}
    check_openai(body)
    assert_all_said(log, body)


@given(broken=logs)
@bounded(200)
def test_anthropic_takes_any_log(litellm: Any, broken: list[Message]) -> None:
    log = sent(broken)
    body = litellm.AnthropicConfig().transform_request(
        MODEL, copy.deepcopy(wire_messages("Be brief.", log, "anthropic")), {"max_tokens": 99}, {}, {}
    )
    check_anthropic(body)
    assert_all_said(log, body)


@given(description=any_text, extra=any_json, system=any_text)
@bounded(100)
def test_tools_and_system_prompts_of_any_words_are_taken(description: str, extra: Any, system: str) -> None:
    spec = ToolSpec("t", description, {"properties": {"a": {"description": description, "default": extra}}})
    messages = wire_messages(f"Be brief. {system}", (user_text("go"),), "openai")
    check_openai({"model": "m", "messages": messages, "tools": wire_tools([spec])})


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "mistral"])
def test_an_image_of_a_result_is_never_text(provider: str) -> None:
    picture = ImageBlock(data="AAAA", media_type="image/png")
    log = valid_log(
        [
            user_text("go"),
            AssistantMessage(content=(ToolCallBlock(id="a", name="t", arguments="{}"),)),
            ToolMessage(content=(ToolResultBlock(call_id="a", name="t", content=(picture,)),)),
        ]
    ).messages
    wire = wire_messages(None, log, provider)
    urls = [
        part["image_url"]["url"]
        for message in wire
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    assert urls == ["data:image/png;base64,AAAA"]
    assert json.dumps(wire).count("AAAA") == 1
