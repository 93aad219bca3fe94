from __future__ import annotations

import copy
import enum
import json
import pickle
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import PurePosixPath

import pytest

from runcell_nb import InvalidOptionError, is_tool_content, tool_content
from runcell_nb.core.outcome import ToolFailure
from runcell_nb.core.tool_results import outcome_of
from tests.conformance import ABSENT, cases, decoded


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "tool_content"))
def test_tool_content_cases(given, expect):
    parts = decoded(given["parts"])
    if "error" in expect:
        with pytest.raises(InvalidOptionError) as caught:
            tool_content(parts)
        assert caught.value.kind == expect["kind"]
    else:
        assert json.loads(json.dumps(tool_content(parts))) == decoded(expect["ok"])


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "is_tool_content"))
def test_is_tool_content_cases(given, expect):
    assert is_tool_content(decoded(given["value"])) is expect["ok"]


@pytest.mark.parametrize(
    "value", [object(), {"type": "runcell.tool-content", "version": True, "content": [{}]}]
)
def test_is_tool_content_never_raises(value):
    assert is_tool_content(value) is False


def test_an_envelope_is_deeply_immutable_and_still_plain_data():
    envelope = tool_content([{"type": "text", "text": "a"}])
    with pytest.raises(TypeError):
        envelope["version"] = 2
    with pytest.raises(TypeError):
        envelope["content"][0]["text"] = "b"
    with pytest.raises(AttributeError):
        envelope["content"].append(1)
    for copied in (copy.deepcopy(envelope), pickle.loads(pickle.dumps(envelope))):
        assert copied == envelope


def test_an_error_names_the_part():
    with pytest.raises(InvalidOptionError, match="part 1"):
        tool_content([{"type": "text", "text": "a"}, {"type": "text", "text": 3}])


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "tool_result"))
def test_tool_result_cases(given, expect):
    returned = decoded(given["returned"])
    outcome = outcome_of(None if returned is ABSENT else returned)
    assert [block.model_dump(by_alias=True) for block in outcome.content] == expect["ok"]["model"]
    assert outcome.output == expect["ok"]["event"]


def test_a_result_without_json_form_is_a_tool_error():
    cycle: list[object] = []
    cycle.append(cycle)
    for value in (cycle, object(), {"a": object()}):
        with pytest.raises(ToolFailure, match="no JSON form"):
            outcome_of(value)


def test_numbers_without_json_form_are_null_and_text_is_not_escaped():
    outcome = outcome_of({"a": float("nan"), "b": [float("inf")], "c": "ü"})
    assert outcome.content[0].text == '{"a":null,"b":[null],"c":"ü"}'


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Row:
    n: int
    share: float = float("nan")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Colour.RED, '"red"'),
        (Decimal("1.50"), '"1.50"'),
        (PurePosixPath("a/b"), '"a/b"'),
        (date(2026, 1, 2), '"2026-01-02"'),
        ({3}, "[3]"),
        ((1, None), "[1,null]"),
        (b"text", '"text"'),
        (Row(1), '{"n":1,"share":null}'),
        ({1: {"a": [float("-inf")]}}, '{"1":{"a":[null]}}'),
    ],
    ids=repr,
)
def test_ordinary_python_values_are_compact_json(value, text):
    assert outcome_of(value).content[0].text == text
