"""Money as a person reads it."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from runcell_nb.core.usage import RequestUsage
from runcell_nb.notebook.cost import CostTally, total_cost

TOKENS = {"input_tokens": 10, "output_tokens": 5}


def tally_of(*requests: RequestUsage) -> CostTally:
    tally = CostTally()
    for request in requests:
        tally.add_request(asdict(request))
    return tally


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
def test_the_cost_of_a_request_is_honest(cost: float, priced: bool, source: str, shown: str) -> None:
    usage = RequestUsage(**TOKENS, cost_usd=cost, priced=priced, source=source)  # type: ignore[arg-type]
    assert tally_of(usage).text() == shown


@pytest.mark.parametrize(("source", "shown"), [("local", "local"), ("replayed", "$0 (replayed)")])
def test_what_is_free_says_so_even_without_tokens(source: str, shown: str) -> None:
    tally = tally_of(RequestUsage(source=source))  # type: ignore[arg-type]
    assert (tally.text(), bool(tally.sources)) == (shown, True)


def test_nothing_used_costs_nothing() -> None:
    assert tally_of().text() == "$0"
    assert tally_of(RequestUsage()).sources == set()


def test_a_partly_priced_run_says_so() -> None:
    priced = RequestUsage(**TOKENS, cost_usd=0.02, priced=True)
    assert tally_of(priced, RequestUsage(**TOKENS)).text() == "$0.0200 + unpriced"


@pytest.mark.parametrize("source", ["replayed", "local"])
def test_free_requests_do_not_make_a_paid_run_unpriced(source: str) -> None:
    free = RequestUsage(**TOKENS, source=source)  # type: ignore[arg-type]
    assert tally_of(free, RequestUsage(**TOKENS, cost_usd=0.5, priced=True)).text() == "$0.5000"


@pytest.mark.parametrize(
    ("costs", "total"),
    [
        ([], "$0"),
        (["$0.0123", "$0.0077"], "$0.0200"),
        (["$0.0123", "~$0.0050"], "~$0.02"),
        (["$0.0100", "unpriced"], "$0.0100 + unpriced"),
        (["$0.0100 + unpriced", "local"], "$0.0100 + unpriced"),
        (["unpriced", "local"], "unpriced"),
        (["local", "$0 (replayed)"], "local"),
        (["$0 (replayed)"], "$0 (replayed)"),
        (["<b>$1.2.3", "$" + "9" * 400], None),
    ],
)
def test_costs_are_added_as_they_are_shown(costs: list[str], total: str | None) -> None:
    assert total_cost(costs) == total if total else total_cost(costs).startswith("$")
