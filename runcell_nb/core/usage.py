"""Tokens and money, counted honestly (API 1, FACTS 9)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

UsageSource = Literal["provider", "estimated", "local", "replayed"]
"""Where the figures of a request come from."""

_MAX_TOKENS = 2**53 - 1


@dataclass(frozen=True, slots=True)
class RequestUsage:
    """What one request used.

    Attributes:
        input_tokens: Prompt tokens that came from no cache.
        output_tokens: Completion tokens, reasoning included.
        cache_read_tokens: Prompt tokens read from the provider's cache.
        cache_write_tokens: Prompt tokens written to the provider's cache.
        cost_usd: List price in US dollars; 0 when unpriced, local or replayed.
        priced: The cost comes from an explicit, non-zero catalogue price.
        source: Who counted: the provider, an estimate, a local model, a replay.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    priced: bool = False
    source: UsageSource = "provider"

    @property
    def total_tokens(self) -> int:
        """The sum of the four buckets."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


def sound(usage: RequestUsage) -> RequestUsage:
    """Return figures that can be added up: what is no count or no finite amount is 0 (FACTS 9.5)."""
    cost = usage.cost_usd
    return replace(
        usage,
        input_tokens=_sound_count(usage.input_tokens),
        output_tokens=_sound_count(usage.output_tokens),
        cache_read_tokens=_sound_count(usage.cache_read_tokens),
        cache_write_tokens=_sound_count(usage.cache_write_tokens),
        cost_usd=float(cost) if _is_amount(cost) else 0.0,
    )


def _sound_count(value: Any) -> int:
    return int(value) if _is_amount(value) else 0


def _is_amount(value: Any) -> bool:
    try:
        return (
            not isinstance(value, bool) and isinstance(value, (int, float)) and 0 <= float(value) < math.inf
        )
    except OverflowError:
        return False


@dataclass(frozen=True, slots=True)
class RunUsage:
    """What a run used, summed over all its requests.

    Attributes:
        input_tokens: Prompt tokens that came from no cache.
        output_tokens: Completion tokens, reasoning included.
        cache_read_tokens: Prompt tokens read from a cache.
        cache_write_tokens: Prompt tokens written to a cache.
        total_tokens: The sum of the four.
        cost_usd: List price in US dollars.
        cost_measured: No tokens were used, or every request had an explicit, non-zero price.
            A cost of 0 with `cost_measured=False` means unpriced, not free.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total_tokens: int = 0
    cost_usd: float = 0.0
    cost_measured: bool = True

    def plus(self, request: RequestUsage) -> RunUsage:
        """Return the usage with one more request in it."""
        unused = request.total_tokens == 0
        return RunUsage(
            input_tokens=self.input_tokens + request.input_tokens,
            output_tokens=self.output_tokens + request.output_tokens,
            cache_read_tokens=self.cache_read_tokens + request.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + request.cache_write_tokens,
            total_tokens=self.total_tokens + request.total_tokens,
            cost_usd=self.cost_usd + request.cost_usd,
            cost_measured=self.cost_measured and (unused or (request.priced and request.cost_usd > 0)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the camelCase JSON form."""
        return {_camel(field.name): getattr(self, field.name) for field in fields(self)}


def get_run_usage(value: object) -> RunUsage | None:
    """Return the usage that an error or any other object carries.

    Args:
        value: Any object; looked at are its attribute or key `usage`.

    Returns:
        The attached `RunUsage` itself, one built from a well-formed mapping or object
        (FACTS 9.9), or None. Never raises.
    """
    try:
        return _well_formed(_attached_usage(value))
    except Exception:
        return None


def _attached_usage(value: object) -> object:
    if isinstance(value, Mapping):
        return value.get("usage")
    return getattr(value, "usage", None)


def _well_formed(usage: object) -> RunUsage | None:
    if usage is None or isinstance(usage, (list, tuple, str, bytes)):
        return None
    values = {field.name: _member(usage, field.name) for field in fields(RunUsage)}
    tokens = [values[name] for name in values if name.endswith("_tokens")]
    if not all(type(count) is int and 0 <= count <= _MAX_TOKENS for count in tokens):
        return None
    cost = values["cost_usd"]
    if type(cost) not in (int, float) or not math.isfinite(cost) or cost < 0:
        return None
    if type(values["cost_measured"]) is not bool or values["total_tokens"] * 2 != sum(tokens):
        return None
    return usage if isinstance(usage, RunUsage) else RunUsage(**values)


def _member(usage: object, name: str) -> Any:
    if isinstance(usage, Mapping):
        return usage[name] if name in usage else usage.get(_camel(name))
    return getattr(usage, name, None)


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.title() for part in tail)
