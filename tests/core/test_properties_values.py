"""What holds for workspace paths, JSON text and tool content, whatever they are."""

from __future__ import annotations

import base64
import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcell_nb import InvalidOptionError, is_tool_content, tool_content
from runcell_nb.core.jsontext import compact_json, scrub, scrub_json, scrubbed
from runcell_nb.core.paths import assert_safe_workspace_path
from runcell_nb.core.tool_content import MAX_IMAGE_BYTES

from .log_strategies import any_json, any_text, bounded

segments = st.sampled_from(
    ["", ".", "..", "...", "a", "C:", "c:x", "CC:", " ", "~", "-r", "a\\b", "\0", "ü", "\n"]
)
paths = st.one_of(
    any_text,
    st.lists(segments, max_size=4).map("/".join),
    st.lists(segments | any_text, max_size=5).map("/".join),
    st.text("./:aC\\\n ", max_size=8),
)


@given(paths)
@bounded(500)
def test_a_path_is_refused_or_relative_inside_and_settled(path):
    try:
        clean = assert_safe_workspace_path(path)
    except InvalidOptionError as error:
        assert repr(path) in str(error)
        return
    assert assert_safe_workspace_path(clean) == clean
    parts = clean.split("/")
    assert not {"", ".", ".."} & set(parts)
    assert parts == [part for part in path.split("/") if part not in ("", ".")]
    assert "\\" not in clean and "\0" not in clean
    assert not (clean[0] in string.ascii_letters and clean[1:2] == ":")


@given(paths)
@bounded(500)
def test_a_path_is_refused_only_for_a_reason(path):
    parts = [part for part in path.split("/") if part not in ("", ".")]
    start = parts[0] if parts else ""
    reason = (
        not parts
        or path.startswith("/")
        or ".." in parts
        or "\\" in path
        or "\0" in path
        or (start[:1] in tuple(string.ascii_letters) and start[1:2] == ":")
    )
    try:
        assert_safe_workspace_path(path)
    except InvalidOptionError:
        assert reason
    else:
        assert not reason


@given(any_json, st.booleans())
@bounded(300)
def test_json_text_loses_its_lone_surrogates_and_nothing_else(value, escaped):
    text = json.dumps(value, ensure_ascii=escaped)
    clean = scrub_json(text)
    assert json.loads(clean) == scrubbed(value)
    json.dumps(json.loads(clean), ensure_ascii=False).encode("utf-8")
    assert scrub_json(clean) == clean


@given(any_text)
@bounded(300)
def test_text_loses_its_lone_surrogates_and_nothing_else(text):
    clean = scrub(text)
    assert clean.encode("utf-8").decode("utf-8") == clean
    assert scrub(clean) == clean
    by_rule = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert clean == by_rule


@given(any_json)
@bounded(200)
def test_compact_json_is_the_value_without_blanks(value):
    text = compact_json(value)
    assert json.loads(text) == scrubbed(value)
    assert text == json.dumps(scrubbed(value), ensure_ascii=False, separators=(",", ":"))


@st.composite
def spellings(draw):
    """Base64 text, as it should be or nearly so."""
    text = base64.b64encode(draw(st.binary(max_size=12))).decode()
    at = draw(st.integers(0, len(text)))
    other = draw(
        st.sampled_from(["", "=", "==", " ", "\n", "\t", "-", "_", "A", "AAAA", "é", "\0", "\ud800"])
    )
    change = draw(st.sampled_from(["keep", "insert", "replace", "strip", "prefix", "cut"]))
    return {
        "keep": text,
        "insert": text[:at] + other + text[at:],
        "replace": text[:at] + other + text[at + 1 :],
        "strip": text.rstrip("="),
        "prefix": "data:image/png;base64," + text,
        "cut": text[:at],
    }[change]


def is_canonical(text):
    """The reference: what decodes, and encodes to the very same text."""
    try:
        data = base64.b64decode(text)
    except ValueError:
        return False
    return data != b"" and base64.b64encode(data).decode() == text


def with_image(data, media_type="image/png"):
    part = {"type": "image", "data": data, "mediaType": media_type}
    return {"type": "runcell.tool-content", "version": 1, "content": [part]}


@given(spellings())
@bounded(600)
def test_base64_text_is_taken_exactly_when_it_is_canonical(text):
    canonical = is_canonical(text)
    assert is_tool_content(with_image(text)) is canonical
    if canonical:
        assert tool_content(with_image(text)["content"])["content"][0]["data"] == text
    else:
        with pytest.raises(InvalidOptionError) as refused:
            tool_content(with_image(text)["content"])
        assert refused.value.kind == "shape"


@given(st.binary(min_size=1, max_size=40))
@bounded(100)
def test_bytes_are_encoded_once_whatever_buffer_they_are_in(data):
    for buffer in (data, bytearray(data), memoryview(data)):
        envelope = tool_content([{"type": "image", "data": buffer, "media_type": "IMAGE/JPG"}])
        assert base64.b64decode(envelope["content"][0]["data"]) == data
        assert is_tool_content(json.loads(json.dumps(envelope)))


parts = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "image", "file"]) | any_json,
        "text": any_json,
        "data": spellings() | any_json | st.binary(max_size=4),
        "mediaType": st.sampled_from(["image/png", "IMAGE/PNG", "image/jpg", "image/webp "]) | any_json,
        "media_type": st.sampled_from(["image/gif", "png"]) | any_json,
        "more": any_json,
    },
)
envelopes = st.fixed_dictionaries(
    {},
    optional={
        "type": st.just("runcell.tool-content") | any_json,
        "version": st.just(1) | st.sampled_from(["1", True, 2, 1.0]) | any_json,
        "content": st.lists(parts | any_json, max_size=3) | any_json,
        "more": any_json,
    },
)


@given(envelopes | any_json)
@bounded(400)
def test_any_value_is_told_from_tool_content(value):
    if is_tool_content(value):
        rebuilt = tool_content(value["content"])
        assert is_tool_content(rebuilt)
        for kept, part in zip(rebuilt["content"], value["content"], strict=True):
            assert kept.items() <= part.items()


@given(st.lists(parts | any_json, max_size=3) | any_json)
@bounded(400)
def test_any_parts_are_built_or_refused_with_a_kind(value):
    try:
        envelope = tool_content(value)
    except InvalidOptionError as error:
        assert error.kind in ("shape", "limit")
    else:
        assert is_tool_content(envelope)
        assert is_tool_content(json.loads(json.dumps(envelope)))


@pytest.mark.parametrize("over", [0, 1, 2, 3])
def test_the_limit_counts_decoded_bytes(over):
    text = base64.b64encode(bytes(MAX_IMAGE_BYTES - 1 + over)).decode()
    assert is_tool_content(with_image(text)) is (over < 2)
