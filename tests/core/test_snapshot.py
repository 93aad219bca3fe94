from __future__ import annotations

import pytest

from runcell_nb.core import sandbox_options
from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.sandbox import Sandbox
from runcell_nb.core.sandbox_options import create_sandbox, restore_sandbox
from runcell_nb.core.snapshot import files_of
from tests.conformance import cases, decoded


@pytest.mark.parametrize(("given", "expect"), cases("sandbox_cases.json", "snapshot_restore"))
async def test_snapshot_restore_cases(given, expect, monkeypatch):
    snapshot = decoded(given["snapshot"])
    if "error" in expect:
        monkeypatch.setattr(sandbox_options, "create_virtual_sandbox", None)  # none may be made
        with pytest.raises(InvalidOptionError):
            await restore_sandbox(snapshot)
        return
    async with restore_sandbox(snapshot) as sandbox:
        paths = [info.path for info in await sandbox.list_files()]
        assert {path: await sandbox.read_text_file(path) for path in paths} == expect["ok"]


@pytest.mark.parametrize(
    "snapshot",
    [
        None,
        [],
        "text",
        {"version": True, "files": []},
        {"version": "1", "files": []},
        {"version": 1, "files": [None]},
        {"version": 1, "files": [{"path": "a", "data": None}]},
        {"version": 1, "files": [{"path": "a", "data": b"YQ=="}]},
        {"version": 1, "files": [{"path": "a", "data": "YQ==\n"}]},
        {"version": 1, "files": [{"path": "a", "data": "YR=="}]},
        {"version": 1, "files": [{"path": None, "data": ""}]},
    ],
)
def test_a_malformed_snapshot_is_refused(snapshot):
    with pytest.raises(InvalidOptionError):
        files_of(snapshot)


async def test_a_snapshot_round_trips_without_state_links_and_empty_folders():
    async with create_sandbox() as sandbox:
        for path, data in {
            "a b\nc": b"\0\xff",
            ".dot": b"",
            "B": b"1",
            "a": b"2",
            ".runcell/x": b"3",
        }.items():
            await sandbox.write_file(path, data)
        await sandbox.exec("mkdir empty; ln -s a link")
        snapshot = await sandbox.snapshot()
    assert [file["path"] for file in snapshot["files"]] == [".dot", "B", "a", "a b\nc"]
    async with restore_sandbox(snapshot, env={"A": "1"}) as restored:
        assert await restored.snapshot() == snapshot
        assert (await restored.exec("echo $A")).stdout == "1\n"


async def test_a_write_that_fails_destroys_the_new_sandbox(monkeypatch):
    made = []

    async def fails(self, path, data):
        made.append(self)
        raise OSError("disk full")

    monkeypatch.setattr(Sandbox, "write_file", fails)
    with pytest.raises(OSError, match="disk full"):
        await restore_sandbox({"version": 1, "files": [{"path": "a", "data": ""}]})
    with pytest.raises(InvalidOptionError, match="destroyed"):
        await made[0].list_files()
