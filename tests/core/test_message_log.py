from __future__ import annotations

import json

import pytest

from runcell_nb.core.message_log import INTERRUPTED, INVALID_ARGUMENTS, MAX_CALLS, MessageLog, valid_log
from runcell_nb.core.messages import (
    AssistantMessage,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    user_text,
)


def test_a_call_without_result_was_interrupted():
    call = ToolCallBlock(id="a", name="bash", arguments='{"command":"x"}')
    log = valid_log([user_text("go"), AssistantMessage(content=(call,)), user_text("again")]).messages
    assert log[2].content[0].content[0].text == INTERRUPTED
    assert log[2].content[0].is_error


def test_broken_arguments_are_kept_as_text():
    call = ToolCallBlock(id="a", name="bash", arguments='{"command": "rm')
    log = valid_log([user_text("go"), AssistantMessage(content=(call,))]).messages
    assert json.loads(log[1].content[0].arguments) == {INVALID_ARGUMENTS: '{"command": "rm'}


def test_repeated_ids_keep_their_own_results():
    calls = tuple(ToolCallBlock(id="a", name="ls", arguments="{}") for _ in range(3))
    answers = tuple(
        ToolResultBlock(call_id="a", name="ls", content=(TextBlock(text=str(number)),)) for number in range(3)
    )
    log = valid_log([user_text("go"), AssistantMessage(content=calls), ToolMessage(content=answers)]).messages
    assert [result.content[0].text for result in log[2].content] == ["0", "1", "2"]


def test_reserving_many_equal_ids_is_quick_and_unique():
    log = MessageLog()
    assert len({log.reserve_id("same") for _ in range(5000)}) == 5000


def reserved(*wanted):
    log = MessageLog()
    return [log.reserve_id(given) for given in wanted]


def test_an_id_is_kept_where_providers_take_it():
    whole = "call_" + "0" * 32
    assert reserved(whole, "toolu_01-x", "") == [whole, "toolu_01-x", "call"]


def test_an_id_is_cut_at_what_openai_takes_and_stays_unique():
    found = reserved("x" * 60, "x" * 60 + "y", "x" * 41)
    assert len(set(found)) == 3
    assert max(map(len, found)) <= 40


def test_an_id_has_no_characters_that_providers_refuse_or_litellm_reads():
    assert reserved("functions.ls:0 ü", "b__thought__Q") == ["functions_ls_0_", "b_thought_Q"]


def test_a_response_with_more_calls_than_openai_takes_becomes_several_messages():
    log = MessageLog()
    log.add_user([TextBlock(text="go")])
    calls = [
        ToolCallBlock(id=log.reserve_id("c"), name="ls", arguments="{}") for _ in range(2 * MAX_CALLS + 1)
    ]
    results = [
        ToolResultBlock(call_id=call.id, name="ls", content=(TextBlock(text=call.id),)) for call in calls
    ]
    log.add_response([TextBlock(text="All."), *calls], results)
    asked, answered = log.messages[1::2], log.messages[2::2]
    assert [len(message.calls) for message in asked] == [MAX_CALLS, MAX_CALLS, 1]
    told = [result.content[0].text for message in answered for result in message.content]
    assert told == [call.id for call in calls]
    assert valid_log(log.messages).messages == log.messages


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ('{"a": "\\ud83d\\ude00"}', '{"a": "\\ud83d\\ude00"}'),
        ('{"a": "\\ud800 \\\\ud800"}', '{"a": "\\ufffd \\\\ud800"}'),
        ('{"a": "\ud83d\ude00\udc00"}', '{"a": "\U0001f600\ufffd"}'),
    ],
)
def test_lone_surrogates_leave_arguments_also_as_escapes(arguments, kept):
    log = valid_log([AssistantMessage(content=(ToolCallBlock(id="a", name="ls", arguments=arguments),))])
    assert log.messages[1].calls[0].arguments == kept


@pytest.mark.parametrize("number", ["1e999", "-1e999", "Infinity", "NaN"])
def test_a_number_that_json_has_not_is_invalid(number):
    call = ToolCallBlock(id="a", name="ls", arguments=f'{{"a": {number}}}')
    log = valid_log([AssistantMessage(content=(call,))]).messages
    assert json.loads(log[1].calls[0].arguments) == {INVALID_ARGUMENTS: call.arguments}


@pytest.mark.parametrize("data", [{"a": object()}, {"a": {"b": b"\xff"}}])
def test_data_of_a_provider_that_no_thread_can_keep_is_left_out(data):
    log = MessageLog()
    log.add_user([TextBlock(text="go")])
    log.add_response([ReasoningBlock(text="Hm.", provider=data)], [])
    assert log.messages[1].content[0] == ReasoningBlock(text="Hm.")


@pytest.mark.parametrize(
    "message",
    [
        user_text("x"),
        AssistantMessage(content=(TextBlock(text="x"),)),
        ToolMessage(content=(ToolResultBlock(call_id="x", name="y"),)),
    ],
    ids=lambda message: message.role,
)
def test_many_messages_of_one_role_become_one_without_copying_each_time(message):
    log = valid_log([message] * 20_000)  # copying what is there for each new one would take minutes
    assert len(log.messages) <= 2
    assert sum(len(found.content) for found in log.messages) >= 20_000
    log.add_user([TextBlock(text="more")])
    assert log.messages == valid_log(log.messages).messages
