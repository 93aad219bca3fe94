"""What every sandbox backend must do (API 5, FACTS 14); a new one is added in conftest.BACKENDS."""

from __future__ import annotations

import asyncio
import base64
from datetime import UTC, datetime

import pytest

from runcell_nb.core.errors import InvalidOptionError, RuncellNotImplementedError
from runcell_nb.core.sandbox import is_live_sandbox
from tests.conformance import cases, decoded


async def test_exec_returns_code_and_both_streams(sandbox):
    result = await sandbox.exec("echo out; echo err >&2; exit 3")
    assert (result.exit_code, result.stdout, result.stderr) == (3, "out\n", "err\n")


async def test_shell_state_does_not_last_but_files_do(sandbox):
    await sandbox.exec("mkdir sub; cd sub; export KEPT=1; echo x > a.txt")
    result = await sandbox.exec("echo [$KEPT]; cat sub/a.txt; basename $PWD")
    assert result.stdout.splitlines()[:2] == ["[]", "x"]
    assert result.stdout.splitlines()[2] == sandbox.working_directory.rsplit("/", 1)[1]


async def test_cwd_and_env_hold_for_one_call_and_win(sandbox):
    await sandbox.write_file("a b/c.txt", "1")
    result = await sandbox.exec("ls; echo $COLOUR", cwd="a b", env={"COLOUR": "blue"})
    assert result.stdout == "c.txt\nblue\n"
    assert (await sandbox.exec("echo $COLOUR", cwd=".")).stdout == "red\n"


@pytest.mark.parametrize("cwd", ["..", "/", "a/../..", "missing", ""])
async def test_a_cwd_that_is_no_folder_of_the_workspace_is_refused(sandbox, cwd):
    with pytest.raises(InvalidOptionError):
        await sandbox.exec("echo ran > ran.txt", cwd=cwd)
    assert await sandbox.list_files() == []


async def test_an_env_value_that_is_no_text_is_refused_without_showing_it(sandbox):
    with pytest.raises(InvalidOptionError, match="'TOKEN'") as caught:
        await sandbox.exec("true", env={"TOKEN": 91827})
    assert "91827" not in str(caught.value)


async def test_past_the_timeout_the_output_so_far_is_kept(sandbox):
    result = await sandbox.exec("echo first; sleep 30; echo late > late.txt", timeout=0.3)
    assert result.exit_code == 124
    assert result.stdout == "first\n"
    assert "0.3 s" in result.stderr
    assert await sandbox.read_file("late.txt") is None


@pytest.mark.parametrize(
    "command",
    [
        "sleep 30",
        "while true; do :; done",
        "while true; do date > spin.txt; done",
        "awk 'BEGIN { while (1) {} }'",
        "sleep 30 & wait",
    ],
)
async def test_cancelling_stops_the_command_and_the_next_one_works(sandbox, command):
    task = asyncio.create_task(sandbox.exec(f"echo 1 > started; {command}; echo 1 > late"))
    while await sandbox.read_file("started") is None:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)
    after = await sandbox.list_files()
    result = await sandbox.exec("echo next; ls -A")
    assert await sandbox.list_files() == after
    assert set(result.stdout.split()) <= {"next", "started", "spin.txt"}


async def test_a_command_cancelled_before_it_started_does_not_run(sandbox):
    task = asyncio.create_task(sandbox.exec("echo 1 > ran"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await sandbox.exec("ls")).stdout == ""


async def test_commands_may_overlap(sandbox):
    results = await asyncio.gather(*(sandbox.exec(f"sleep 0.05; echo {n}") for n in range(6)))
    assert [result.stdout for result in results] == [f"{n}\n" for n in range(6)]


@pytest.mark.parametrize("command", ["sleep 0.3", "while true; do :; done"])
async def test_the_event_loop_runs_on_meanwhile(sandbox, command):
    task = asyncio.create_task(sandbox.exec(command, timeout=0.3))
    turns = 0
    while not task.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert turns > 10


async def test_files_by_hand_and_by_command_are_the_same(sandbox):
    await sandbox.write_file("deep/er/a.bin", bytes(range(256)))
    assert (await sandbox.exec("wc -c < deep/er/a.bin")).stdout.strip() == "256"
    await sandbox.exec("cp deep/er/a.bin b.bin; printf 'caf\\xc3\\xa9' > c.txt")
    assert await sandbox.read_file("b.bin") == bytes(range(256))
    assert await sandbox.read_text_file("c.txt") == "café"


async def test_listing_is_sorted_dated_and_without_state(sandbox):
    before = datetime.now(UTC)
    for path in ("b.txt", "B.txt", "a/z", ".hidden", ".runcell/outputs/1.txt"):
        await sandbox.write_file(path, path)
    infos = await sandbox.list_files()
    assert [(info.path, info.size) for info in infos] == [
        (".hidden", 7),
        ("B.txt", 5),
        ("a/z", 3),
        ("b.txt", 5),
    ]
    assert all(abs((info.modified - before).total_seconds()) < 60 for info in infos)
    assert [info.path for info in await sandbox.list_files("a")] == ["a/z"]
    assert await sandbox.list_directory() == [".hidden", "B.txt", "a/", "b.txt"]
    assert await sandbox.list_directory("a") == ["z"]
    assert await sandbox.list_directory("b.txt") is None
    assert await sandbox.list_directory("missing") is None


async def test_remove_takes_files_and_folders_and_what_is_missing(sandbox):
    await sandbox.write_file("d/e/f", "1")
    await sandbox.write_file("g", "1")
    for path in ("d", "g", "missing", "missing/too", "g/below"):
        await sandbox.remove(path)
    assert await sandbox.list_files() == []


async def test_many_files_are_read_at_once(sandbox):
    await sandbox.write_file("a", "1")
    assert await sandbox.read_files(["a", "missing", "./a"]) == [b"1", None, b"1"]


@pytest.mark.parametrize(
    "name", [" a ", "~", "-rf", "é\u0301", "ab:c", "..x", "a\nb", "x" * 200, "$(echo no)"]
)
async def test_odd_names_are_ordinary(sandbox, name):
    await sandbox.write_file(name, "kept")
    assert [info.path for info in await sandbox.list_files()] == [name]
    assert await sandbox.read_text_file(name) == "kept"
    assert (await sandbox.snapshot())["files"] == [{"path": name, "data": base64.b64encode(b"kept").decode()}]
    await sandbox.remove(name)
    assert await sandbox.list_files() == []


async def test_writing_where_a_folder_is_says_so(sandbox):
    await sandbox.write_file("d/e", "1")
    for path in ("d", "d/e/f"):
        with pytest.raises(InvalidOptionError, match=f"'{path}'"):
            await sandbox.write_file(path, "2")


@pytest.mark.parametrize(("given", "expect"), cases("sandbox_cases.json", "handle_path"))
async def test_handle_path_cases(sandbox, given, expect):
    path = given["path"]
    calls = (sandbox.read_file, sandbox.read_text_file, sandbox.remove)
    if "error" not in expect:
        assert [await call(path) for call in calls] == [None, None, None]
        return
    for call in (*calls, lambda unsafe: sandbox.write_file(unsafe, "x")):
        with pytest.raises(InvalidOptionError):
            await call(path)


@pytest.mark.parametrize(("given", "expect"), cases("sandbox_cases.json", "snapshot_capture"))
async def test_snapshot_capture_cases(sandbox, given, expect):
    for path, data in decoded(given["writes"]).items():
        await sandbox.write_file(path, data)
    for command in given["exec"]:
        assert (await sandbox.exec(command)).exit_code == 0
    assert await sandbox.snapshot() == expect["ok"]


async def test_locks_are_in_order_per_key_and_refuse_reentry(sandbox):
    seen = []

    async def hold(name, key):
        async with sandbox.lock(key):
            seen.append(f"{name} in")
            await asyncio.sleep(0.01)
            seen.append(f"{name} out")

    await asyncio.gather(hold("a", "k"), hold("b", "k"))
    assert seen == ["a in", "a out", "b in", "b out"]
    async with sandbox.lock("k"):
        with pytest.raises(InvalidOptionError, match="'k'"):
            async with sandbox.lock("k"):
                pass


async def test_ports_only_where_they_are(sandbox):
    if not sandbox.capabilities.ports:
        with pytest.raises(RuncellNotImplementedError, match="8000"):
            await sandbox.expose_url(8000)


async def test_destroy_ends_running_commands_and_everything_after(sandbox):
    task = asyncio.create_task(sandbox.exec("echo 1 > started; sleep 30"))
    while await sandbox.read_file("started") is None:
        await asyncio.sleep(0.01)
    await asyncio.gather(sandbox.destroy(), sandbox.destroy())
    assert (await asyncio.wait_for(task, 5)).exit_code != 0
    assert not is_live_sandbox(sandbox)
    for call in (
        sandbox.exec("true"),
        sandbox.read_file("a"),
        sandbox.write_file("a", ""),
        sandbox.list_files(),
        sandbox.snapshot(),
    ):
        with pytest.raises(InvalidOptionError, match="destroyed"):
            await call
