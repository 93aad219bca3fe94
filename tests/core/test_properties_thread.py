"""What holds for threads, whatever was said on them and whatever their results are."""

from __future__ import annotations

import copy
import json

from hypothesis import given
from hypothesis import strategies as st

from runcell_nb import InvalidOptionError, create_thread, thread_from_dict
from runcell_nb.core.jsontext import scrub, scrubbed
from runcell_nb.core.message_log import valid_log
from runcell_nb.core.thread import replay_prompt

from .log_strategies import any_json, any_text, bounded, logs

STAMP = "2026-01-01T00:00:00.000Z"
entries = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text, "createdAt": STAMP}, any_text),
    st.builds(lambda text: {"role": "agent", "content": text, "createdAt": STAMP}, any_text),
    st.builds(
        lambda text, data: {"role": "agent", "content": text, "createdAt": STAMP, "data": data},
        any_text,
        any_json,
    ),
)
states = st.builds(
    lambda messages, more: {"version": 1, "id": "t", "messages": messages, **more},
    st.lists(entries, max_size=5),
    st.just({}) | st.builds(lambda opaque: {"continuation": {"engine": "other", "x": opaque}}, any_json),
)


def spoiled(value):
    """Change a structure all the way down, in place."""
    if isinstance(value, dict):
        for item in value.values():
            spoiled(item)
        value["spoiled"] = True
    elif isinstance(value, list):
        for item in value:
            spoiled(item)
        value.append("spoiled")


@given(states)
@bounded(150)
def test_a_state_comes_back_as_it_was_and_is_nobody_elses(state):
    expected = scrubbed(state)
    thread = thread_from_dict(state)
    spoiled(state)
    assert thread.to_dict() == expected
    spoiled(thread.to_dict())
    for message in thread.messages:
        spoiled(message.data)
    other = thread.clone()
    assert other.to_dict() == thread.to_dict() == expected


@given(any_text, any_text, any_json, st.booleans(), logs)
@bounded(150)
def test_a_recorded_run_survives_a_file_and_a_clone(prompt, text, data, has_data, broken):
    thread = create_thread("t")
    given_data = copy.deepcopy(data)
    thread.record(prompt, text, valid_log(broken).messages, data=given_data, has_data=has_data)
    spoiled(given_data)
    as_file = json.dumps(thread.to_dict(), ensure_ascii=False, allow_nan=False).encode("utf-8")
    again = thread_from_dict(json.loads(as_file))
    assert again.messages == thread.messages == thread.clone().messages
    assert (again.log or ()) == thread.log == thread.clone().log
    user, agent = thread.messages
    assert (user.content, agent.content) == (scrub(prompt), scrub(text))
    assert (agent.data, agent.has_data) == (scrubbed(data) if has_data else None, has_data)


@given(states, any_text)
@bounded(100)
def test_a_replay_tells_everything_in_order_and_the_prompt_last(state, prompt):
    messages = thread_from_dict(state).messages
    sent = replay_prompt(messages, prompt)
    assert sent.endswith(prompt)
    assert messages or sent == prompt
    position = 0
    for message in messages:
        position = sent.index(message.content, position) + len(message.content)


@given(any_json | st.fixed_dictionaries({"version": st.just(1), "id": any_text, "messages": any_json}))
@bounded(200)
def test_any_other_value_is_refused_by_a_sentence(value):
    try:
        thread = thread_from_dict(value)
    except InvalidOptionError as error:
        assert str(error).endswith(".")
    else:
        assert thread_from_dict(thread.to_dict()).to_dict() == thread.to_dict()
