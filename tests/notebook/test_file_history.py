from __future__ import annotations

import asyncio
import base64
import json
import os
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcell_nb import InvalidOptionError
from runcell_nb.core.sandbox import Capabilities, FileInfo, Sandbox
from runcell_nb.core.sandbox_options import create_sandbox
from runcell_nb.notebook import file_history
from runcell_nb.notebook.file_digests import digest_of
from runcell_nb.notebook.file_history import MAX_KEPT_BYTES, FileHistory
from runcell_nb.notebook.file_restore import named
from tests.core.log_strategies import any_json, bounded

MIB = 1024 * 1024
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class MemorySession:
    """A workspace in memory that counts what is read; times are what the test says."""

    id = "memory"
    working_directory = "/workspace"

    def __init__(self, files=None):
        self.files = dict(files or {})
        self.times = dict.fromkeys(self.files, LONG_AGO)
        self.reads, self.removed = [], []
        self.broken = set()

    async def run(self, command, *, cwd=None, env=None, timeout=None):
        raise NotImplementedError

    async def read_file(self, path):
        self.reads.append(path)
        return self.files.get(path)

    async def write_file(self, path, data):
        if path in self.broken:
            raise OSError(f"{path} is broken.")
        self.files[path], self.times[path] = data, LONG_AGO

    async def remove(self, path):
        self.removed.append(path)
        for name in [name for name in self.files if name == path or name.startswith(path + "/")]:
            del self.files[name]

    async def list_files(self):
        return [FileInfo(path, len(data), self.times[path]) for path, data in self.files.items()]

    async def stop(self):
        pass


def in_memory(files=None):
    session = MemorySession(files)
    return session, Sandbox(session, kind="custom", capabilities=Capabilities())


@pytest.fixture
async def sandbox():
    async with create_sandbox("virtual") as made:
        yield made


async def contents(sandbox):
    paths = [info.path for info in await sandbox.list_files()]
    return dict(zip(paths, await sandbox.read_files(paths), strict=True))


async def fill(sandbox, files):
    for path, data in files.items():
        await sandbox.write_file(path, data)


async def test_files_come_back_as_they_were(sandbox):
    history = FileHistory()
    files = {"a.txt": b"one", "data/b.bin": bytes(range(256)), "data/empty": b"", "Ü n\n.txt": b"x"}
    await fill(sandbox, files)
    state = await history.capture(sandbox)
    await sandbox.exec("rm -r data; echo two > a.txt; mkdir -p new/deep; echo n > new/deep/c")
    after = await history.capture(sandbox)
    assert await history.restore(sandbox, state) is None
    assert await contents(sandbox) == files
    assert await history.capture(sandbox) == state
    assert await history.restore(sandbox, after) is None
    assert await contents(sandbox) == {"a.txt": b"two\n", "new/deep/c": b"n\n", "Ü n\n.txt": b"x"}


async def test_the_same_files_are_the_same_state_wherever_they_are(sandbox):
    history = FileHistory()
    session, other = in_memory({"a": b"1", "b/c": b"2"})
    await fill(sandbox, session.files)
    assert await history.capture(sandbox) == await history.capture(other)
    empty = await history.capture(in_memory()[1])
    assert await history.restore(sandbox, empty) is None
    assert await contents(sandbox) == {}


async def test_a_new_sandbox_gets_the_files_of_one_that_is_gone():
    async with create_sandbox("virtual") as old:
        await fill(old, {"a/b": b"1"})
        history = FileHistory()
        state = await history.capture(old)
    again = FileHistory.from_dict(json.loads(json.dumps(history.to_dict(MIB, [state]))))
    async with create_sandbox("virtual") as new:
        assert await again.restore(new, state) is None
        assert await contents(new) == {"a/b": b"1"}
        assert await again.capture(new) == state


async def test_only_what_may_have_changed_is_read():
    history = FileHistory()
    session, sandbox = in_memory({f"{n:05}": b"%d" % n for n in range(10_000)})
    first = await history.capture(sandbox)
    assert len(session.reads) == 10_000
    session.reads.clear()
    assert await history.capture(sandbox) == first
    assert session.reads == []
    session.files["00007"], session.files["new"] = b"longer", b"n"
    session.times["00007"] = session.times["new"] = LONG_AGO
    session.times["00008"] += timedelta(seconds=1)
    second = await history.capture(sandbox)
    assert sorted(session.reads) == ["00007", "00008", "new"]
    session.reads.clear()
    await history.restore(sandbox, first)
    await history.capture(sandbox)
    assert session.reads == ["00007"]
    assert second != first


async def test_a_file_that_was_gone_meanwhile_is_read_again():
    history = FileHistory()
    session, sandbox = in_memory({"a": b"1"})
    first = await history.capture(sandbox)
    del session.files["a"]
    await history.capture(sandbox)
    session.files["a"] = b"2"
    assert await history.capture(sandbox) != first


async def test_a_file_written_twice_in_one_moment_is_read_again():
    history = FileHistory()
    session, sandbox = in_memory({"a": b"1"})
    session.times["a"] = datetime.now(UTC) + timedelta(seconds=1)
    first = await history.capture(sandbox)
    session.files["a"] = b"2"
    assert await history.capture(sandbox) != first


async def test_an_unreadable_file_is_left_out_and_the_state_folder_never_counts(sandbox):
    history = FileHistory()
    session, other = in_memory({"a": b"1", "gone": b"2"})
    read = session.read_file

    async def broken(path):
        return None if path == "gone" else await read(path)

    session.read_file = broken
    await fill(sandbox, {"a": b"1", ".runcell/sessions/x": b"private"})
    state = await history.capture(sandbox)
    assert await history.capture(other) == state
    assert await history.restore(sandbox, state) is None
    assert await sandbox.read_file(".runcell/sessions/x") == b"private"


async def test_restore_writes_only_what_differs(sandbox):
    history = FileHistory()
    await fill(sandbox, {"same": b"1", "other": b"2"})
    state = await history.capture(sandbox)
    before = {info.path: info.modified for info in await sandbox.list_files()}
    await sandbox.write_file("other", b"3")
    await asyncio.sleep(0.05)
    await history.restore(sandbox, state)
    after = {info.path: info.modified for info in await sandbox.list_files()}
    assert after["same"] == before["same"]
    assert after["other"] > before["other"]


@pytest.mark.parametrize(
    "mess",
    [
        "rm a; mkdir -p a/b; echo x > a/b/c",  # a folder where a file was
        "rm a; mkdir a",  # an empty one
        "rm -r d; echo x > d",  # a file where a folder was
        "rm -r d; mkdir other; echo kept > other/e; ln -s other d",  # a link where a folder was
        "rm a; ln -s d/e a",  # a link where a file was
        "rm a; ln -s nowhere a",
    ],
)
async def test_whatever_stands_in_a_files_place_makes_way(sandbox, mess):
    history = FileHistory()
    files = {"a": b"1", "d/e": b"2", "d/f/g": b"3"}
    await fill(sandbox, files)
    state = await history.capture(sandbox)
    done = await sandbox.exec(mess)
    assert done.exit_code == 0, done.stderr
    assert await history.restore(sandbox, state) is None
    assert await contents(sandbox) == files


async def test_what_is_no_file_stays_where_it_is_in_nobodys_way(sandbox):
    history = FileHistory()
    await fill(sandbox, {"d/e": b"1"})
    state = await history.capture(sandbox)
    await sandbox.exec("rm d/e; ln -s nowhere d/link; mkdir d/empty")
    assert await history.restore(sandbox, state) is None
    assert await contents(sandbox) == {"d/e": b"1"}
    assert sorted(await sandbox.list_directory("d")) == ["e", "empty/", "link"]


async def test_nothing_is_cleared_away_in_folders_that_the_restore_makes():
    history = FileHistory()
    state = await history.capture(in_memory({"d/a": b"1", "d/b": b"1", "d/e/f": b"1"})[1])
    session, sandbox = in_memory()
    assert await history.restore(sandbox, state) is None
    assert session.removed == ["d"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
async def test_a_pipe_in_a_files_place_does_not_stop_the_restore(sandbox):
    history = FileHistory()
    await fill(sandbox, {"a": b"1", "d/e": b"2"})
    state = await history.capture(sandbox)
    root = sandbox._session.resolve("")
    await sandbox.exec("rm -r a d")
    os.mkfifo(root / "a")
    os.mkfifo(root / "d")
    assert await asyncio.wait_for(history.restore(sandbox, state), 10) is None
    assert await contents(sandbox) == {"a": b"1", "d/e": b"2"}


async def test_a_file_that_is_too_big_is_told_and_left_alone(sandbox):
    history = FileHistory()
    await fill(sandbox, {"big": b"x" * (MIB + 1), "small": b"1"})
    state = await history.capture(sandbox)
    assert history.problem == "Files over 1 MiB are not kept: going back does not bring back 'big'."
    await sandbox.write_file("small", b"2")
    assert await history.restore(sandbox, state) is None
    await sandbox.write_file("big", b"y" * (MIB + 2))
    problem = await history.restore(sandbox, state)
    why = "the content was not kept (too big, or a key is in it)"
    assert problem == f"Not brought back, because {why}: 'big'."
    assert (await sandbox.read_file("big"))[:1] == b"y"
    await sandbox.remove("big")
    assert "'big'" in await history.restore(sandbox, state)
    assert await sandbox.read_file("small") == b"1"
    assert await history.capture(sandbox) != state
    assert history.problem is None


async def test_files_that_are_too_big_together_are_not_kept_and_not_read():
    history = FileHistory()
    session, sandbox = in_memory({f"{n}": bytes([n]) * MIB for n in range(17)})
    assert await history.capture(sandbox) is None
    assert "17 files are too big to be kept together (the limit is 16 MiB" in history.problem
    assert (session.reads, history.kept_bytes) == ([], 0)
    session.files, session.times = {"a": b"1"}, {"a": LONG_AGO}
    assert await history.capture(sandbox) is not None
    assert history.problem is None


async def test_files_that_grow_while_they_are_read_stay_within_bounds():
    history = FileHistory()
    session, sandbox = in_memory({f"{n}": b"%d" % n for n in range(30)})

    async def grown(path):
        return session.files[path] * (MIB // 2)

    session.read_file = grown
    assert await history.capture(sandbox) is None
    assert "too big to be kept together" in history.problem
    assert history.kept_bytes == 0


async def test_the_oldest_states_go_first_and_their_contents_with_them():
    history = FileHistory()
    session, sandbox = in_memory({"shared": b"s" * MIB})
    states = []
    for n in range(40):
        session.files["own"], session.times["own"] = bytes([n]) * MIB, LONG_AGO + timedelta(n)
        states.append(await history.capture(sandbox))
        assert history.kept_bytes <= MAX_KEPT_BYTES
    kept = [state in history for state in states]
    assert kept == [False] * 26 + [True] * 14
    problem = await history.restore(sandbox, states[0])
    assert "not kept any more" in problem
    assert session.files["own"] == bytes([39]) * MIB
    assert await history.restore(sandbox, states[26]) is None
    assert session.files == {"shared": b"s" * MIB, "own": bytes([26]) * MIB}


async def test_a_state_met_again_is_the_newest_one():
    history = FileHistory()
    session, sandbox = in_memory({"own": b"first"})
    first = await history.capture(sandbox)
    for n in range(40):
        session.files["own"], session.times["own"] = bytes([n]) * MIB, LONG_AGO + timedelta(n)
        await history.capture(sandbox)
        assert first in history
        session.files["own"], session.times["own"] = b"first", LONG_AGO - timedelta(n)
        assert await history.capture(sandbox) == first
    session.files.clear()
    assert await history.restore(sandbox, first) is None
    assert session.files == {"own": b"first"}


async def test_a_content_that_was_dropped_is_read_again_for_the_next_state():
    history = FileHistory()
    _, quiet = in_memory({"a": b"quiet" * 1000})
    first = await history.capture(quiet)
    session, busy = in_memory()
    for n in range(40):
        session.files["own"], session.times["own"] = bytes([n]) * MIB, LONG_AGO + timedelta(n)
        await history.capture(busy)
    assert first not in history
    assert await history.capture(quiet) == first
    assert await history.restore(busy, first) is None
    assert session.files == {"a": b"quiet" * 1000}


async def test_what_fails_is_told_and_does_not_stop_the_rest():
    history = FileHistory()
    session, sandbox = in_memory({f"f{n}": b"1" for n in range(9)})
    state = await history.capture(sandbox)
    session.files.clear()
    session.broken = {f"f{n}" for n in range(8)}
    problem = await history.restore(sandbox, state)
    listed = "'f0', 'f1', 'f2', 'f3', 'f4' and 3 more"
    assert problem == f"Could not be brought back: {listed} (f0 is broken)."
    assert session.files == {"f8": b"1"}
    session.broken.clear()
    assert await history.restore(sandbox, state) is None
    assert len(session.files) == 9


async def test_names_that_no_notebook_can_hold_are_told():
    history = FileHistory()
    assert await history.capture(in_memory({"\ud800": b"1"})[1]) is None
    assert "no valid text" in history.problem


def test_a_name_from_the_sandbox_is_shown_without_its_odd_characters():
    assert named(["a\n\u202eb"]) == r"'a\n\u202eb'"


async def test_a_destroyed_sandbox_is_refused(sandbox):
    history = FileHistory()
    state = await history.capture(sandbox)
    await sandbox.destroy()
    for act in (history.capture(sandbox), history.restore(sandbox, state)):
        with pytest.raises(InvalidOptionError, match="destroyed"):
            await act


async def test_captures_of_one_sandbox_wait_for_a_restore_of_it(sandbox):
    history = FileHistory()
    files = {f"{n}": b"%d" % n for n in range(50)}
    await fill(sandbox, files)
    full = await history.capture(sandbox)
    await history.restore(sandbox, await history.capture(in_memory()[1]))
    restored = asyncio.ensure_future(history.restore(sandbox, full))
    await asyncio.sleep(0)
    seen = await asyncio.gather(*(history.capture(sandbox) for _ in range(3)))
    assert await restored is None
    assert seen == [full] * 3


async def test_a_restore_that_was_stopped_halfway_is_seen_by_the_next_capture():
    history = FileHistory()
    session, sandbox = in_memory({"a": b"1", "b": b"1"})
    ones = await history.capture(sandbox)
    session.files, session.times = {"a": b"2", "b": b"2"}, dict.fromkeys("ab", LONG_AGO + timedelta(1))
    await history.capture(sandbox)
    write = session.write_file

    async def stopped(path, data):
        if path == "b":
            raise asyncio.CancelledError
        await write(path, data)
        session.times[path] = LONG_AGO + timedelta(1)

    session.write_file = stopped
    with pytest.raises(asyncio.CancelledError):
        await history.restore(sandbox, ones)
    session.write_file = write
    assert session.files == {"a": b"1"}
    assert await history.capture(sandbox) == await FileHistory().capture(sandbox)
    assert await history.restore(sandbox, ones) is None
    assert session.files == {"a": b"1", "b": b"1"}


async def test_the_loop_is_free_while_large_files_are_looked_at():
    history = FileHistory()
    _, sandbox = in_memory({f"{n}": bytes([n]) * (40 * MIB) for n in range(4)})
    turns = 0

    async def others():
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    beside = asyncio.ensure_future(others())
    await history.capture(sandbox)
    beside.cancel()
    assert turns > 20  # a hash on the loop would leave a few only


async def three_states():
    """A history with states of one small file, of a larger one too, and of that alone."""
    history = FileHistory()
    session, sandbox = in_memory({"a": b"1" * 100})
    ids = [await history.capture(sandbox)]
    session.files["b"], session.times["b"] = b"2" * 9000, LONG_AGO
    ids.append(await history.capture(sandbox))
    del session.files["a"]
    ids.append(await history.capture(sandbox))
    return history, ids


async def test_what_is_wanted_most_is_written_first_within_the_limit():
    history, (small, both, large) = await three_states()
    for wanted, limit, chosen in [
        ([small, both, large], 100_000, {small, both, large}),
        ([small, both, large], 1_000, {small}),
        ([large, small], 1_000, {small}),
        ([large, small], 12_500, {large}),
        ([both, "unknown", both], 100_000, {both}),
        ([small], 0, set()),
        ([], 100_000, set()),
    ]:
        state = history.to_dict(limit, wanted)
        assert state["states"].keys() == chosen
        used = {digest for files in state["states"].values() for digest in files.values()}
        assert state["blobs"].keys() == used
        assert len(json.dumps(state, indent=1)) <= max(limit, 40)


async def test_a_state_is_a_copy_both_ways():
    history, ids = await three_states()
    state = history.to_dict(MIB, ids)
    kept = json.loads(json.dumps(state))
    again = FileHistory.from_dict(state)
    state["states"][ids[0]].clear()
    state["blobs"].clear()
    assert history.to_dict(MIB, ids) == again.to_dict(MIB, ids) == kept
    assert again.kept_bytes == history.kept_bytes


async def test_contents_without_a_state_are_dropped_and_missing_ones_told():
    history, ids = await three_states()
    state = history.to_dict(MIB, ids)
    del state["blobs"][digest_of(b"1" * 100)]
    state["blobs"][digest_of(b"stray")] = base64.b64encode(b"stray").decode()
    again = FileHistory.from_dict(state)
    assert again.to_dict(MIB, ids)["blobs"].keys() == {digest_of(b"2" * 9000)}
    session, sandbox = in_memory()
    assert "was not kept (too big, or a key is in it): 'a'." in await again.restore(sandbox, ids[1])
    assert session.files == {"b": b"2" * 9000}


async def test_a_content_stays_as_long_as_a_state_has_it(monkeypatch):
    history, ids = await three_states()
    monkeypatch.setattr(file_history, "MAX_KEPT_BYTES", history.kept_bytes - 1)
    again = FileHistory.from_dict(history.to_dict(MIB, ids))
    assert [state_id in again for state_id in ids] == [False, True, True]
    session, sandbox = in_memory()
    assert await again.restore(sandbox, ids[1]) is None
    assert session.files == {"a": b"1" * 100, "b": b"2" * 9000}


async def test_a_history_larger_than_the_bound_is_cut_when_it_is_read(monkeypatch):
    history, ids = await three_states()
    state = history.to_dict(MIB, ids)
    monkeypatch.setattr(file_history, "MAX_KEPT_BYTES", 9_200)
    again = FileHistory.from_dict(state)
    assert [state_id in again for state_id in ids] == [False, False, True]
    assert again.kept_bytes <= 9_200


def manifest(files):
    text = json.dumps(files, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return {digest_of(text.encode()): files}


GOOD = digest_of(b"1")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "mapping 'states', got NoneType"),
        ({"states": {}}, "mapping 'blobs', got NoneType"),
        ({"states": [], "blobs": {}}, "mapping 'states', got list"),
        ({"states": {"x": []}, "blobs": {}}, "'x' must be a mapping, got list"),
        ({"states": {"x": {"a": GOOD}}, "blobs": {}}, "not what was kept"),
        ({"states": manifest({"../a": GOOD}), "blobs": {}}, "Unsafe workspace path '../a'"),
        ({"states": manifest({"/a": GOOD}), "blobs": {}}, "Unsafe"),
        ({"states": manifest({"a//b": GOOD}), "blobs": {}}, "'a//b' is no path"),
        ({"states": manifest({".runcell/x": GOOD}), "blobs": {}}, "'.runcell/x' is no path"),
        ({"states": {"x": {"\ud800": GOOD}}, "blobs": {}}, "no valid text"),
        ({"states": {"x": {1: GOOD}}, "blobs": {}}, "must be a string"),
        ({"states": manifest({"a": "0" * 63}), "blobs": {}}, "digest of 'a'"),
        ({"states": manifest({"a": None}), "blobs": {}}, "digest of 'a'"),
        ({"states": {}, "blobs": {GOOD: "Mg=="}}, "not what was kept"),
        ({"states": {}, "blobs": {GOOD: "M"}}, "not base64"),
        ({"states": {}, "blobs": {GOOD: "MQ==\n"}}, "not base64"),
        ({"states": {}, "blobs": {GOOD: 1}}, "must be base64 text"),
        ({"states": {}, "blobs": {GOOD: "A" * 2_000_000}}, "at most 1 MiB"),
    ],
)
def test_a_damaged_or_hostile_history_is_refused_by_what_is_wrong(value, message):
    with pytest.raises(InvalidOptionError) as caught:
        FileHistory.from_dict(value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.fixed_dictionaries({"states": any_json, "blobs": any_json}) | any_json)
@bounded(100)
def test_any_other_value_is_refused_or_empty(value):
    try:
        history = FileHistory.from_dict(value)
    except InvalidOptionError as error:
        assert "\n" not in str(error)
    else:
        assert history.kept_bytes == len("{}") + 20 if value["states"] else history.kept_bytes == 0


names = st.sampled_from(["a", "b", "a.txt", "Ü", "x y", "'"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
data = st.sampled_from([b"", b"1", b"2", b"\0\xff", b"long" * 50])
trees = st.dictionaries(paths, data, max_size=5).filter(
    lambda files: not any(other.startswith(path + "/") for path in files for other in files)
)


@given(st.lists(trees, min_size=1, max_size=4), st.data())
@bounded(15)
def test_any_files_come_back_in_any_order(states, draw):
    async def round_trip():
        history = FileHistory()
        async with create_sandbox("virtual") as sandbox:
            ids = []
            for files in states:
                for path in await contents(sandbox):
                    await sandbox.remove(path.partition("/")[0])
                await fill(sandbox, files)
                ids.append(await history.capture(sandbox))
            assert [ids.index(state) for state in ids] == [states.index(files) for files in states]
            order = draw.draw(st.lists(st.integers(0, len(ids) - 1), max_size=4))
            for at in order:
                assert await history.restore(sandbox, ids[at]) is None
                assert await contents(sandbox) == states[at]
                assert await history.capture(sandbox) == ids[at]
                history = FileHistory.from_dict(json.loads(json.dumps(history.to_dict(MIB, ids))))

    asyncio.run(round_trip())


async def test_states_of_another_history_come_in_as_older_ones(monkeypatch):
    monkeypatch.setattr(file_history, "MAX_KEPT_BYTES", 2500)
    own, other = FileHistory(), FileHistory()
    session, sandbox = in_memory({"a": b"1" * 900})
    shared = await own.capture(sandbox)
    await other.capture(sandbox)
    session.files = {"a": b"2" * 901}
    mine = await own.capture(sandbox)
    session.files = {"a": b"3" * 902}
    theirs = await other.capture(sandbox)
    own.take_in(other)
    own.take_in(other)
    assert mine in own
    assert shared not in own or theirs not in own, "there is room for two"
    assert own.contents(mine) == {"a": b"2" * 901}
    assert own.kept_bytes <= 2500
    monkeypatch.undo()
    roomy = FileHistory()
    roomy.take_in(own)
    roomy.take_in(other)
    assert roomy.contents(theirs) == {"a": b"3" * 902}
