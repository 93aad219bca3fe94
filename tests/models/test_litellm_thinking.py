"""What goes over the wire for each thinking level, with models as litellm's catalogue has them."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from runcell_nb.core.gateway import ThinkingLevel
from runcell_nb.core.messages import (
    AssistantMessage,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    user_text,
)
from runcell_nb.models.catalogue import Target
from runcell_nb.models.request_error import ModelRequestError
from runcell_nb.models.thinking import thinking_arguments

from .gateway_calls import WEATHER, deltas_of, to
from .wire_servers import WireServer

LEVELS = get_args(ThinkingLevel)
CONTROLS = ("reasoning_effort", "reasoning", "thinking", "output_config", "generationConfig", "think")
REFUSAL = (400, {"content-type": "application/json"}, b'{"error": {"message": "No."}}')


async def body_for(model: str, level: Any, *messages: Message, tools: Any = ()) -> dict[str, Any]:
    async with WireServer([REFUSAL]) as server:
        with pytest.raises(ModelRequestError):
            await deltas_of(to(server, model, *messages, thinking_level=level, tools=tools))
    return server.requests[0].body


async def control_for(model: str, level: Any, tools: Any = ()) -> dict[str, Any]:
    body = await body_for(model, level, tools=tools)
    return {name: body[name] for name in CONTROLS if name in body}


def effort(word: str) -> dict[str, Any]:
    """OpenAI's control."""
    return {"reasoning_effort": word}


def budget(tokens: int) -> dict[str, Any]:
    """Claude's control until 4.5."""
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


def adaptive(word: str) -> dict[str, Any]:
    """Claude's control from 4.6 on."""
    return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": word}}


OFF: dict[str, Any] = {"thinking": {"type": "disabled"}}


def gemini(value: int | str, shown: bool = True) -> dict[str, Any]:
    """Gemini's control: a budget until 2.5, a level from 3 on."""
    control = {"thinkingBudget" if isinstance(value, int) else "thinkingLevel": value}
    return {"generationConfig": {"thinkingConfig": control | {"includeThoughts": shown}}}


# For each model the control for off, minimal, low, medium, high and xhigh.
TABLE: dict[str, list[dict[str, Any]]] = {
    "openai/gpt-4o": [{}] * 6,
    "openai/o3": [effort(word) for word in ("low", "low", "low", "medium", "high", "high")],
    "openai/gpt-5": [effort(word) for word in ("minimal", "minimal", "low", "medium", "high", "high")],
    "openai/gpt-5.1": [effort(word) for word in ("none", "low", "low", "medium", "high", "high")],
    "openai/gpt-5.4": [effort(word) for word in ("none", "low", "low", "medium", "high", "xhigh")],
    "azure/gpt-5-mini": [effort(word) for word in ("minimal", "minimal", "low", "medium", "high", "high")],
    "anthropic/claude-haiku-4-5": [
        {}, budget(1024), budget(1024), budget(2048), budget(4096), budget(8192)],
    "anthropic/claude-sonnet-4-6": [
        {}, *(adaptive(word) for word in ("low", "low", "medium", "high", "high"))],
    "anthropic/claude-sonnet-5": [
        OFF, *(adaptive(word) for word in ("low", "low", "medium", "high", "xhigh"))],
    "anthropic/claude-sonnet-5-5": [
        adaptive(word) for word in ("low", "low", "low", "medium", "high", "xhigh")],
    "gemini/gemini-2.5-flash": [
        gemini(0, shown=False), gemini(1), gemini(1024), gemini(2048), gemini(4096), gemini(4096)],
    "gemini/gemini-2.5-pro": [
        gemini(128), gemini(128), gemini(1024), gemini(2048), gemini(4096), gemini(4096)],
    "gemini/gemini-3-flash-preview": [
        gemini("minimal", shown=False),
        *(gemini(word) for word in ("minimal", "low", "medium", "high", "high"))],
    "gemini/gemini-3.1-pro-preview": [
        gemini("low", shown=False), *(gemini(word) for word in ("low", "low", "medium", "high", "high"))],
    "gemini/gemini-4-hydrogen": [
        gemini("low", shown=False), *(gemini(word) for word in ("low", "low", "medium", "high", "xhigh"))],
    "groq/openai/gpt-oss-20b": [{}, *(effort(word) for word in ("low", "low", "medium", "high", "high"))],
    "moonshot/kimi-k3": [effort(word) for word in ("low", "low", "low", "low", "high", "high")],
    "mistral/mistral-medium-latest": [effort("none"), *[effort("high")] * 5],
    "openrouter/some/model": [{}] * 6,
}  # fmt: skip


@pytest.mark.parametrize("model", TABLE)
async def test_each_level_as_the_provider_wants_it(model: str) -> None:
    assert [await control_for(model, level) for level in LEVELS] == TABLE[model]


@pytest.mark.parametrize("model", TABLE)
async def test_a_level_that_is_not_set_is_not_sent(model: str) -> None:
    assert await control_for(model, None) == {}


async def test_a_later_gpt_with_tools_thinks_through_the_responses_api() -> None:
    """Chat Completions refuses the two together; off leaves it there."""
    controls = [await control_for("openai/gpt-5.4", level, (WEATHER,)) for level in ("low", "xhigh", "off")]
    reasoning = [{"reasoning": {"effort": word}} for word in ("low", "xhigh")]
    assert controls == [*reasoning, effort("none")]


@pytest.mark.parametrize("model", ["anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4-6"])
async def test_thinking_takes_nothing_from_the_length_of_an_answer(model: str) -> None:
    lengths = [(await body_for(model, level))["max_tokens"] for level in (None, "low", "xhigh")]
    assert len(set(lengths)) == 1 and lengths[0] > 8192


CALL = ToolCallBlock(id="c1", name="get_weather", arguments="{}")
RESULT = ToolMessage(content=(ToolResultBlock(call_id="c1", name="get_weather"),))
SIGNED = {"provider": "anthropic", "block": {"type": "thinking", "signature": "S"}}


def log(*thinking: ReasoningBlock) -> tuple[Message, ...]:
    return user_text("Weather?"), AssistantMessage(content=(*thinking, CALL)), RESULT


@pytest.mark.parametrize(
    ("model", "messages", "thinks"),
    [
        ("claude-haiku-4-5", log(), False),
        ("claude-haiku-4-5", log(ReasoningBlock(text="Hm.")), False),
        ("claude-haiku-4-5", log(ReasoningBlock(text="Hm.", provider=SIGNED)), True),
        (
            "claude-haiku-4-5",
            (*log(), AssistantMessage(content=(TextBlock(text="21C"),)), user_text("And now?")),
            True,
        ),
        ("claude-sonnet-4-6", log(), True),
    ],
)
async def test_a_claude_with_a_budget_does_not_think_on_after_unsigned_calls(
    model: str, messages: tuple[Message, ...], thinks: bool
) -> None:
    body = await body_for(f"anthropic/{model}", "high", *messages, tools=(WEATHER,))
    assert ("thinking" in body) == thinks


def word(level: Any, info: dict[str, Any], provider: str = "some") -> str | None:
    target = Target(provider, "model", {"supports_reasoning": True, **info})
    found = thinking_arguments(level, target, {}, (user_text("Hi."),)).get("reasoning_effort")
    return None if found is None else str(found)


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (["low", "high", "max"], ["low", "low", "low", "low", "high", "high"]),
        (["none", "high"], ["none", "high", "high", "high", "high", "high"]),
        (["low", "medium", "xhigh"], ["low", "low", "low", "medium", "medium", "xhigh"]),
        (["none", "minimal", "low", "medium", "high"], ["none", "minimal", "low", "medium", "high", "high"]),
        ([], [None] * 6),
    ],
)
def test_a_list_of_levels_is_all_there_is(listed: list[str], words: list[str | None]) -> None:
    info = {"reasoning_effort_levels": listed, "supports_minimal_reasoning_effort": True}
    assert [word(level, info) for level in LEVELS] == words


def test_where_nobody_says_whether_a_model_thinks_unasked_off_asks_for_nothing() -> None:
    assert word("off", {}) is None
    assert word("off", {"supports_none_reasoning_effort": True}) == "none"
    assert word("off", {}, "openai") == "low"
