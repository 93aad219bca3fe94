from __future__ import annotations

import asyncio
import os

import pytest

from runcell_nb.core.changes import MAX_KEPT_FILE, WorkspaceWatch
from runcell_nb.core.outcome import Change
from runcell_nb.core.sandbox_options import create_sandbox


@pytest.fixture
async def sandbox():
    async with create_sandbox() as made:
        yield made


@pytest.fixture
async def watch(sandbox):
    for path in ("kept.txt", "old.txt", "gone.txt"):
        await sandbox.write_file(path, path)
    made = WorkspaceWatch(sandbox)
    await made.baseline()
    return made


async def test_create_modify_and_delete_are_told_once_sorted_by_path(sandbox, watch):
    await sandbox.exec("echo 1 > new.txt; echo 2 > old.txt; rm gone.txt; echo 3 > .hidden; mkdir empty")
    assert await watch.changes() == [
        Change(".hidden", "create"),
        Change("gone.txt", "delete", b"gone.txt"),
        Change("new.txt", "create"),
        Change("old.txt", "modify", b"old.txt"),
    ]
    assert await watch.changes() == []


async def test_the_same_content_is_no_change(sandbox, watch):
    await sandbox.exec("sleep 0.01; touch kept.txt; cp old.txt x; mv x old.txt; echo 1 > y; rm y")
    assert await watch.changes() == []


async def test_the_state_folder_never_counts(sandbox, watch):
    await sandbox.exec("mkdir -p .runcell; echo 1 > .runcell/a")
    assert await watch.changes() == []


async def test_a_baseline_takes_what_is_there_for_unchanged(sandbox, watch):
    await sandbox.write_file("old.txt", "by someone else")
    await watch.baseline()
    await sandbox.exec("echo 1 >> old.txt")
    assert await watch.changes() == [Change("old.txt", "modify", b"by someone else")]


async def test_a_rewrite_of_equal_size_in_the_same_instant_is_seen(sandbox, watch):
    for round_number in range(20):
        await sandbox.write_file("kept.txt", f"round {round_number:02}")
        assert [change.path for change in await watch.changes()] == ["kept.txt"]


async def test_a_rewrite_that_keeps_size_and_time_is_seen_right_after_a_scan(sandbox, watch):
    path = sandbox._session.resolve("kept.txt")
    times = path.stat()
    path.write_text("KEPT.txt")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert await watch.changes() == [Change("kept.txt", "modify", b"kept.txt")]


async def test_what_a_tool_noted_is_not_told_again(sandbox, watch):
    await sandbox.write_file("old.txt", "noted")
    watch.note("old.txt", b"noted")
    await sandbox.remove("gone.txt")
    watch.note("gone.txt", None)
    assert await watch.changes() == []
    await sandbox.write_file("old.txt", "later")
    assert await watch.changes() == [Change("old.txt", "modify", b"noted")]


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        (b"x" * MAX_KEPT_FILE, True),
        (b"x" * (MAX_KEPT_FILE + 1), False),
        (b"bin\0ary", False),
        (b"\xff latin", True),
        (b"", True),
    ],
)
async def test_only_small_texts_are_kept_but_every_change_is_told(sandbox, before, kept):
    await sandbox.write_file("a", before)
    watch = WorkspaceWatch(sandbox)
    await watch.baseline()
    await sandbox.exec("printf more >> a")
    assert await watch.changes() == [Change("a", "modify", before if kept else None)]


async def test_what_is_kept_of_all_files_is_bounded(sandbox):
    for number in range(140):
        await sandbox.write_file(f"{number:03}", "x" * MAX_KEPT_FILE)
    watch = WorkspaceWatch(sandbox)
    await watch.baseline()
    await sandbox.exec("rm *")
    changes = await watch.changes()
    assert len(changes) == 140
    assert sum(change.before is not None for change in changes) == 128
    await sandbox.write_file("again", "1")
    await watch.baseline()
    await sandbox.remove("again")
    assert await watch.changes() == [Change("again", "delete", b"1")]


async def test_a_second_look_reads_only_what_may_have_changed(sandbox, monkeypatch):
    for number in range(300):
        await sandbox.write_file(f"d/{number}", "1")
    await asyncio.sleep(0.1)
    watch = WorkspaceWatch(sandbox)
    await watch.baseline()
    read = []
    original = sandbox.read_files

    async def counting(paths):
        read.extend(paths)
        return await original(paths)

    monkeypatch.setattr(sandbox, "read_files", counting)
    await sandbox.exec("echo 2 > d/7")
    assert [change.path for change in await watch.changes()] == ["d/7"]
    assert read == ["d/7"]
