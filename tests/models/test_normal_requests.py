"""By what a request is found again, and by what not."""

from __future__ import annotations

import json

import pytest

from runcell_nb import ModelRequest
from runcell_nb.core import prompt
from runcell_nb.core.gateway import ToolSpec
from runcell_nb.core.messages import (
    AssistantMessage,
    ImageBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    UserMessage,
    user_text,
)
from runcell_nb.core.prompt import system_prompt
from runcell_nb.models.normal_message import MAX_STORED_TEXT, normal_message
from runcell_nb.models.recorded_request import RequestReader, normal_request

SPEC = ToolSpec("lookup", "Look up.", {"type": "object"})


def request(*messages, model="a/b", system="Be brief.", tools=(SPEC,), level=None, patience=None):
    return ModelRequest(model, system, tuple(messages), tools, level, patience)


def key(*messages, **options):
    return RequestReader().read(request(*messages, **options)).key


def called(
    arguments='{"a": 1, "b": "x"}', call_id="c1", text="Hm.", reasoning=None, result="ok", error=False
):
    thought = () if reasoning is None else (ReasoningBlock(text=reasoning, provider={"signature": "s"}),)
    call = ToolCallBlock(id=call_id, name="lookup", arguments=arguments)
    block = ToolResultBlock(call_id=call_id, name="lookup", content=(TextBlock(text=result),), is_error=error)
    said = AssistantMessage(content=(*thought, TextBlock(text=text), call))
    return user_text("Go."), said, ToolMessage(content=(block,))


def test_what_does_not_count() -> None:
    same = key(*called())
    assert key(*called(call_id="toolu_123")) == same
    assert key(*called(reasoning="I think")) == same
    assert key(*called(arguments='{"b":"x",   "a":1}')) == same
    assert key(*called(), patience=3.5) == same
    assert key(*called(text="Hm.\r\n")) == key(*called(text="Hm.\n"))
    assert key(*called(result="took 1.2s")) == key(*called(result="took 3.4s"))


def test_what_counts() -> None:
    keys = [
        key(*called()),
        key(*called(arguments='{"a": 2, "b": "x"}')),
        key(*called(arguments='{"a": 1, "b": "took 1.2s"}')),
        key(*called(text="Ha.")),
        key(*called(result="no")),
        key(*called(error=True)),
        key(*called()[:2]),
        key(*called(), model="a/c"),
        key(*called(), system="Be long."),
        key(*called(), system=None),
        key(*called(), level="low"),
        key(*called(), tools=()),
        key(*called(), tools=(SPEC, ToolSpec("b", "", {}))),
        key(*called(), tools=(ToolSpec("lookup", "Look up!", {"type": "object"}),)),
        key(*called(), tools=(ToolSpec("lookup", "Look up.", {"type": "object", "properties": {}}),)),
    ]
    assert len(set(keys)) == len(keys)


def test_dates_count_in_a_prompt_and_in_a_system_prompt() -> None:
    assert key(user_text("Today is 2026-11-30.")) != key(user_text("Today is 2026-12-01."))
    one, other = (key(user_text("x"), system=f"It is {year}-11-30.") for year in (2025, 2026))
    assert one != other


class _Shell:
    shell_notes = "A shell of some kind."


def test_what_the_package_itself_tells_the_model_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(own: str | None, words: str) -> str:
        tools = (ToolSpec("bash", words, {"type": "object", "title": words}), SPEC)
        return key(user_text("Go."), system=system_prompt(own, _Shell()), tools=tools)  # type: ignore[arg-type]

    before, unasked = asked("Be brief.", "Runs a command."), asked(None, "Runs a command.")
    monkeypatch.setattr(prompt, "_WORKSPACE", "In other words.")
    _Shell.shell_notes = "Another shell."
    assert asked("Be brief.", "Runs one command.") == before
    assert asked(None, "Runs one command.") == unasked != before
    assert asked("Be long.", "Runs one command.") != before


def test_the_schema_of_a_result_counts() -> None:
    one, other, reworded = (
        key(user_text("Go."), tools=(ToolSpec("submitResult", words, {"type": kind}),))
        for words, kind in (("Hand in.", "object"), ("Hand in.", "array"), ("Give.", "object"))
    )
    assert one == reworded != other


def test_the_note_on_the_sandbox_does_not_count() -> None:
    note = "Note on the sandbox: files were made again.\nTwo of them."
    assert key(user_text(f"Go.\n\n{note}")) == key(user_text("Go."))
    assert key(user_text(f"Go.\n\n{note}\n\nMore.")) == key(user_text("Go.\n\nMore."))
    assert key(UserMessage(content=(TextBlock(text="Go."), TextBlock(text=note)))) == key(user_text("Go."))
    assert key(user_text("Go. Note on the sandbox: x")) != key(user_text("Go."))


def test_an_image_counts_by_its_content() -> None:
    def of(data: str, kind: str = "image/png"):
        return UserMessage(content=(TextBlock(text="Look."), ImageBlock(data=data, media_type=kind)))

    assert key(of("AAAA")) == key(of("AAAA")) != key(of("BBBB"))
    assert key(of("AAAA")) != key(of("AAAA", "image/gif"))
    assert "AAAA" not in json.dumps(normal_message(of("AAAA")))


def test_a_lone_surrogate_is_no_obstacle() -> None:
    assert key(user_text("a\ud800b")) == key(user_text("a\ufffdb"))


def test_a_long_text_is_stored_in_part_and_counts_as_a_whole() -> None:
    long = "x" * (MAX_STORED_TEXT + 10)
    stored = normal_message(user_text(long))["content"][0]["text"]
    assert (len(stored["begins"]), stored["length"]) == (MAX_STORED_TEXT, len(long))
    assert key(user_text(long)) != key(user_text(long[:-1] + "y"))
    assert normal_message(user_text("x" * MAX_STORED_TEXT))["content"] == [{"text": "x" * MAX_STORED_TEXT}]


def test_arguments_that_are_no_json_or_nested_deep_count_as_text() -> None:
    assert key(*called(arguments="{broken")) != key(*called(arguments="{broken!"))
    deep = "[" * 900 + "]" * 900
    assert key(*called(arguments=f'{{"a": {deep}}}'))


def test_a_conversation_is_read_on_from_where_it_was_and_keys_are_those_of_a_fresh_reader() -> None:
    reader, messages = RequestReader(), [user_text("Go.")]
    for number in range(6):
        _, *more = called(result=f"result {number}")
        read = reader.read(request(*messages))
        assert read.keys == RequestReader().read(request(*messages)).keys
        assert read.keys == normal_request(read.head, read.messages).keys
        messages += more
    changed = [messages[0], user_text("something else"), *messages[2:]]
    for asked in (changed, messages, messages[:3]):
        assert reader.read(request(*asked)).key == key(*asked)
        assert reader.read(request(*asked, system="other")).key == key(*asked, system="other")


def test_each_message_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from runcell_nb.models import recorded_request

    seen = []
    monkeypatch.setattr(
        recorded_request, "normal_message", lambda message: seen.append(message) or normal_message(message)
    )
    reader, messages = RequestReader(), [user_text("Go.")]
    for _ in range(50):
        messages += called()[1:]
        reader.read(request(*messages))
    assert len(seen) == len(messages)


def test_conversations_at_the_same_time_do_not_mix() -> None:
    reader = RequestReader()
    talks = [[user_text(f"Talk {number}")] for number in range(200)]
    for _ in range(3):
        for number, talk in enumerate(talks):
            assert reader.read(request(*talk)).key == key(*talk)
            talk.extend(called(result=f"{number}")[1:])
