"""One state out of several copies."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runcell_nb.notebook.state_merge import deleted_of, merged
from tests.core.log_strategies import any_json, bounded


def thread(revision: Any, turns: int = 0, **more: Any) -> dict[str, Any]:
    return {"version": 1, "id": "t", "messages": [], "turns": [{}] * turns, "revision": revision, **more}


threads = st.builds(
    lambda revision, turns, more: thread(revision, turns, **more),
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from([{}, {"continuation": 1}]),
)
parts = st.dictionaries(st.sampled_from("xyz"), st.just("content"))
states: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "version": st.just(1),
        "threads": st.dictionaries(st.sampled_from(["a", "b", "c"]), threads | any_json),
        "files": st.fixed_dictionaries({"states": parts, "blobs": parts}),
    },
    optional={
        "revision": st.integers(0, 3),
        "activeThread": st.sampled_from("abc"),
        "recordings": any_json,
        "deleted": st.dictionaries(st.sampled_from("abc"), st.integers(0, 3)) | any_json,
    },
)
sound = states.filter(lambda state: merged(state, state) == state)
anything = states | any_json | st.builds(lambda version, rest: {**rest, "version": version}, any_json, states)


@given(a=anything, b=anything, c=anything)
@bounded(300)
def test_the_order_of_merging_does_not_matter(a: Any, b: Any, c: Any) -> None:
    assert merged(merged(a, b), c) == merged(a, merged(b, c))


@given(state=sound)
@bounded(100)
def test_merging_with_itself_or_nothing_changes_nothing(state: dict[str, Any]) -> None:
    assert merged(state, state) == state
    assert merged({}, state) == merged(state, {}) == merged(None, state) == state


@given(a=states, b=states)
@bounded(200)
def test_both_orders_choose_equally_good_threads(a: dict[str, Any], b: dict[str, Any]) -> None:
    one, two = merged(a, b), merged(b, a)
    assert one["threads"].keys() == two["threads"].keys()
    assert (one["files"], one.get("deleted")) == (two["files"], two.get("deleted"))
    for name in one["threads"]:
        sides = [side["threads"][name] for side in (a, b) if name in side["threads"]]
        assert one["threads"][name] in sides and two["threads"][name] in sides


@given(a=anything, b=anything)
@bounded(200)
def test_nothing_is_changed(a: Any, b: Any) -> None:
    before = json.dumps([a, b])
    merged(a, b)
    assert json.dumps([a, b]) == before


def test_the_higher_revision_wins_then_more_turns_then_a_continuation_then_the_first() -> None:
    def winner(a: Any, b: Any) -> Any:
        return merged({"version": 1, "threads": {"x": a}}, {"version": 1, "threads": {"x": b}})["threads"][
            "x"
        ]

    better = [thread(3), thread(2, 2), thread(2, 1, continuation=1), thread(2, 1), {"version": 1}]
    for at, good in enumerate(better):
        for bad in better[at + 1 :]:
            assert winner(good, bad) is good and winner(bad, good) is good
    assert winner(thread(2, first=1), thread(2, first=0))["first"] == 1


def test_a_revision_that_is_no_number_does_not_win() -> None:
    for revision in (10**300, -1, True, "9", None, 1e9):
        state = merged(
            {"version": 1, "threads": {"x": thread(revision)}}, {"version": 1, "threads": {"x": thread(0)}}
        )
        assert state["threads"]["x"]["revision"] == 0


def test_what_belongs_to_the_whole_is_from_the_newer_copy() -> None:
    old = {"version": 1, "revision": 5, "activeThread": "a", "recordings": 1, "threads": {"a": thread(9)}}
    new = {"version": 1, "revision": 6, "activeThread": "b", "sandbox": {}, "threads": {"b": thread(1)}}
    both = {**new, "threads": {**old["threads"], **new["threads"]}, "recordings": 1}  # never lost
    assert merged(old, new) == merged(new, old) == both
    assert merged(old, {**new, "recordings": 2})["recordings"] == 2


def test_a_thread_that_was_deleted_comes_back_only_when_it_went_on_elsewhere() -> None:
    here = {"version": 1, "deleted": {"x": 3, "y": 1}, "threads": {}}
    for revision, there in ((2, False), (3, False), (4, True), (10**300, False), (None, False)):
        other = {"version": 1, "deleted": {"y": 2}, "threads": {"x": thread(revision)}}
        for state in (merged(here, other), merged(other, here)):
            assert ("x" in state["threads"]) is there
            assert state["deleted"] == {"x": 3, "y": 2}


def test_deletions_that_are_none_delete_nothing() -> None:
    kept = {"version": 1, "threads": {"x": thread(3)}}
    for deleted in ([], "x", {"x": "9"}, {"x": True}, {"x": 2**53 - 1}, {"x": -1}, {"x": None}):
        state = merged(kept, {"version": 1, "deleted": deleted, "threads": {}})
        assert "x" in state["threads"] and deleted_of(state) == {}


def test_a_revision_that_nothing_could_outdo_loses() -> None:
    for revision in (2**40 + 1, 2**52, 2**53 - 1):
        for a, b in ((thread(revision, 3), thread(0)), (thread(0), thread(revision, 3))):
            state = merged({"version": 1, "threads": {"x": a}}, {"version": 1, "threads": {"x": b}})
            assert state["threads"]["x"]["revision"] == 0


def test_a_newer_version_wins_as_a_whole() -> None:
    newer = {"version": 2, "anything": 1}
    assert merged(newer, {"version": 1, "threads": {}}) == merged({"version": 1}, newer) == newer
