"""The usage of one run: the sum over its requests, whatever came before it in the session."""

from __future__ import annotations

import pytest

from runcell_nb import ScriptedModel, create_agent, create_sandbox
from runcell_nb.core.gateway import FinishDelta
from runcell_nb.core.usage import RequestUsage
from tests.conformance import cases

CANNOT_APPLY = {
    "usage_totals.003": "this engine keeps no totals beside the figures of its requests",
    "usage_totals.004": "this engine keeps no totals that could contradict the figures of its requests",
}
CASES = cases("core_cases.json", "usage_totals")


def case_of(parameter):
    return parameter.id.split()[0]


def of_part(part):
    """The usage of a request whose finish part says this."""
    total = part.get("totalUsage", {})
    details = total.get("inputTokenDetails", {})
    cost = part.get("providerMetadata", {}).get("pi", {}).get("costUsd", 0)
    tokens = (
        details.get("noCacheTokens", total.get("inputTokens", 0)),
        total.get("outputTokens", 0),
        details.get("cacheReadTokens", 0),
        details.get("cacheWriteTokens", 0),
    )
    return RequestUsage(*tokens, cost_usd=cost, priced=cost != 0)


def of_totals(totals):
    """The usage of a request that makes these totals of a session alone."""
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    cost = totals["costUsd"]
    return RequestUsage(*(totals[name] for name in names), cost_usd=cost, priced=cost > 0)


def requests_of(given):
    """The usages of this run's requests: its finish parts, or what its session's totals grew by."""
    totals, before = given["totals"], given["baseline"]
    if totals is None:
        return [of_part(part) for part in given["finishParts"]] or [RequestUsage()]
    return [of_totals({name: totals[name] - (before or {}).get(name, 0) for name in totals})]


def script(usages):
    """One response a usage; all but the last one call a tool, so that another request follows."""
    calls = [[{"tool": "ls"}, FinishDelta("tool-calls", usage)] for usage in usages[:-1]]
    return ScriptedModel([*calls, ["done", FinishDelta("stop", usages[-1])]])


@pytest.mark.parametrize(("given", "expect"), [case for case in CASES if case_of(case) not in CANNOT_APPLY])
async def test_usage_totals_cases(given, expect):
    async with create_sandbox() as sandbox:
        if given["baseline"] is not None:
            earlier = script([of_totals(given["baseline"])])
            await create_agent(earlier).run("before", sandbox=sandbox, session_id="s")
        model = script(requests_of(given))
        result = await create_agent(model).run("go", sandbox=sandbox, session_id="s")
    assert result.usage.to_dict() == expect["ok"]
    assert len(model.requests) == len(requests_of(given))
    asked = [block.text for message in model.requests[0].messages for block in message.content]
    assert ("before" in asked) is (given["baseline"] is not None)


def test_every_case_runs_or_says_why_it_cannot():
    known = {case_of(case) for case in CASES}
    assert CANNOT_APPLY.keys() < known
    assert len(known) == 8
