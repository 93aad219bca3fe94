"""Each assertion holds where it should; where not it says what was expected, what was found, what is near."""

from __future__ import annotations

import re

import pytest

from runcell_nb import ScriptedModel, create_agent
from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.gateway import FinishDelta, TextDelta
from runcell_nb.core.usage import RequestUsage
from runcell_nb.testing import (
    Observed,
    assert_cost_below,
    assert_data,
    assert_files_changed,
    assert_requests_below,
    assert_text,
    assert_tools_called,
    observe,
    observe_sync,
)


def price_of(item: str) -> str:
    """Say a price."""
    return f"{item}: 3"


SCRIPT = [
    [{"tool": "price_of", "input": {"item": "bread"}}, {"tool": "price_of", "input": {"item": "milk"}}],
    [{"tool": "write", "input": {"file_path": "report.md", "content": "one\ntwo\n"}}],
    [{"tool": "bash", "input": {"command": "rm old.txt"}}],
    "Wrote the report.",
]


@pytest.fixture
def run() -> Observed:
    agent = create_agent(ScriptedModel(SCRIPT), tools=[price_of])
    return observe_sync(agent, "go", files=[{"path": "old.txt", "text": "x"}])


async def test_what_a_run_did_is_collected() -> None:
    seen = await observe(create_agent(ScriptedModel(SCRIPT), tools=[price_of]), "go")
    assert [call.name for call in seen.calls] == ["price_of", "price_of", "write", "bash"]
    assert (seen.calls[0].output, seen.calls[0].is_error) == ("bread: 3", False)
    assert seen.requests == 4
    assert seen.events[-1].type == "finish"


def test_calls(run: Observed) -> None:
    assert_tools_called(run, ["price_of", "write"])
    assert_tools_called(run, ["write", "price_of"], order=False)
    assert_tools_called(run, [("price_of", {"item": "milk"}), ("write", {})])


@pytest.mark.parametrize(
    ("calls", "order", "said"),
    [
        (["write", "price_of"], True, "price_of; it was not called after the ones before it"),
        (["price_of"] * 3, False, "it was not called that often"),
        (["price"], True, "price; it was never called (did you mean 'price_of'?)"),
        ([("price_of", {"item": "nuts"})], True, "{'item': 'nuts'}; it was called with other arguments"),
    ],
)
def test_calls_that_are_missing(run: Observed, calls, order: bool, said: str) -> None:
    with pytest.raises(AssertionError) as raised:
        assert_tools_called(run, calls, order=order)
    assert said in str(raised.value)
    assert "1. price_of {'item': 'bread'}" in str(raised.value)


def test_calls_in_any_order_are_given_out_so_that_all_fit(run: Observed) -> None:
    assert_tools_called(run, ["price_of", ("price_of", {"item": "bread"})], order=False)
    with pytest.raises(AssertionError, match="it was not called that often"):
        assert_tools_called(run, ["price_of", *[("price_of", {"item": "bread"})] * 2], order=False)


@pytest.mark.parametrize("calls", ["write", {"write": {}}, [("price_of", "bread")], ["write", 3]])
def test_calls_that_are_no_list_of_calls(run: Observed, calls) -> None:
    with pytest.raises(InvalidOptionError, match=r"^calls must be a list of tool names"):
        assert_tools_called(run, calls)


def test_files(run: Observed) -> None:
    assert_files_changed(run, {"report.md": "create", "old.txt": "delete"})
    assert_files_changed(run, {"report.md": {"text": "one\ntwo\n", "change": "create"}}, only=False)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"reports.md": "create"}, "'reports.md' was not changed; changed were 'report.md' (create)"),
        ({"report.md": "modify"}, "'report.md': expected 'modify', found 'create'."),
        ({"report.md": "create"}, "not expected: 'old.txt' (delete)"),
        ({"report.md": {"text": "one\n2\n"}}, "-2\n+two"),
        ({"old.txt": {"text": ""}}, "'old.txt': expected a content, found 'delete'."),
    ],
)
def test_files_that_differ(run: Observed, files, said: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(said)):
        assert_files_changed(run, files)


@pytest.mark.parametrize("wanted", ["created", None, {}, {"content": "x"}, {"text": b"x"}, {"change": "new"}])
def test_what_would_check_nothing_of_a_file(run: Observed, wanted) -> None:
    with pytest.raises(InvalidOptionError, match=r"'report\.md' must be 'create', 'modify' or 'delete'"):
        assert_files_changed(run, {"report.md": wanted}, only=False)


def test_text(run: Observed) -> None:
    assert_text(run, "the report")
    assert_text(run.result, re.compile("^Wrote"))
    with pytest.raises(AssertionError, match=r"does not have 'a poem'; it says:\nWrote the report\."):
        assert_text(run, "a poem")


def test_data() -> None:
    model = ScriptedModel([[{"tool": "submitResult", "input": {"a": 1, "b": [1, 2]}}]])
    run = observe_sync(create_agent(model), "go", schema={"type": "object"})
    assert_data(run, {"a": 1, "b": [1, 2]})
    with pytest.raises(AssertionError, match=r"-\{'a': 2, 'b': \[1, 2\]\}\n\+\{'a': 1, 'b': \[1, 2\]\}"):
        assert_data(run, {"a": 2, "b": [1, 2]})


def test_requests(run: Observed) -> None:
    assert_requests_below(run, 5)
    with pytest.raises(AssertionError, match="made 4 requests; expected fewer than 4"):
        assert_requests_below(run, 4)


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        (RequestUsage(10, 10, cost_usd=0.5, priced=True), r"cost \$0\.5; expected less than \$0\.5"),
        (RequestUsage(10, 10), "the cost is not known: 20 tokens of a model without a price"),
        (RequestUsage(10, 10, source="replayed"), None),
        (RequestUsage(10, 10, cost_usd=0.1, priced=True), None),
    ],
)
def test_cost(usage: RequestUsage, said: str | None) -> None:
    run = observe_sync(create_agent(ScriptedModel([[TextDelta("x"), FinishDelta("stop", usage)]])), "go")
    if said is None:
        assert_cost_below(run, 0.5)
        return
    with pytest.raises(AssertionError, match=said):
        assert_cost_below(run, 0.5)


UNPRICED = RequestUsage(10, 10)


@pytest.mark.parametrize(
    ("second", "known"), [(UNPRICED, False), (RequestUsage(10, 10, source="replayed"), True)]
)
def test_the_cost_of_a_run_that_is_priced_in_part(second: RequestUsage, known: bool) -> None:
    first = FinishDelta("tool-calls", RequestUsage(10, 10, cost_usd=0.1, priced=True))
    script = [[{"tool": "bash", "input": {"command": "true"}}, first], ["x", FinishDelta("stop", second)]]
    run = observe_sync(create_agent(ScriptedModel(script)), "go")
    if known:
        assert_cost_below(run, 0.5)
        return
    with pytest.raises(AssertionError, match="the cost is not known: 20 tokens"):
        assert_cost_below(run, 0.5)


def test_a_result_alone_does_not_know_of_replays() -> None:
    usage = RequestUsage(10, 10, source="replayed")
    run = observe_sync(create_agent(ScriptedModel([["x", FinishDelta("stop", usage)]])), "go")
    with pytest.raises(AssertionError, match="what `observe` returns knows that"):
        assert_cost_below(run.result, 0.5)
