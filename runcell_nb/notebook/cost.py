"""Money as a person reads it: measured, estimated, unpriced, local or replayed; never `$0.00` for unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_DOLLARS = re.compile(r"(~?)<?\$([0-9]{1,9}(?:\.[0-9]{1,9})?)")


@dataclass(slots=True)
class CostTally:
    """The costs of requests, kept apart by how well they are known.

    Attributes:
        paid: US dollars, measured and estimated.
        unpriced: Some tokens have no price.
        sources: Who counted; empty while nothing was used.
    """

    paid: float = 0.0
    unpriced: bool = False
    sources: set[str] = field(default_factory=set)

    def add_request(self, usage: Mapping[str, Any]) -> None:
        """Count one request, given as a `RequestUsage` dict."""
        source, cost = str(usage.get("source", "provider")), float(usage.get("cost_usd") or 0)
        if source in ("local", "replayed"):
            self.sources.add(source)  # known to be free, whatever was counted
        elif cost or any(usage.get(name) for name in _TOKENS):
            self.sources.add(source)
            self.paid += cost
            self.unpriced = self.unpriced or not usage.get("priced") or cost == 0

    def text(self) -> str:
        """Return the sum so far in a few characters.

        Returns:
            `$0.0123` measured, `~$0.01` estimated, `unpriced`, `local`, `$0 (replayed)`, `$0` where
            nothing was used, `$0.0123 + unpriced` where only some requests have a price.
        """
        if self.paid > 0:
            amount = _dollars(self.paid, estimated="estimated" in self.sources)
            return f"{amount} + unpriced" if self.unpriced else amount
        if self.unpriced:
            return "unpriced"
        if "local" in self.sources:
            return "local"
        return "$0 (replayed)" if self.sources else "$0"


def total_cost(costs: Iterable[str]) -> str:
    """Return the sum of costs as shown to a person, as honest as its least certain part.

    Args:
        costs: As from `CostTally.text`.
    """
    tally = CostTally()
    for cost in costs:
        amount = _DOLLARS.search(cost)
        tally.paid += float(amount[2]) if amount else 0.0
        tally.unpriced |= "unpriced" in cost
        tally.sources |= {source for source in ("local", "replayed") if source in cost}
        if amount and amount[1]:
            tally.sources.add("estimated")
    return tally.text()


def _dollars(amount: float, *, estimated: bool) -> str:
    sign = "~" if estimated else ""
    if amount < 0.0001:
        return f"{sign}<$0.0001"
    coarse = amount >= (0.01 if estimated else 10)
    return f"{sign}${amount:.2f}" if coarse else f"{sign}${amount:.4f}"
