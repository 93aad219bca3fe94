"""What only the virtual sandbox does: a shell that sees nothing of the machine, in a process that can die."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runcell_nb.core.sandbox_options import create_sandbox
from runcell_nb.sandboxes import shell_process, virtual
from runcell_nb.sandboxes.virtual import SHELL_NOTES


@pytest.fixture
async def sandbox():
    async with create_sandbox() as made:
        yield made


async def output(sandbox, command):
    result = await sandbox.exec(command, timeout=60)
    return result.stdout + result.stderr


async def test_the_workspace_has_a_stable_place(sandbox):
    await sandbox.write_file("a.txt", "hi")
    assert await output(sandbox, "pwd; cat /workspace/a.txt; echo; cd; pwd; cat ~/a.txt") == (
        "/workspace\nhi\n/workspace\nhi"
    )


async def test_tmp_is_kept_and_outside_the_workspace(sandbox):
    await sandbox.exec("echo x > /tmp/t")
    assert await output(sandbox, "cat /tmp/t") == "x\n"
    assert await sandbox.list_files() == []


async def test_nothing_of_this_machine_can_be_read(sandbox, monkeypatch, tmp_path):
    monkeypatch.setenv("CANARY_API_KEY", "canary-value")
    secret = tmp_path / "secret.txt"
    secret.write_text("canary-value")
    up = "../" * 20
    reads = [
        f"cat {secret}",
        f"cat {up}{secret}",
        f"cd /; cat .{secret}",
        f"cat /workspace/{up}{secret}",
        f"ln -s {secret} l; cat l",
        f"ln -s {up}{secret} m; cat m",
        f"ln {secret} n; cat n",
        f"python3 -c 'print(open(\"{secret}\").read())'",
        f"sqlite3 {secret} .tables",
        f"tar cf t.tar {secret}; tar xOf t.tar",
        f"source {secret}",
        "env; cat /proc/self/environ",
    ]
    for command in reads:
        assert "canary-value" not in await output(sandbox, command), command
    assert await sandbox.list_files() == [] or "canary-value" not in str(await sandbox.snapshot())


async def test_a_link_planted_from_outside_is_not_followed_by_commands(sandbox, tmp_path):
    (tmp_path / "secret.txt").write_text("canary-value")
    root = sandbox._session.resolve("")
    (root / "folder").symlink_to(tmp_path)
    (root / "file").symlink_to(tmp_path / "secret.txt")
    (root / "relative").symlink_to("../" * 20 + str(tmp_path / "secret.txt"))
    read = "cat folder/secret.txt file relative; cp -rL folder copy; cat copy/*"
    assert "canary-value" not in await output(sandbox, read)
    await sandbox.exec("echo changed > folder/secret.txt; echo changed > file; rm -rf folder")
    assert (tmp_path / "secret.txt").read_text() == "canary-value"


async def test_a_command_that_crashes_the_shell_is_an_answer(sandbox):
    result = await sandbox.exec("echo kept > a.txt; jq -n \"$(printf '[%.0s' $(seq 20000))\"")
    assert result.exit_code > 0
    assert await output(sandbox, "cat a.txt") == "kept\n"


async def test_a_parse_error_is_an_answer(sandbox):
    result = await sandbox.exec("if then")
    assert result.exit_code != 0
    assert "syntax error" in result.stderr


async def test_output_past_the_limit_is_cut_and_said_so(sandbox):
    result = await sandbox.exec("seq 100000 > s; for i in $(seq 20); do cat s; done", timeout=60)
    assert len(result.stdout) < 12 * 1024 * 1024
    assert "cut at 10 MiB" in result.stderr


async def test_killed_commands_leave_no_half_written_files(sandbox):
    for _ in range(10):
        await sandbox.exec("while true; do seq 3000 > spin.txt; done", timeout=0.1)
    assert set((await output(sandbox, "ls -A")).split()) <= {"spin.txt"}


LEFTOVER = ".bashkit-tmp-0123456789abcdef-0123456789abcdef"
"""A half-written file, as bashkit names them."""


@pytest.fixture
def leftover(sandbox):
    return sandbox._session.resolve("") / LEFTOVER


CUTS = {
    "past its time": ("while true; do true; done", 0.2),
    "crashed": ("jq -n \"$(printf '[%.0s' $(seq 20000))\"", None),
}


@pytest.mark.parametrize("cut", CUTS)
async def test_a_cut_command_leaves_nothing_half_written(sandbox, leftover, cut):
    command, timeout = CUTS[cut]
    leftover.touch()
    await sandbox.exec(command, timeout=timeout)
    assert not leftover.exists()


@pytest.mark.parametrize("cut", CUTS)
async def test_what_may_belong_to_a_running_command_stays_until_it_ends(sandbox, leftover, cut):
    command, timeout = CUTS[cut]
    leftover.touch()
    other = asyncio.create_task(sandbox.exec("sleep 30"))
    await sandbox.exec(command, timeout=timeout)
    await sandbox.exec("true")
    assert leftover.exists()
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    assert not leftover.exists()


async def test_leftovers_go_when_the_last_command_ends_well(sandbox, leftover):
    last = asyncio.create_task(sandbox.exec("until [ -e stop ]; do sleep 0.01; done"))
    await sandbox.exec("while true; do true; done", timeout=0.2)
    leftover.touch()
    await sandbox.write_file("stop", "")
    assert (await last).exit_code == 0
    assert not leftover.exists()


async def test_commands_that_end_well_are_not_swept_after(sandbox, leftover):
    leftover.touch()
    await sandbox.exec("true")
    assert leftover.exists()


async def test_a_command_begun_during_a_sweep_keeps_its_half_written_file(sandbox, leftover, monkeypatch):
    look, begun = virtual._leftovers, []

    async def begin():
        begun.append(asyncio.create_task(sandbox.exec("until [ -e stop ]; do sleep 0.01; done")))

    def look_while_one_begins(root):
        leftover.touch()
        found = look(root)
        asyncio.run_coroutine_threadsafe(begin(), loop).result()
        return found

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(virtual, "_leftovers", look_while_one_begins)
    await sandbox.exec("while true; do true; done", timeout=0.2)
    assert leftover.exists()
    monkeypatch.setattr(virtual, "_leftovers", look)
    await sandbox.write_file("stop", "")
    await asyncio.gather(*begun)
    assert not leftover.exists()


async def test_processes_are_used_again_and_few_stay_idle(sandbox):
    await asyncio.gather(*(sandbox.exec("sleep 0.05") for _ in range(5)))
    first = {process._popen.pid for process in shell_process._idle}
    await sandbox.exec("true")
    assert {process._popen.pid for process in shell_process._idle} == first
    assert 0 < len(first) <= 2


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_the_worker_gets_no_keys(monkeypatch):
    monkeypatch.setenv("CANARY_API_KEY", "canary-value")
    process = shell_process.ShellProcess()
    process.serve({"command": "true", "cwd": "/", "env": {}, "mounts": {}}, print)
    environ = Path(f"/proc/{process._popen.pid}/environ").read_bytes()
    process.close()
    assert b"PATH=" in environ
    assert b"canary-value" not in environ


def test_everything_goes_with_the_process():
    code = """
import asyncio
from runcell_nb import create_sandbox
from runcell_nb.sandboxes import shell_process
async def main():
    sandbox = await create_sandbox()
    await sandbox.write_file("a.txt", "1")
    await sandbox.exec("true")
    asyncio.ensure_future(sandbox.exec("awk 'BEGIN { while (1) {} }'"))
    await asyncio.sleep(0.2)
    print(sandbox._session.resolve(""), *(p._popen.pid for p in shell_process._idle))
    await sandbox.exec("true")
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    folder, *pids = done.stdout.split()
    assert done.stderr == ""
    assert not Path(folder).exists()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_busy_worker_ends_when_its_owner_is_killed():
    code = """
import threading
from runcell_nb.sandboxes.shell_process import ShellProcess
process = ShellProcess()
request = {"command": "echo on; awk 'BEGIN { while (1) {} }'", "cwd": "/", "env": {}, "mounts": {}}
process.serve(request, lambda message: print(process._popen.pid, flush=True))
"""
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    worker = int(owner.stdout.readline())
    os.kill(worker, 0)
    owner.kill()
    owner.communicate()
    for _ in range(500):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    pytest.fail("the worker still runs")


# What SHELL_NOTES says, each with a command that shows it and a fragment of its output.
CLAIMS = [
    ("curl http://example.com", "network access not configured"),
    ("wget http://example.com", "network access not configured"),
    *((f"{name} --version", "command not found") for name in ("git", "pip", "npm", "node", "perl", "gcc")),
    *(
        (f"python3 -c 'import {name}'", "Error" if name != "re" else "disabled")
        for name in ("csv", "re", "collections", "random", "time", "dataclasses")
    ),
    *(
        (f"python3 -c 'import {name}; print(41 + 1)'", "42")
        for name in ("json", "math", "datetime", "pathlib")
    ),
    ("python3 -c 'import sys; sys.argv'", "AttributeError"),
    ("python3 -c 'import sys; sys.exit(0)'", "AttributeError"),
    ("python3 -c 'import os; os.listdir(\".\")'", "AttributeError"),
    ("python3 -m json.tool", "unknown option"),
    ("printf 'def f():\\n  yield 1\\n' | python3", "NotImplementedError"),
    ("printf 'match 1:\\n  case 1: pass\\n' | python3", "NotImplementedError"),
    ("printf 'x = 1\\ndel x\\n' | python3", "NotImplementedError"),
    ("printf '@f\\ndef g(): pass\\n' | python3", "NotImplementedError"),
    ("python3 -c 'print(\"{}\".format(1))'", "AttributeError"),
    ("python3 -c 'print(\"%d\" % 1)'", "TypeError"),
    ("echo a > f; python3 -c 'for l in open(\"f\"): print(l)'", "not iterable"),
    ("echo a > f; python3 -c 'print(open(\"f\").readlines())'", "['a\\n']"),
    ("python3 -c 'x = 3; print(f\"{x:.2f}\")'", "3.00"),
    ("printf 'class A:\\n  def f(self): return 5\\nprint(A().f())\\n' | python3", "5"),
    ("sqlite3 :memory: 'select 40 + 2'", "42"),
    ("echo a > f; sqlite3 :memory: '.import f t'", "unknown dot-command"),
    ("seq 150000 | tail -1", "100000\n"),
    ("yes | head -20000 | wc -l", "10000"),
    ("touch $'a\\tb'", "unsafe character"),
    ("(sleep 0.2; echo late > late) & true; cat late 2>/dev/null; wait; cat late", "late"),
    ("printf 'all:\\n\\techo built\\n' > Makefile; make -s", "built"),
]


@pytest.mark.parametrize(("command", "fragment"), CLAIMS, ids=[command for command, _ in CLAIMS])
async def test_the_shell_notes_are_true(sandbox, command, fragment):
    assert fragment in await output(sandbox, command)


async def test_the_commands_that_the_notes_name_exist(sandbox):
    named = SHELL_NOTES.split("- There: ")[1].split(", and sqlite3")[0].replace("\n", " ").split(", ")
    assert "awk" in named and "tree" in named
    missing = await output(
        sandbox, f"for c in {' '.join(named)}; do type $c > /dev/null 2>&1 || echo $c; done"
    )
    assert missing == ""


async def test_background_jobs_have_ended_when_the_command_has(sandbox):
    await sandbox.exec("(sleep 0.2; echo 1 > late) &")
    assert await sandbox.read_text_file("late") == "1\n"


async def test_the_python_clock_stands_still_and_date_does_not(sandbox):
    said = await output(sandbox, "python3 -c 'import datetime; print(datetime.date.today().year)'; date +%Y")
    fixed, now = said.split()
    assert fixed == "2024"
    assert int(now) >= 2025
