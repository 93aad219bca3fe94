"""Uploads, part by part, into a real sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.sandbox import Sandbox
from runcell_nb.core.sandbox_options import create_sandbox
from runcell_nb.notebook.file_uploads import MAX_UPLOAD_BYTES, Uploads


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with await create_sandbox("virtual") as made:
        await made.write_file("a.txt", "old")
        yield made


async def test_parts_become_a_file(sandbox: Sandbox) -> None:
    uploads = Uploads(sandbox)
    assert await uploads.begin("k", "d/x", 6, "ask") == {"state": "more"}
    assert await uploads.take("k", b"abc") == {"state": "more"}
    assert await sandbox.read_file("d/x") is None
    assert await uploads.take("k", b"def") == {"state": "done", "path": "d/x"}
    assert await sandbox.read_file("d/x") == b"abcdef"


async def test_an_empty_file_is_there_at_once(sandbox: Sandbox) -> None:
    assert await Uploads(sandbox).begin("k", "e", 0, "ask") == {"state": "done", "path": "e"}
    assert await sandbox.read_file("e") == b""


@pytest.mark.parametrize(
    ("clash", "path", "content"), [("both", "a (2).txt", b"old"), ("replace", "a.txt", b"new")]
)
async def test_a_clash_asks_and_then_does_what_was_said(
    sandbox: Sandbox, clash: str, path: str, content: bytes
) -> None:
    uploads = Uploads(sandbox)
    asked = await uploads.begin("k", "a.txt", 3, "ask")
    assert asked == {"state": "clash", "path": "a.txt", "free": "a (2).txt"}
    with pytest.raises(InvalidOptionError, match="no longer known"):
        await uploads.take("k", b"new")
    assert await uploads.begin("k", "a.txt", 3, clash) == {"state": "more"}
    assert await uploads.take("k", b"new") == {"state": "done", "path": path}
    assert await sandbox.read_file("a.txt") == content
    assert await sandbox.read_file(path) == b"new"


async def test_a_file_that_appears_meanwhile_is_not_overwritten(sandbox: Sandbox) -> None:
    uploads = Uploads(sandbox)
    await uploads.begin("k", "x.txt", 3, "ask")
    await sandbox.write_file("x.txt", "agent")
    assert await uploads.take("k", b"mine"[:3]) == {"state": "done", "path": "x (2).txt"}
    assert await sandbox.read_file("x.txt") == b"agent"


async def test_a_folder_is_not_replaced_by_a_file(sandbox: Sandbox) -> None:
    await sandbox.write_file("d/x", "1")
    uploads = Uploads(sandbox)
    assert (await uploads.begin("k", "d", 1, "ask"))["state"] == "clash"
    with pytest.raises(InvalidOptionError, match="is a folder"):
        await uploads.begin("k", "d", 1, "replace")


async def test_too_large_or_more_than_was_said_is_refused(sandbox: Sandbox) -> None:
    uploads = Uploads(sandbox)
    with pytest.raises(InvalidOptionError, match="files up to 100 MB can be uploaded"):
        await uploads.begin("k", "x", MAX_UPLOAD_BYTES + 1, "ask")
    await uploads.begin("k", "x", 2, "ask")
    with pytest.raises(InvalidOptionError, match="changed while it was uploaded"):
        await uploads.take("k", b"123")
    assert await sandbox.read_file("x") is None


async def test_what_is_cancelled_or_left_behind_is_forgotten(sandbox: Sandbox) -> None:
    uploads = Uploads(sandbox)
    for n in range(6):
        await uploads.begin(f"k{n}", f"x{n}", 2, "ask")
    uploads.cancel("k5")
    uploads.cancel("never")
    for key in ("k0", "k5"):
        with pytest.raises(InvalidOptionError, match="no longer known"):
            await uploads.take(key, b"12")
    assert (await uploads.take("k4", b"12"))["state"] == "done"
