"""What holds for the validator of the message log, whatever log it gets."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from runcell_nb.core.journal import journal_from, journal_of
from runcell_nb.core.jsontext import scrub, scrubbed
from runcell_nb.core.message_log import INVALID_ARGUMENTS, MAX_CALLS, MessageLog, parse_arguments, valid_log
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

from .log_strategies import bounded, logs, said, shown


def parts_of(log):
    """Every text and image of a log, those of results included, and nothing of what is blank."""
    found = []
    for message in log:
        for block in message.content:
            inner = block.content if isinstance(block, ToolResultBlock) else [block]
            found += [part for part in inner if isinstance(part, TextBlock | ReasoningBlock | ImageBlock)]
    kept = [part.data if isinstance(part, ImageBlock) else scrub(part.text) for part in found]
    return Counter(text for text in kept if text.strip())


def calls_of(log):
    return [call for message in log if isinstance(message, AssistantMessage) for call in message.calls]


def assert_strict(log):
    """The rules of the strictest providers on the log itself, whatever form it is sent in."""
    seen: set[str] = set()
    previous = None
    for message in log:
        json.dumps(message.model_dump(), ensure_ascii=False, allow_nan=False).encode("utf-8")
        assert message.content
        if isinstance(message, UserMessage):
            assert not isinstance(previous, UserMessage)
            assert all(isinstance(block, ImageBlock) or block.text.strip() for block in message.content)
        if isinstance(previous, AssistantMessage) and previous.calls:
            assert isinstance(message, ToolMessage)
            assert [result.call_id for result in message.content] == [call.id for call in previous.calls]
            assert all(result.content for result in message.content)
        else:
            assert not isinstance(message, ToolMessage)
        if isinstance(message, AssistantMessage):
            assert previous is not None
            assert not isinstance(previous, AssistantMessage)
            assert any(not isinstance(block, ReasoningBlock) for block in message.content)
            assert len(message.calls) <= MAX_CALLS
            for call in message.calls:
                assert call.id not in seen
                assert call.name
                assert isinstance(json.loads(call.arguments), dict)
                seen.add(call.id)
        previous = message
    assert not isinstance(previous, AssistantMessage) or not previous.calls


@given(logs)
@bounded(150)
def test_any_log_becomes_one_that_a_strict_provider_accepts(broken):
    log = valid_log(broken).messages
    assert_strict(log)
    assert valid_log(log).messages == log


@given(logs)
@bounded(150)
def test_no_text_and_no_image_is_lost(broken):
    assert not parts_of(broken) - parts_of(valid_log(broken).messages)


@given(logs)
@bounded(100)
def test_every_call_keeps_its_place_and_what_it_asked_for(broken):
    given_calls, kept_calls = calls_of(broken), calls_of(valid_log(broken).messages)
    assert len(given_calls) == len(kept_calls)
    for given_call, kept_call in zip(given_calls, kept_calls, strict=True):
        asked, kept = parse_arguments(given_call.arguments), json.loads(kept_call.arguments)
        if isinstance(asked, dict):
            assert kept == scrubbed(asked)
        else:
            assert kept == {INVALID_ARGUMENTS: scrub(given_call.arguments)}


@given(st.lists(shown | said.map(list), max_size=6), st.data())
@bounded(100)
def test_a_log_that_is_built_is_valid_at_any_time(steps, data):
    log = MessageLog()
    for step in steps:
        if isinstance(step, tuple):
            log.add_user(step)
        else:
            blocks = [
                block.model_copy(update={"id": log.reserve_id(block.id)})
                if isinstance(block, ToolCallBlock)
                else block
                for block in step
            ]
            answers = [
                ToolResultBlock(call_id=block.id, name=block.name, content=data.draw(shown))
                for block in blocks
                if isinstance(block, ToolCallBlock) and data.draw(st.booleans())
            ]
            log.add_response(blocks, answers)
        assert_strict(log.messages)
    assert valid_log(log.messages).messages == log.messages


@given(logs)
@bounded(100)
def test_a_journal_gives_back_the_log_it_was_made_of(broken):
    log = valid_log(broken).messages
    continuation = json.loads(json.dumps(journal_of(log)))
    assert journal_from(continuation) == (log or None)
