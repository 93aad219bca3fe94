"""A conversation that did not fit: what becomes shorter, in which order, and what never does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runcell_nb.core.compaction import KEPT_RESPONSES, LEFT_OUT, compacted
from runcell_nb.core.cut_usage import CHARACTERS_PER_TOKEN, characters_of
from runcell_nb.core.gateway import ModelInfo
from runcell_nb.core.message_log import valid_log
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

INFO = ModelInfo(name="some/model")
IMAGE = ImageBlock(data="AAAA", media_type="image/png")
SIGNED = {"provider": "anthropic", "block": {"type": "thinking", "signature": "s" * 50}}


def exchange(call_id, result="done", *, said=(), images=(), **arguments):
    """A response with one call, and its result."""
    call = ToolCallBlock(id=call_id, name="read", arguments=json.dumps(arguments))
    answer = ToolResultBlock(call_id=call_id, name="read", content=(TextBlock(text=result), *images))
    return [AssistantMessage(content=(*said, call)), ToolMessage(content=(answer,))]


def answer(text):
    return AssistantMessage(content=(TextBlock(text=text),))


def size(messages):
    return sum(characters_of(message.content) for message in messages)


def calls_of(messages):
    return [
        call.id for message in messages if isinstance(message, AssistantMessage) for call in message.calls
    ]


def results_of(messages):
    return [block for message in messages if isinstance(message, ToolMessage) for block in message.content]


def window_for(characters):
    """A model whose window makes a log of so many characters the target."""
    return ModelInfo(name="some/model", context_window=2 * characters // CHARACTERS_PER_TOKEN)


def test_old_results_go_first_the_oldest_of_them_first_and_only_as_many_as_needed():
    log = [user_text("the task")]
    for number in range(10):
        log += exchange(f"c{number}", str(number) * 10_000)
    done = compacted(log, INFO)
    texts = [result.content[0].text for result in results_of(done.messages)]
    assert [len(text) < 400 for text in texts] == [True] * 6 + [False] * 4
    assert texts[0].startswith("0" * 200 + "\n[… 9800 characters")
    assert texts[6:] == [str(number) * 10_000 for number in range(6, 10)]
    assert (done.shortened, done.removed) == (6, 0)
    assert calls_of(done.messages) == [f"c{number}" for number in range(10)]


def test_images_of_earlier_turns_become_a_note_and_those_of_the_prompt_stay():
    earlier = UserMessage(content=(TextBlock(text="look"), IMAGE))
    prompt = UserMessage(content=(TextBlock(text="again"), IMAGE))
    log = [earlier, *exchange("a", images=[IMAGE, IMAGE]), answer("seen"), prompt]
    done = compacted(log, INFO)
    assert "An image was left out" in done.messages[0].content[1].text
    assert "2 images were left out" in results_of(done.messages)[0].content[-1].text
    assert done.messages[-1] == prompt


def test_long_arguments_are_next_and_stay_an_object_with_the_same_keys():
    log = [user_text("the task")]
    for number in range(10):
        nested = {"list": [1, 2], "deep": {"text": "y" * 1000}, "n": 1e3, "flag": True}
        log += exchange(f"c{number}", file_path=f"{number}.txt", content="x" * 5000, **nested)
    done = compacted(log, INFO)
    first = json.loads(done.messages[1].calls[0].arguments)
    assert first["file_path"] == "0.txt"
    assert first["content"].startswith("x" * 200 + "\n[… 4800 characters")
    assert (first["list"], first["n"], first["flag"]) == ([1, 2], 1000.0, True)
    assert len(first["deep"]) < 400
    assert json.loads(done.messages[-2].calls[0].arguments)["content"] == "x" * 5000
    assert done.removed == 0


def test_thoughts_of_earlier_turns_go_and_signed_ones_of_this_run_stay_as_they_are():
    signed = ReasoningBlock(text="s" * 2000, provider=SIGNED)
    unsigned = ReasoningBlock(text="u" * 20_000)
    short = [ReasoningBlock(text="s", provider=SIGNED), ReasoningBlock(text="u")]
    log = [user_text("first"), *exchange("a", said=[signed, unsigned]), answer("ok"), user_text("second")]
    log += exchange("b", said=[signed, unsigned])
    for number in range(KEPT_RESPONSES):
        log += exchange(f"c{number}", said=short)
    done = compacted(log, INFO)
    thoughts = [
        [block for block in message.content if isinstance(block, ReasoningBlock)]
        for message in done.messages
        if isinstance(message, AssistantMessage)
    ]
    assert thoughts == [[], [], [signed], *[short] * KEPT_RESPONSES]
    assert done.removed == 0


def test_whole_earlier_exchanges_go_with_all_that_answered_them_and_the_first_message_says_so():
    log = []
    for number in range(4):
        log += [
            user_text(f"question {number} " + "q" * (4000 - 500 * number)),
            *exchange(f"c{number}"),
            answer("yes"),
        ]
    log.append(user_text("the task"))
    done = compacted(log, INFO)
    assert done.removed == 8
    assert done.messages[0].content[0] == TextBlock(text=LEFT_OUT)
    assert done.messages[0].content[1].text.startswith("question 2")
    assert calls_of(done.messages) == ["c2", "c3"]
    again = compacted(done.messages, window_for(500))
    assert again.messages == (UserMessage(content=(TextBlock(text=LEFT_OUT), TextBlock(text="the task"))),)


def test_then_the_oldest_calls_of_this_run_go():
    log = [user_text("the task")]
    for number in range(200):
        log += exchange(f"c{number}", "r" * 500)
    done = compacted(log, INFO)
    assert done.messages[0].content == (TextBlock(text=LEFT_OUT), TextBlock(text="the task"))
    assert calls_of(done.messages) == [f"c{number}" for number in range(101, 200)]
    assert done.removed == 202
    assert done.shortened == 0


def test_one_giant_result_is_cut_in_the_middle_though_it_is_the_latest():
    log = [user_text("the task"), *exchange("a", "first" + "x" * 1_000_000 + "last", file_path="a.txt")]
    done = compacted(log, window_for(20_000))
    (result,) = results_of(done.messages)
    text = result.content[0].text
    assert text.startswith("firstx")
    assert text.endswith("xlast")
    assert 10_000 < len(text) < 21_000
    assert json.loads(done.messages[1].calls[0].arguments) == {"file_path": "a.txt"}


def test_one_giant_call_is_cut_and_its_short_result_is_not():
    log = [user_text("the task"), *exchange("a", "r" * 3000, content="x" * 1_000_000)]
    done = compacted(log, window_for(50_000))
    assert results_of(done.messages)[0].content[0].text == "r" * 3000
    assert len(done.messages[1].calls[0].arguments) < 400


def test_the_latest_image_is_the_last_thing_to_go():
    log = [user_text("the task"), *exchange("a", "x" * 30_000, images=[IMAGE])]
    kept = results_of(compacted(log, INFO).messages)[0]
    assert kept.content[1] == IMAGE
    gone = results_of(compacted(log, window_for(1000)).messages)[0]
    assert "left out" in gone.content[1].text


def test_the_prompt_of_a_run_with_repairs_is_the_first_of_its_messages():
    log = [user_text("old " + "o" * 5000), answer("yes"), user_text("the task"), *exchange("a"), answer("no")]
    log.append(user_text("try again"))
    assert compacted(log, window_for(100), turns=2).messages[0].content[1].text == "the task"
    assert compacted(log, window_for(10), turns=1).messages[0].content[1].text == "try again"


@pytest.mark.parametrize(
    "log",
    [
        [],
        [user_text("a prompt alone, " + "x" * 100_000)],
        [user_text("the task"), *exchange("a")],
        [user_text("ha"), answer("ho"), user_text("the task")],
    ],
)
def test_what_cannot_be_shorter_is_none(log):
    assert compacted(log, INFO) is None


def test_arguments_that_cannot_be_written_again_stay():
    deep = '{"a":' + "[" * 400 + "]" * 400 + ',"b":"' + "x" * 5000 + '"}'
    log = [user_text("the task")]
    for number in range(KEPT_RESPONSES + 1):
        call = ToolCallBlock(id=f"c{number}", name="odd", arguments=deep)
        log += [AssistantMessage(content=(call,)), exchange(f"c{number}")[1]]
    log = valid_log(log).messages
    done = compacted(log, window_for(1))
    assert done.messages[-2].calls[0].arguments == deep


texts = st.builds(lambda text, times: text * times, st.text(max_size=4), st.sampled_from([1, 10, 400, 4000]))
images = st.just(IMAGE)
user = st.builds(
    UserMessage, content=st.lists(st.builds(TextBlock, text=texts) | images, max_size=2).map(tuple)
)
arguments = st.dictionaries(st.sampled_from(["a", "b"]), texts | st.integers(), max_size=2).map(json.dumps)
thoughts = st.builds(ReasoningBlock, text=texts, provider=st.sampled_from([None, SIGNED]))


@st.composite
def exchanges(draw):
    calls = draw(st.lists(st.tuples(arguments, st.lists(texts, max_size=2), st.booleans()), max_size=3))
    said = draw(st.lists(st.builds(TextBlock, text=texts) | thoughts, max_size=2))
    blocks = [ToolCallBlock(id="c", name="t", arguments=given) for given, _, _ in calls]
    results = [
        ToolResultBlock(
            call_id="c",
            name="t",
            content=tuple(TextBlock(text=text) for text in result) + (IMAGE,) * image,
        )
        for _, result, image in calls
    ]
    found = [AssistantMessage(content=(*said, *blocks))]
    return [*found, ToolMessage(content=tuple(results))] if results else found


@st.composite
def logs(draw):
    messages = []
    for first, rest in draw(st.lists(st.tuples(user, st.lists(exchanges(), max_size=5)), max_size=4)):
        messages += [first, *(message for pair in rest for message in pair)]
    return valid_log(messages).messages


@settings(derandomize=True, max_examples=150, deadline=None)
@given(logs(), st.sampled_from([None, 1, 100, 2000]), st.integers(1, 3))
def test_whatever_the_log_it_stays_valid_gets_smaller_and_keeps_what_matters(log, window, turns):
    done = compacted(log, ModelInfo(name="some/model", context_window=window), turns=turns)
    if done is None:
        return
    assert valid_log(done.messages).messages == done.messages
    assert size(done.messages) < size(log)
    assert [result.call_id for result in results_of(done.messages)] == calls_of(done.messages)
    kept, before = iter(calls_of(log)), calls_of(done.messages)
    assert all(call in kept for call in before)
    prompts = [message for message in log if isinstance(message, UserMessage)][-turns:]
    said = [block for m in done.messages if isinstance(m, UserMessage) for block in m.content]
    wanted = [block for message in prompts for block in message.content]
    assert said[len(said) - len(wanted) :] == wanted
    if isinstance(log[-1], ToolMessage):
        assert [result.call_id for result in done.messages[-1].content] == [
            result.call_id for result in log[-1].content
        ]
        signed = [block for block in log[-2].content if isinstance(block, ReasoningBlock) and block.provider]
        assert [block for block in done.messages[-2].content if block in signed] == signed


def test_a_long_log_takes_time_in_proportion(monkeypatch):
    counted = []

    def counting(blocks):
        counted.append(1)
        return characters_of(blocks)

    monkeypatch.setattr("runcell_nb.core.compaction.characters_of", counting)
    log = [user_text("the task")]
    for number in range(2000):
        log += exchange(f"c{number}", "r" * 1000, said=[ReasoningBlock(text="t")], content="x" * 1000)
    assert compacted(log, window_for(100)) is not None
    assert len(counted) < 8 * len(log)
