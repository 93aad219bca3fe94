"""The named sandboxes of a notebook: whose files they have, and what another kernel brings back of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from runcell_nb import InvalidOptionError
from runcell_nb.core.sandbox import SandboxSession
from runcell_nb.notebook import sandbox_shelf
from runcell_nb.notebook.file_history import FileHistory
from runcell_nb.notebook.kept_sandboxes import KeptSandbox, KeptShelf
from runcell_nb.notebook.sandbox_shelf import SandboxShelf

from .samples import DictSession


class Disk(DictSession):
    """Files that are somebody's: the end of the sandbox is not theirs."""

    async def stop(self) -> None:
        return


class DiskProvider:
    """A provider of the user, whose sandboxes are all over the same files."""

    specification_version = "harness-sandbox-v1"
    provider_id = "disk"

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    async def create_session(self, *, session_id: str) -> SandboxSession:
        return Disk(self.files)


@pytest.fixture
async def shelf() -> AsyncIterator[SandboxShelf]:
    shelf = SandboxShelf()
    yield shelf
    await shelf.close()


async def contents(shelf: SandboxShelf, name: str) -> dict[str, bytes | None]:
    sandbox = await shelf.get(name)
    return {info.path: await sandbox.read_file(info.path) for info in await sandbox.list_files()}


@pytest.mark.parametrize(
    ("option", "whose"),
    [
        ("virtual", None),
        ({"type": "virtual", "env": {"A": "1"}}, None),
        ({"type": "bubblewrap"}, None),
        ({"type": "vercel", "token": "x"}, None),
        ({"type": "bubblewrap", "root_dir": "/data"}, "'box' is a folder on your disk (/data)"),
        ({"type": "host", "root_dir": "/data", "isolation": "external"}, "folder on your disk (/data)"),
        ({"type": "custom", "provider": DiskProvider()}, "'box' is one of your own making"),
    ],
)
def test_whose_the_files_are(monkeypatch: pytest.MonkeyPatch, option: Any, whose: str | None) -> None:
    monkeypatch.setattr(sandbox_shelf, "create_sandbox_provider", lambda _: None)  # not all are there yet
    shelf = SandboxShelf()
    shelf.new("box", option)
    foreign = shelf.foreign("box")
    assert foreign is None if whose is None else whose in str(foreign)
    assert shelf.foreign("main") is None


async def test_files_of_every_sandbox_come_back_once_in_another_kernel(shelf: SandboxShelf) -> None:
    files = FileHistory()
    shelf.new("box", {"type": "virtual", "env": {"TOKEN": "secret value", "MODE": "x"}})
    shelf.switch("box")
    for name in ("main", "box"):
        sandbox = await shelf.get(name)
        await sandbox.write_file("a.txt", name.encode())
        shelf.note_files(name, await files.capture(sandbox))
    kept = shelf.kept()
    assert "secret value" not in repr(kept)
    other = SandboxShelf()
    try:
        await other.take_up(kept)
        assert (other.names, other.active, other.made("box")) == (["main", "box"], "box", None)
        assert other.kept() == kept, "also when nothing was needed, and another kernel follows"
        assert await other.bring_back("box", files) is None, "it is not made"
        await other.get("box")
        told = str(await other.bring_back("box", files))
        assert "Sandbox 'box' is a new one since the kernel restarted; 1 file of before are back." in told
        assert "TOKEN, MODE are not set" in told
        assert await contents(other, "box") == {"a.txt": b"box"}
        await other.get("main")
        assert str(await other.bring_back("main", files)).startswith("The sandbox is a new one")
        assert await contents(other, "main") == {"a.txt": b"main"}
        await (await other.get("box")).write_file("a.txt", b"changed")
        for name in other.names:
            assert await other.bring_back(name, files) is None
        await other.take_up(kept)  # the front end answers too
        assert await other.bring_back("box", files) is None
        assert await contents(other, "box") == {"a.txt": b"changed"}
    finally:
        await other.close()


async def test_what_somebody_did_in_this_kernel_is_not_undone(shelf: SandboxShelf) -> None:
    files = FileHistory()
    await (await shelf.get("main")).write_file("a.txt", b"before")
    state = await files.capture(await shelf.get("main"))
    kept = KeptShelf({name: KeptSandbox(files=state) for name in ("main", "box", "used")}, active="box")
    other = SandboxShelf()
    try:
        other.new("box", "virtual")
        other.new("used", "virtual")
        await (await other.get("used")).write_file("b.txt", b"mine")
        await other.reset("main")
        other.switch("main")
        await other.take_up(kept)
        assert other.active == "main"
        for name in other.names:
            await other.get(name)
            assert await other.bring_back(name, files) is None
        assert await contents(other, "used") == {"b.txt": b"mine"}
        assert await contents(other, "main") == await contents(other, "box") == {}
        assert other.kept().states == []
    finally:
        await other.close()


async def test_a_sandbox_made_empty_before_the_notebook_was_read_is_filled(shelf: SandboxShelf) -> None:
    files = FileHistory()
    await (await shelf.get("main")).write_file("a.txt", b"before")
    state = await files.capture(await shelf.get("main"))
    other = SandboxShelf()
    try:
        await other.get("main")
        await other.take_up(KeptShelf())
        assert await other.bring_back("main", files) is None
        await other.take_up(KeptShelf({"main": KeptSandbox(files=state)}))
        assert await other.bring_back("main", files) is not None
        assert await contents(other, "main") == {"a.txt": b"before"}
    finally:
        await other.close()


async def test_states_are_noted_for_own_sandboxes_that_are_there(shelf: SandboxShelf) -> None:
    shelf.new("disk", {"type": "custom", "provider": DiskProvider()})
    for name in ("main", "disk", "gone"):
        shelf.note_files(name, "a" * 64)
    kept = shelf.kept()
    assert kept.sandboxes == {"main": KeptSandbox(files="a" * 64), "disk": KeptSandbox("custom")}
    assert kept.rebuilt == {"main"}
    await shelf.reset("main")
    assert shelf.kept().states == []


async def test_the_same_cell_may_name_the_same_sandbox_again(shelf: SandboxShelf) -> None:
    assert shelf.new("box", "virtual", made_by="x")
    sandbox = await shelf.get("box")
    assert not shelf.new("box", {"type": "virtual"}, made_by="x")
    assert shelf.made("box") is sandbox
    other = SandboxShelf()
    await other.take_up(shelf.kept())
    assert not other.new("box", "virtual", made_by="x")
    for held in (shelf, other):
        for option, cell in (
            ("virtual", "y"),
            ("virtual", None),
            ({"type": "custom", "provider": DiskProvider()}, "x"),
        ):
            with pytest.raises(InvalidOptionError, match="already has a sandbox 'box'"):
                held.new("box", option, made_by=cell)
        with pytest.raises(InvalidOptionError, match="already"):
            held.new("main", "virtual", made_by=None)


def test_a_name_that_is_none_is_refused(shelf: SandboxShelf) -> None:
    for name in ("", " a", "a\nb", "x" * 61, "main"):
        with pytest.raises(InvalidOptionError, match="name"):
            shelf.new(name, "virtual")
    assert shelf.names == ["main"]
