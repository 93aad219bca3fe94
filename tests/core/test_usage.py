from __future__ import annotations

import pytest

from runcell_nb import RunUsage, get_run_usage
from runcell_nb.core.usage import RequestUsage
from tests.conformance import cases, decoded


class Carrier:
    def __init__(self, usage):
        self.usage = usage


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "run_usage"))
def test_run_usage_cases(given, expect):
    usage = decoded(given["usage"])
    carriers = [object()] if usage == "$none" else [Carrier(usage), {"usage": usage}]
    for carrier in carriers:
        found = get_run_usage(carrier)
        assert (None if found is None else found.to_dict()) == expect["ok"]


def test_the_attached_object_itself_is_returned():
    usage = RunUsage(1, 2, 3, 4, 10, 0.5, True)
    assert get_run_usage(Carrier(usage)) is usage


def test_a_usage_that_raises_is_none():
    class Hostile:
        @property
        def usage(self):
            raise RuntimeError("no")

    assert get_run_usage(Hostile()) is None


def test_requests_add_up_and_one_unpriced_makes_the_cost_unmeasured():
    priced = RequestUsage(input_tokens=10, output_tokens=5, cost_usd=0.25, priced=True)
    unpriced = RequestUsage(input_tokens=1)
    total = RunUsage().plus(priced).plus(priced)
    assert total == RunUsage(20, 10, 0, 0, 30, 0.5, True)
    assert total.plus(RequestUsage()).cost_measured is True
    assert total.plus(unpriced) == RunUsage(21, 10, 0, 0, 31, 0.5, False)
