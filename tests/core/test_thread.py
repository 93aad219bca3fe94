from __future__ import annotations

import json
from datetime import datetime
from uuid import UUID

import pytest

from runcell_nb import InvalidOptionError, create_thread, thread_from_dict
from runcell_nb.core.journal import UNREADABLE_IMAGE, journal_from, journal_of
from runcell_nb.core.message_log import MessageLog
from runcell_nb.core.messages import ImageBlock, TextBlock, ToolCallBlock, UserMessage
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


def test_a_new_thread_is_empty_under_the_id_given_or_a_uuid():
    assert create_thread("c1").id == "c1"
    assert create_thread().messages == []
    made = create_thread().id
    assert str(UUID(made)) == made
    for wrong in ("", 3):
        with pytest.raises(InvalidOptionError, match=repr(wrong)):
            create_thread(wrong)


def test_a_run_is_recorded_with_the_prompt_untrimmed_and_a_time():
    thread = create_thread()
    thread.record("  hi \n", "", some_log())
    user, agent = thread.messages
    assert (user.role, user.content, agent.role, agent.content) == ("user", "  hi \n", "agent", "")
    assert datetime.fromisoformat(agent.created_at).tzinfo is not None
    assert user.created_at.endswith("Z")


@pytest.mark.parametrize(("data", "kept"), [(None, None), (0, 0), (float("nan"), None), ((1, 2), [1, 2])])
def test_data_that_says_nothing_is_still_data(data, kept):
    thread = create_thread()
    thread.record("p", "t", some_log(), data=data, has_data=True)
    thread.record("p", "t", some_log(), data=data)
    states = thread.to_dict()["messages"]
    assert [state.get("data", "absent") for state in states] == ["absent", kept, "absent", "absent"]


def test_data_of_a_user_message_is_ignored():
    entry = {"role": "user", "content": "hi", "createdAt": "2026-01-01T00:00:00Z", "data": {"n": 1}}
    thread = thread_from_dict({"version": 1, "id": "t", "messages": [entry]})
    assert thread.messages[0].data is None
    assert "data" not in thread.to_dict()["messages"][0]
    assert '{"n":1}' not in replay_prompt(thread.messages, "next")


def test_a_replay_shows_results_also_null_and_keeps_the_place_of_an_empty_answer():
    said = [("user", "one"), ("agent", ""), ("user", "two"), ("agent", "so")]
    entries = [{"role": role, "content": text, "createdAt": "2026-01-01T00:00:00Z"} for role, text in said]
    entries[3]["data"] = None
    sent = replay_prompt(thread_from_dict({"version": 1, "id": "t", "messages": entries}).messages, " next")
    user, agent, result = "User: {}", "Agent: {}", "Agent's result: {}"
    told = [
        user.format("one"),
        agent.format(""),
        user.format("two"),
        agent.format("so"),
        result.format("null"),
    ]
    assert sent.split("\n\n")[1:6] == told
    assert sent.endswith("\n\n next")


def test_both_spellings_of_the_time_are_taken():
    entry = {"role": "user", "content": "hi", "created_at": "2026-01-01T00:00:00Z"}
    state = thread_from_dict({"version": 1, "id": "t", "messages": [entry]}).to_dict()
    assert state["messages"][0]["createdAt"] == entry["created_at"]


@pytest.mark.parametrize(
    "more", [{"continuation": object()}, {"messages": [{"role": "agent", "content": "", "createdAt": "x"}]}]
)
def test_a_state_that_no_json_could_hold_is_refused(more):
    for message in more.get("messages", ()):
        message["data"] = {1, object()}
    with pytest.raises(InvalidOptionError, match="plain JSON"):
        thread_from_dict({"version": 1, "id": "t", "messages": [], **more})


@pytest.mark.parametrize(
    "change",
    [
        {"resume": None},
        {"resume": {"version": 2}},
        {"engine": None},
        {"journalGz": None},
        {"journalGz": journal_of(())["journalGz"]},
    ],
)
def test_a_continuation_that_cannot_be_resumed_is_kept_and_replayed(change):
    continuation = {**journal_of(some_log()), **change}
    entry = {"role": "user", "content": "hi", "createdAt": "2026-01-01T00:00:00Z"}
    thread = thread_from_dict({"version": 1, "id": "t", "messages": [entry], "continuation": continuation})
    assert thread.log is None
    assert thread.to_dict()["continuation"] == continuation
    assert thread.clone().to_dict()["continuation"] == continuation


def test_a_new_run_takes_the_place_of_an_old_continuation():
    continuation = {"engine": "other", "journalGz": "AAAA"}
    thread = thread_from_dict({"version": 1, "id": "t", "messages": [], "continuation": continuation})
    thread.record("p", "t", some_log())
    assert thread.to_dict()["continuation"] == journal_of(some_log())


def test_a_clone_goes_its_own_way_and_is_free():
    thread = create_thread("t")
    thread.record("p", "t", some_log(), data={"rows": [1]}, has_data=True)
    thread.acquire()
    other = thread.clone()
    other.acquire()
    other.record("q", "u", some_log())
    assert (other.id, len(other.messages), len(thread.messages)) == ("t", 4, 2)


def test_images_that_are_none_are_told_when_a_journal_is_read():
    good = ImageBlock(data="AAAA", media_type="image/png")
    bad = ImageBlock(data="AAA", media_type="image/png")
    log = journal_from(journal_of([UserMessage(content=(good, bad))]))
    assert log[0].content == (good, TextBlock(text=UNREADABLE_IMAGE))


def test_a_journal_that_unpacks_without_end_is_not_read(monkeypatch):
    continuation = journal_of(some_log())
    monkeypatch.setattr("runcell_nb.core.journal._MAX_JOURNAL_BYTES", 20)
    assert journal_from(continuation) is None


def test_a_thread_goes_back_to_how_it_was_and_leaves_the_original_alone():
    thread = create_thread("t")
    thread.record("one", "1", some_log(), data={"rows": [1]}, has_data=True)
    first = thread.to_dict()
    thread.record("two", "2", (*some_log(), *some_log()))
    back = thread.rewound(2, len(some_log()))
    assert back.to_dict() == first
    back.acquire()
    back.record("three", "3", some_log())
    assert ([m.content for m in thread.messages], thread.message_count) == (["one", "1", "two", "2"], 4)
    assert back.message_count == 4


@pytest.mark.parametrize("log", [None, 0])
def test_a_thread_that_goes_back_without_its_log_is_told_its_messages(log):
    thread = create_thread("t")
    thread.record("one", "1", some_log())
    back = thread.rewound(2, log)
    assert (back.log, back.message_count) == (None, 2)
    assert "continuation" not in back.to_dict()


def test_the_continuation_of_another_engine_does_not_outlive_a_rewind():
    thread = thread_from_dict({"version": 1, "id": "t", "messages": [], "continuation": {"engine": "other"}})
    assert "continuation" not in thread.rewound(0, None).to_dict()


@pytest.mark.parametrize(
    ("messages", "log"), [(3, 0), (-1, 0), (True, 0), (2, 9), (2, -1), (2, 1.0), ("2", 0)]
)
def test_a_thread_cannot_go_back_to_where_it_never_was(messages, log):
    thread = create_thread("t")
    thread.record("one", "1", some_log())
    with pytest.raises(InvalidOptionError, match="cannot be cut after"):
        thread.rewound(messages, log)
