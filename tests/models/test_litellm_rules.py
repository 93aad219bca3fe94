"""The small rules: messages, tools, pauses, redaction."""

from __future__ import annotations

import html
import json
from datetime import UTC, datetime
from urllib.parse import quote, quote_plus

import pytest

from runcell_nb.core.gateway import ToolSpec
from runcell_nb.core.messages import (
    AssistantMessage,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    user_text,
)
from runcell_nb.models.failures import failure_of
from runcell_nb.models.litellm_wire import wire_messages, wire_tools
from runcell_nb.models.providers import Access
from runcell_nb.models.redact import redact
from runcell_nb.models.retry import retry_after

from .gateway_calls import parts_of_key

SIGNED = {"provider": "anthropic", "block": {"type": "thinking", "signature": "S"}}
CALL = ToolCallBlock(id="c1", name="ls", arguments='{"path": "."}')
RESULT = ToolMessage(content=(ToolResultBlock(call_id="c1", name="ls", content=(TextBlock(text="a.txt"),)),))


def test_a_conversation_in_litellms_shape() -> None:
    log = (user_text("List."), AssistantMessage(content=(TextBlock(text="Yes."), CALL)), RESULT)
    assert wire_messages("Be brief.", log, "openai") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "List."},
        {
            "role": "assistant",
            "content": "Yes.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "name": "ls", "content": "a.txt"},
    ]


def test_thinking_goes_back_to_its_own_provider_only() -> None:
    log = (
        user_text("Hi."),
        AssistantMessage(content=(ReasoningBlock(text="Hm.", provider=SIGNED), CALL)),
        RESULT,
    )
    (_, own, _), (_, other, _) = (wire_messages(None, log, name) for name in ("anthropic", "openai"))
    assert own["thinking_blocks"] == [{"type": "thinking", "signature": "S", "thinking": "Hm."}]
    assert "thinking_blocks" not in other and "Hm." not in repr(other)


def test_a_response_of_foreign_thinking_alone_is_left_out() -> None:
    log = (user_text("Hi."), AssistantMessage(content=(ReasoningBlock(text="Hm."),)), user_text("Well?"))
    assert [message["role"] for message in wire_messages(None, log, "openai")] == ["user", "user"]


def test_a_tool_without_parameters_still_has_an_object() -> None:
    (tool,) = wire_tools([ToolSpec("now", "Tell the time.", {})])
    assert tool["function"]["parameters"] == {"type": "object", "properties": {}}


NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Mon, 30 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
    ],
)
def test_how_long_a_response_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key topsecret!", "key [key]"),
        ("url?key=abc&x=1", "url?key=[key]&x=1"),
        ("https://me:pw@host/v1", "https://[key]@host/v1"),
        ("Authorization: Bearer abcdef.123", "Authorization: Bearer [key]"),
        ("Incorrect API key provided: sk-proj-ab*****xyz.", "Incorrect API key provided: [key]."),
        ("quoted tops%2Fecret%21", "quoted [key]"),
        ("{'x-api-key': 'unknown0value1234'}", "{'x-api-key': '[key]'}"),
        ("(b'Authorization', b'Basic dXNlcjpwYXNzd29yZA==')", "(b'Authorization', b'Basic [key]')"),
        (
            "check the authorization: authentication/permissions",
            "check the authorization: authentication/permissions",
        ),
        ("the rest stays: 401 at 10:15", "the rest stays: 401 at 10:15"),
    ],
)
def test_keys_are_removed(text: str, expected: str) -> None:
    assert redact(text, ["topsecret!", "tops/ecret!"], {}) == expected


ODD_KEY = "Kanarie7f3e/9b+1d=4c&2a\"8e'6f\\5d%0b<é"


def in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


SPELLINGS = {
    "plain": str,
    "URL": lambda key: quote(key, safe=""),
    "part of a URL": quote,
    "lower-case URL": lambda key: quote(key, safe="").replace("%2F", "%2f").replace("%3D", "%3d"),
    "form": quote_plus,
    "URL in a URL": lambda key: quote(quote(key, safe=""), safe=""),
    "JSON": in_json,
    "JSON with slashes escaped": lambda key: in_json(key).replace("/", "\\/"),
    "JSON as it is read": lambda key: json.dumps(key, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda key: in_json(in_json(key)),
    "JSON in a URL": lambda key: quote(in_json(key), safe=""),
    "header": lambda key: repr({"x-api-key": key}),
    "raw headers": lambda key: repr([(b"x-api-key", key.encode())]),
    "error in an error": lambda key: repr(ValueError(repr({"x-api-key": key}))),
    "HTML": html.escape,
    "HTML by numbers": lambda key: "".join(c if c.isalnum() else f"&#{ord(c)};" for c in key),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_known_key_is_removed_in_every_spelling(spelling: str) -> None:
    spelt = SPELLINGS[spelling](ODD_KEY)
    shown = redact(f"before {spelt} after", [ODD_KEY], {})
    assert shown.startswith("before ") and shown.endswith(" after") and "[key]" in shown
    assert not parts_of_key(shown, ODD_KEY)
    assert not [
        piece for piece in ("Kanarie", "7f3e", "9b", "1d", "4c", "2a", "8e", "6f", "5d") if piece in shown
    ]


def test_a_short_or_absent_key_masks_nothing_and_odd_ones_are_patterns_no_more_than_words() -> None:
    text = "a\\\\\\\\\\\\b .* [x] (y) none"
    assert redact(text, ["", "none", "\\" * 9, "......", "[xyz]]", "(((((((", "*******"], {}) == text


@pytest.mark.parametrize("elision", ["***", "*****************", "…", "...", "••••", "REDACTED"])
@pytest.mark.parametrize(("head", "tail"), [(8, 4), (4, 0), (0, 4), (12, 12), (30, 0)])
def test_a_key_of_which_a_provider_shows_the_ends_is_removed(elision: str, head: int, tail: int) -> None:
    shown = ODD_KEY[:head] + elision + (ODD_KEY[-tail:] if tail else "")
    text = redact(
        f'Incorrect key "{shown}" (see ... or *** for more…), and {shown}', [ODD_KEY, "another-key"], {}
    )
    assert text == 'Incorrect key "[key]" (see ... or *** for more…), and [key]'


@pytest.mark.parametrize("body", ["{}", '{{"error": {{"message": "{}"}}}}', "litellm.BadRequestError: {}"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_part_of_a_key_is_shown_wherever_the_cut_lies(spelling: str, body: str) -> None:
    key = ODD_KEY + "0123456789" * 7
    for before in range(100, 320, 3):
        text = body.format("x" * before + " " + SPELLINGS[spelling](key) + " " + "y" * 300)
        error = failure_of(ValueError(text), "a/b", Access(key, None, "A_API_KEY"), begun=False)
        assert len(error.detail) <= 301
        assert not parts_of_key(str(error) + repr(vars(error)), key), text


def test_a_package_that_is_not_installed_is_told_once() -> None:
    error = failure_of(
        ModuleNotFoundError("No module named 'google'"), "a/b", Access(None, None, "A_API_KEY"), False
    )
    assert "has the module 'google': install it" in str(error) and not error.retryable


def test_keys_of_the_environment_are_removed_too() -> None:
    environ = {"AWS_SECRET_ACCESS_KEY": " aws-value-1\n", "HOME": "/home/me"}
    assert redact("aws-value-1 in /home/me", (), environ) == "[key] in /home/me"
