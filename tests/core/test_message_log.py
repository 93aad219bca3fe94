from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from runcell_nb.core.message_log import INTERRUPTED, INVALID_ARGUMENTS, MessageLog, valid_log
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

texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
ids = st.sampled_from(["", "a", "b", "a b", "ü"])
text_blocks = st.builds(TextBlock, text=texts)
images = st.just(ImageBlock(data="AAAA", media_type="image/png"))
call_blocks = st.builds(
    ToolCallBlock, id=ids, name=texts, arguments=st.sampled_from(["{}", "", "[1]", '{"a":NaN}', "{"])
)
results = st.builds(
    ToolResultBlock, call_id=ids, name=texts, content=st.lists(text_blocks | images, max_size=2).map(tuple)
)
messages = st.one_of(
    st.builds(UserMessage, content=st.lists(text_blocks | images, max_size=2).map(tuple)),
    st.builds(
        AssistantMessage,
        content=st.lists(text_blocks | call_blocks | st.builds(ReasoningBlock, text=texts), max_size=4).map(
            tuple
        ),
    ),
    st.builds(ToolMessage, content=st.lists(results, max_size=3).map(tuple)),
)


def assert_strict(log):
    """The rules of the strictest providers, checked independently of how the log was made."""
    seen: set[str] = set()
    previous = None
    for message in log:
        json.dumps(message.model_dump(), ensure_ascii=False).encode("utf-8")
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
            for call in message.calls:
                assert call.id not in seen
                assert call.name
                assert isinstance(json.loads(call.arguments), dict)
                seen.add(call.id)
        previous = message
    assert not isinstance(previous, AssistantMessage) or not previous.calls


@given(st.lists(messages, max_size=8))
def test_any_log_becomes_one_that_a_strict_provider_accepts(broken):
    log = valid_log(broken).messages
    assert_strict(log)
    assert valid_log(log).messages == log


@given(st.lists(messages, max_size=8))
def test_no_image_is_ever_dropped(broken):
    def count(log):
        blocks = [block for message in log for block in message.content]
        inner = [part for block in blocks if isinstance(block, ToolResultBlock) for part in block.content]
        return sum(isinstance(block, ImageBlock) for block in [*blocks, *inner])

    assert count(valid_log(broken).messages) == count(broken)


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
