"""Strategies for property tests: any text, any JSON, any message log, broken ones above all.

The tests are the same each time and end by number of examples, never by time.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from runcell_nb.core.messages import (
    AssistantMessage,
    ImageBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    UserMessage,
)


def bounded(examples: int) -> settings:
    """The settings of a property test."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


any_text = st.one_of(
    st.sampled_from(
        ["", " ", "\n\t", "a", "a ", "\ud800", "\ud83d", "\ude00", "\ud83d\ude00", "\0", "\\ud800"]
    ),
    st.text(st.characters(codec=None, exclude_categories=()), max_size=8),
)
"""Lone surrogates and blanks included."""

any_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)

_ids = st.sampled_from(
    ["", "a", "b", "a b", "a__b", "a_2", "_", "ü", "x" * 41, "x" * 41 + "y", "call", "\ud800", "srvtoolu_1"]
)
_names = st.sampled_from(["ls", "", " ", "a.b", "n" * 65, "\ud800"]) | any_text
_broken_arguments = st.sampled_from(
    [
        "",
        "null",
        "[]",
        "{",
        "{}{}",
        '{"a":NaN}',
        '{"a":1e999}',
        '{"a":"\\ud800"}',
        '{"a":"\ud800"}',
        "[" * 9000,
    ]
)
_arguments = _broken_arguments | st.dictionaries(any_text, any_json, max_size=2).map(json.dumps) | any_text
_signed = st.fixed_dictionaries({"type": st.just("thinking"), "signature": any_text})
_provider_data = st.none() | st.dictionaries(
    st.sampled_from(["provider", "block"]), st.sampled_from(["anthropic", "openai"]) | _signed | any_json
)

texts = st.builds(TextBlock, text=any_text)
images = st.just(ImageBlock(data="AAAA", media_type="image/png"))
calls = st.builds(ToolCallBlock, id=_ids, name=_names, arguments=_arguments)
reasoning = st.builds(ReasoningBlock, text=any_text, provider=_provider_data)
results = st.builds(
    ToolResultBlock,
    call_id=_ids,
    name=_names,
    content=st.lists(texts | images, max_size=3).map(tuple),
    is_error=st.booleans(),
)
shown = st.lists(texts | images, max_size=3).map(tuple)
said = st.lists(texts | reasoning | calls, max_size=5).map(tuple)
messages = st.one_of(
    st.builds(UserMessage, content=shown),
    st.builds(AssistantMessage, content=said),
    st.builds(ToolMessage, content=st.lists(results, max_size=4).map(tuple)),
)


@st.composite
def answered(draw: st.DrawFn) -> list[Any]:
    """A response and a message with results for most of its calls, in any order."""
    response = AssistantMessage(content=draw(said))
    found = [
        ToolResultBlock(call_id=call.id, name=call.name, content=draw(shown))
        for call in response.calls
        if draw(st.integers(0, 3))
    ]
    return [response, ToolMessage(content=tuple(draw(st.permutations(found))))]


logs: st.SearchStrategy[list[Any]] = st.lists(messages.map(lambda one: [one]) | answered(), max_size=7).map(
    lambda parts: [message for part in parts for message in part]
)
"""Any log, in any order."""
