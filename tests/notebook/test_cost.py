"""Money as a person reads it."""

from __future__ import annotations

import pytest

from runcell_nb.core.usage import RequestUsage, RunUsage
from runcell_nb.notebook.cost import CostTally, cost_text

TOKENS = {"input_tokens": 10, "output_tokens": 5}


@pytest.mark.parametrize(
    ("cost", "priced", "source", "shown"),
    [
        (0.0123, True, "provider", "$0.0123"),
        (12.3456, True, "provider", "$12.35"),
        (0.00001, True, "provider", "<$0.0001"),
        (0.0123, True, "estimated", "~$0.01"),
        (0.0012, True, "estimated", "~$0.0012"),
        (0.0, False, "provider", "unpriced"),
        (0.0, False, "estimated", "unpriced"),
        (0.0, True, "provider", "unpriced"),
        (0.0, False, "local", "local"),
        (0.0, False, "replayed", "$0 (replayed)"),
    ],
)
def test_cost_text_is_honest(cost: float, priced: bool, source: str, shown: str) -> None:
    usage = RequestUsage(**TOKENS, cost_usd=cost, priced=priced, source=source)  # type: ignore[arg-type]
    assert cost_text(usage, source) == shown
    assert cost_text(TOKENS | {"cost_usd": cost, "cost_measured": priced}, source) == shown


def test_a_run_without_tokens_costs_nothing() -> None:
    assert cost_text(RunUsage(), "provider") == "$0"


def test_a_partly_priced_run_says_so() -> None:
    usage = RunUsage(10, 5, 0, 0, 15, cost_usd=0.02, cost_measured=False)
    assert cost_text(usage, "provider") == "$0.0200 + unpriced"


def test_replayed_requests_do_not_make_a_paid_run_unpriced() -> None:
    tally = CostTally()
    tally.add_request(TOKENS | {"source": "replayed", "cost_usd": 0.0, "priced": False})
    tally.add_request(TOKENS | {"source": "provider", "cost_usd": 0.5, "priced": True})
    assert tally.text() == "$0.5000"
