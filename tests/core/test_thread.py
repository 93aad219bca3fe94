from __future__ import annotations

import json

import pytest

from runcell_nb import InvalidOptionError, create_thread, thread_from_dict
from runcell_nb.core.journal import journal_from, journal_of
from runcell_nb.core.message_log import MessageLog
from runcell_nb.core.messages import TextBlock, ToolCallBlock
from runcell_nb.core.thread import replay_prompt
from tests.conformance import cases, decoded


def some_log():
    log = MessageLog()
    log.add_user([TextBlock(text="hi")])
    log.add_response([ToolCallBlock(id=log.reserve_id("a"), name="ls", arguments="{}")], [])
    return log.messages


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "thread_state"))
def test_thread_state_cases(given, expect):
    state = json.loads(json.dumps(given["state"]))
    thread = thread_from_dict(state)
    state["messages"].clear()
    assert thread.to_dict() == expect["ok"]


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "thread_replay"))
def test_thread_replay_cases(given, expect):
    thread = thread_from_dict({"version": 1, "id": "t", "messages": given["messages"]})
    sent, wanted, position = replay_prompt(thread.messages, given["prompt"]), expect["ok"], -1
    assert sent == wanted.get("exact", sent)
    for fragment in wanted.get("in_order", ()):
        position = sent.index(fragment, position + 1)
    assert sent.endswith(wanted.get("ends_with", ""))


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "continuation"))
def test_continuation_cases(given, expect):
    own = journal_of(some_log())
    continuation = decoded(given).get("continuation")
    if continuation is not None:
        continuation = {key: own[key] if value == "$own" else value for key, value in continuation.items()}
    assert (journal_from(continuation) is not None) is (expect["ok"] == "resume")


def test_a_log_survives_the_round_trip_through_json():
    thread = create_thread("t")
    thread.record("hi", "done", some_log(), data={"n": 1}, has_data=True)
    again = thread_from_dict(json.loads(json.dumps(thread.to_dict())))
    assert again.log == thread.log
    assert again.messages == thread.messages
    assert again.to_dict() == thread.to_dict()


@pytest.mark.parametrize("packed", ["", "AAAA", "not base64", "H4sIAAAAAAAAA8sAAA==", 3, None])
def test_a_broken_journal_is_kept_but_not_used(packed):
    continuation = {**journal_of(some_log()), "journalGz": packed}
    state = {"version": 1, "id": "t", "messages": [], "continuation": continuation}
    thread = thread_from_dict(state)
    assert thread.log is None
    assert thread.to_dict() == state


def test_recorded_data_is_copied_both_ways():
    data = {"rows": [1]}
    thread = create_thread()
    thread.record("p", "t", some_log(), data=data, has_data=True)
    data["rows"].append(2)
    thread.messages[1].data["rows"].append(3)
    assert thread.messages[1].data == {"rows": [1]}


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {"version": True, "id": "t", "messages": []},
        {"version": 2, "id": "t", "messages": []},
        {"version": 1, "id": "", "messages": []},
        {"version": 1, "id": "t", "messages": {}},
        {"version": 1, "id": "t", "messages": [{"role": "system", "content": "", "createdAt": "x"}]},
        {"version": 1, "id": "t", "messages": [{"role": "user", "content": 3, "createdAt": "x"}]},
        {"version": 1, "id": "t", "messages": [None]},
    ],
)
def test_a_malformed_state_is_refused(state):
    with pytest.raises(InvalidOptionError):
        thread_from_dict(state)


def test_a_thread_in_use_is_refused_with_the_way_out():
    thread = create_thread()
    thread.acquire()
    with pytest.raises(InvalidOptionError, match=r"clone\(\)"):
        thread.acquire()
    thread.release()
    thread.acquire()
