"""Money as a person reads it: measured, estimated, unpriced, local or replayed; never `$0.00` for unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


def cost_text(usage: object, source: str) -> str:
    """Return the cost of a request or run in a few characters.

    Args:
        usage: A `RunUsage` or `RequestUsage`, or one of them as a dict (snake_case keys).
        source: Who counted: 'provider', 'estimated', 'local' or 'replayed'.

    Returns:
        `$0.0123` measured, `~$0.01` estimated, `unpriced`, `local`, `$0 (replayed)`, `$0` where no
        token was used, `$0.0123 + unpriced` where only some requests have a price.
    """
    tally = CostTally()
    measured = bool(_member(usage, "cost_measured") or _member(usage, "priced"))
    tally.add(_tokens(usage), float(_member(usage, "cost_usd") or 0), measured, source)
    return tally.text()


@dataclass(slots=True)
class CostTally:
    """The costs of a run's requests, kept apart by how well they are known."""

    paid: float = 0.0
    unpriced: bool = False
    sources: set[str] = field(default_factory=set)

    def add_request(self, usage: Mapping[str, Any]) -> None:
        """Count one request, given as a `RequestUsage` dict."""
        source, priced = str(usage.get("source", "provider")), bool(usage.get("priced"))
        self.add(_tokens(usage), float(usage.get("cost_usd") or 0), priced, source)

    def add(self, tokens: int, cost: float, priced: bool, source: str) -> None:
        """Count tokens that cost `cost` US dollars."""
        if tokens == 0 and cost == 0:
            return
        self.sources.add(source)
        if source in ("local", "replayed"):
            return
        self.paid += cost
        self.unpriced = self.unpriced or not priced or cost == 0

    def text(self) -> str:
        """Return the sum so far; see `cost_text`."""
        if self.paid > 0:
            amount = _dollars(self.paid, estimated="estimated" in self.sources)
            return f"{amount} + unpriced" if self.unpriced else amount
        if self.unpriced:
            return "unpriced"
        if "local" in self.sources:
            return "local"
        return "$0 (replayed)" if self.sources else "$0"


def _dollars(amount: float, *, estimated: bool) -> str:
    sign = "~" if estimated else ""
    if amount < 0.0001:
        return f"{sign}<$0.0001"
    coarse = amount >= (0.01 if estimated else 10)
    return f"{sign}${amount:.2f}" if coarse else f"{sign}${amount:.4f}"


def _tokens(usage: object) -> int:
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return sum(int(_member(usage, name) or 0) for name in names)


def _member(usage: object, name: str) -> Any:
    if isinstance(usage, Mapping):
        return usage.get(name)
    return getattr(usage, name, None)
