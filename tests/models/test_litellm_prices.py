"""List prices with litellm's own catalogue: tiers, caches, and what has no price."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runcell_nb.core.usage import RequestUsage, RunUsage
from runcell_nb.models.litellm_gateway import LiteLLMGateway
from runcell_nb.models.prices import price

from .gateway_calls import KEY, USAGE, deltas_of, to
from .wire_servers import WireServer, anthropic_stream, gemini_chunk, openai_stream


async def usage_of(model: str, parts: list[Any]) -> RequestUsage:
    async with WireServer([parts]) as server:
        deltas = await deltas_of(to(server, model))
    usage = deltas[-1].usage
    assert isinstance(usage, RequestUsage)
    return usage


def openai(prompt: int, cached: int, completion: int, finish: str = "stop") -> list[Any]:
    figures = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    return openai_stream({"content": "Hi."}, finish=finish, usage=figures)


def gemini(prompt: int, cached: int, answer: int, thoughts: int) -> list[Any]:
    figures = {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": answer,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": prompt + answer + thoughts,
    }
    return [gemini_chunk({"text": "Hi."}, finish="STOP", usage=figures)]


@pytest.mark.parametrize(
    ("model", "parts", "tier"),
    [
        ("openai/gpt-5.4", openai(272_000, 50_000, 100), ""),
        ("openai/gpt-5.4", openai(280_000, 50_000, 100), "_above_272k_tokens"),
        ("gemini/gemini-2.5-pro", gemini(200_000, 50_000, 40, 60), ""),
        ("gemini/gemini-2.5-pro", gemini(280_000, 50_000, 40, 60), "_above_200k_tokens"),
    ],
)
async def test_a_long_prompt_has_the_prices_of_its_tier(
    litellm: Any, model: str, parts: list[Any], tier: str
) -> None:
    prices = litellm.model_cost[model.removeprefix("openai/")]
    usage = await usage_of(model, parts)
    assert usage.priced and (usage.cache_read_tokens, usage.output_tokens) == (50_000, 100)
    assert usage.cost_usd == pytest.approx(
        usage.input_tokens * prices[f"input_cost_per_token{tier}"]
        + 50_000 * prices[f"cache_read_input_token_cost{tier}"]
        + 100 * prices[f"output_cost_per_token{tier}"]
    )


async def test_prices_in_a_table_of_tiers(litellm: Any) -> None:
    first, second, *_ = litellm.model_cost["dashscope/qwen3-max"]["tiered_pricing"]
    for prompt, tier in ((30_000, first), (40_000, second)):
        usage = await usage_of("dashscope/qwen3-max", openai(prompt, 0, 100))
        assert usage.priced and usage.cost_usd == pytest.approx(
            prompt * tier["input_cost_per_token"] + 100 * tier["output_cost_per_token"]
        )


async def test_a_model_with_a_table_of_tiers_is_described_with_a_price(
    litellm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASHSCOPE_API_KEY", KEY)
    info = await LiteLLMGateway().describe("dashscope/qwen3-max")
    first = litellm.model_cost["dashscope/qwen3-max"]["tiered_pricing"][0]
    assert (info.input_price, info.output_price) == (
        first["input_cost_per_token"],
        first["output_cost_per_token"],
    )


async def test_claudes_writes_for_an_hour_cost_more_than_those_for_five_minutes(litellm: Any) -> None:
    block = [{"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi."}]
    begin, *rest = anthropic_stream(block)
    assert isinstance(begin, bytes)
    start = json.loads(begin.partition(b"data: ")[2])
    start["message"]["usage"] |= {
        "cache_creation_input_tokens": 6000,
        "cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 5000},
    }
    usage = await usage_of(
        "anthropic/claude-sonnet-4-5",
        [b"event: message_start\ndata: " + json.dumps(start).encode() + b"\n\n", *rest],
    )
    prices = litellm.model_cost["claude-sonnet-4-5"]
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (10, 30, 6000)
    assert usage.cost_usd == pytest.approx(
        10 * prices["input_cost_per_token"]
        + 30 * prices["cache_read_input_token_cost"]
        + 1000 * prices["cache_creation_input_token_cost"]
        + 5000 * prices["cache_creation_input_token_cost_above_1hr"]
        + 40 * prices["output_cost_per_token"]
    )


async def test_a_request_that_was_cut_by_its_length_is_priced() -> None:
    usage = await usage_of("openai/gpt-4o", openai(100, 0, 7, finish="length"))
    assert usage.priced and usage.cost_usd == pytest.approx(100 * 2.5e-6 + 7 * 1e-5)


@pytest.mark.parametrize(
    "model", ["openai/my-own-model", "openrouter/some/model", "openrouter/openrouter/free"]
)
async def test_what_has_no_price_is_unpriced_not_free(model: str) -> None:
    usage = await usage_of(model, openai_stream({"content": "Hi."}, usage=USAGE))
    assert (usage.cost_usd, usage.priced, usage.source) == (0.0, False, "provider")
    run = RunUsage().plus(usage)
    assert (run.cost_usd, run.cost_measured) == (0.0, False)


def test_a_price_of_nothing_is_none() -> None:
    assert price({"input_cost_per_token": 0.0}, "input_cost_per_token") is None
    assert price({}, "input_cost_per_token") is None
    assert price({"tiered_pricing": []}, "input_cost_per_token") is None
    assert price({"input_cost_per_token": 1e-6}, "input_cost_per_token") == 1e-6
