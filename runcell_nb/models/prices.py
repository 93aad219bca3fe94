"""What a request used and what it costs at list price (API 1, FACTS 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runcell_nb.core.usage import RequestUsage, UsageSource

from .catalogue import Target


def request_usage(litellm: Any, target: Target, usage: Any, source: UsageSource) -> RequestUsage:
    """Return the honest figures of one request.

    Args:
        litellm: The module.
        target: The model that answered.
        usage: litellm's `Usage`, whose prompt tokens include those of the cache; None when there is none.
        source: Who counted. A local request costs nothing.
    """
    if usage is None:
        return RequestUsage(source=source)
    read, written = _cache_tokens(usage)
    cost, priced = (0.0, False) if source == "local" else _cost(litellm, target, usage)
    return RequestUsage(
        input_tokens=max(0, _count(getattr(usage, "prompt_tokens", 0)) - read - written),
        output_tokens=_count(getattr(usage, "completion_tokens", 0)),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cost_usd=cost,
        priced=priced,
        source=source,
    )


def price(info: Mapping[str, Any], field: str) -> float | None:
    """Return a price of a catalogue entry in US dollars; a price of 0 is none, because many are unknown.

    Of a price that depends on the length of the prompt it is that of a short one.
    """
    tiers: Sequence[Mapping[str, Any]] = info.get("tiered_pricing") or ({},)
    value = info.get(field) or tiers[0].get(field)
    return float(value) if isinstance(value, (int, float)) and value > 0 else None


def _cost(litellm: Any, target: Target, usage: Any) -> tuple[float, bool]:
    """Return the list price and whether every side that used tokens has an explicit, non-zero price."""
    if target.key is None:
        return 0.0, False  # litellm guesses for some unknown models: a guess is no price
    try:
        prompt, completion = litellm.cost_per_token(
            model=target.key, custom_llm_provider=_price_provider(target), usage_object=usage
        )
    except Exception:  # an entry without figures, or in a form that this litellm cannot compute
        return 0.0, False
    priced = _is_paid(prompt, getattr(usage, "prompt_tokens", 0)) and _is_paid(
        completion, getattr(usage, "completion_tokens", 0)
    )
    return (float(prompt + completion), True) if priced and prompt + completion > 0 else (0.0, False)


def _price_provider(target: Target) -> str:
    """Return the provider under which litellm's price table has the model: `cohere_chat` for cohere, say."""
    listed = str(target.info.get("litellm_provider", target.provider))
    return target.provider if listed.startswith(f"{target.provider}-") else listed


def _is_paid(cost: float, tokens: Any) -> bool:
    return cost > 0 or not _count(tokens)


def _cache_tokens(usage: Any) -> tuple[int, int]:
    """Return tokens read from and written to a cache, in Anthropic's or in OpenAI's place."""
    details = getattr(usage, "prompt_tokens_details", None)
    read = _count(getattr(usage, "cache_read_input_tokens", None)) or _count(
        getattr(details, "cached_tokens", None)
    )
    written = _count(getattr(usage, "cache_creation_input_tokens", None)) or _count(
        getattr(details, "cache_write_tokens", None)
    )
    return read, written


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
