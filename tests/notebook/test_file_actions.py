"""What a person does to files, in a real sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.sandbox import FileInfo, Sandbox
from runcell_nb.core.sandbox_options import create_sandbox
from runcell_nb.notebook import file_actions
from runcell_nb.notebook.file_actions import checked_path, extract, free_path, make_file, rename
from runcell_nb.notebook.file_uploads import Uploads
from runcell_nb.notebook.zip_files import packed

from .test_zip_files import archive_of


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with await create_sandbox("virtual") as made:
        await made.write_file("a.txt", "1")
        await made.write_file("d/b.txt", "2")
        await made.write_file("d/e/c.txt", "3")
        yield made


async def held(sandbox: Sandbox) -> dict[str, bytes | None]:
    return {info.path: await sandbox.read_file(info.path) for info in await sandbox.list_files()}


START = {"a.txt": b"1", "d/b.txt": b"2", "d/e/c.txt": b"3"}
REFUSED = [
    "",
    "../x",
    "/x",
    "a\\b",
    "C:x",
    ".runcell/x",
    "a\nb",
    "\x1b[31m",
    "\u202egnp.exe",
    "n" * 300,
    "d/" + "ü" * 130,
]


@pytest.mark.parametrize("path", REFUSED)
async def test_odd_paths_are_refused_everywhere(sandbox: Sandbox, path: str) -> None:
    files = await below(sandbox, "a.txt")
    for work in (
        make_file(sandbox, path),
        rename(sandbox, "a.txt", path, files),
        Uploads(sandbox).begin("k", path, 1, "ask"),
    ):
        with pytest.raises(InvalidOptionError):
            await work
    assert await held(sandbox) == START


@pytest.mark.parametrize("path", ["ü b.txt", "x/.hidden", "~", "a'b\"c", "$(x)", "-rf"])
def test_other_names_are_fine(path: str) -> None:
    assert checked_path(path) == path


async def test_a_new_file_never_replaces_one(sandbox: Sandbox) -> None:
    assert await make_file(sandbox, "d/new/x.txt") == "d/new/x.txt"
    for path, match in (
        ("a.txt", "already"),
        ("d", "already"),
        ("a.txt/x", "is a file"),
        ("n/", "first file"),
    ):
        with pytest.raises(InvalidOptionError, match=match):
            await make_file(sandbox, path)
    assert await held(sandbox) == START | {"d/new/x.txt": b""}


async def test_free_names(sandbox: Sandbox) -> None:
    await sandbox.write_file("a (2).txt", "")
    await sandbox.write_file(".env", "")
    assert await free_path(sandbox, "a.txt") == "a (3).txt"
    assert await free_path(sandbox, "d") == "d (2)"
    assert await free_path(sandbox, ".env") == ".env (2)"
    assert await free_path(sandbox, "z.txt") == "z.txt"


async def below(sandbox: Sandbox, path: str) -> list[FileInfo]:
    return [
        info for info in await sandbox.list_files() if info.path == path or info.path.startswith(path + "/")
    ]


@pytest.mark.parametrize(
    ("path", "to", "expected"),
    [
        ("a.txt", "z/q.txt", {"z/q.txt": b"1", "d/b.txt": b"2", "d/e/c.txt": b"3"}),
        ("a.txt", "A.txt", {"A.txt": b"1", "d/b.txt": b"2", "d/e/c.txt": b"3"}),
        ("d", "f/g", {"a.txt": b"1", "f/g/b.txt": b"2", "f/g/e/c.txt": b"3"}),
        ("d/e", "e", {"a.txt": b"1", "d/b.txt": b"2", "e/c.txt": b"3"}),
        ("a.txt", "a.txt", START),
    ],
)
async def test_rename_moves_files_and_folders(
    sandbox: Sandbox, path: str, to: str, expected: dict[str, bytes]
) -> None:
    assert await rename(sandbox, path, to, await below(sandbox, path)) == to
    assert await held(sandbox) == expected
    if path != to:
        assert path + "/" not in (await sandbox.list_directory(".") or []), "no empty folder is left"


@pytest.mark.parametrize(
    ("path", "to", "match"),
    [
        ("a.txt", "d", "already"),
        ("a.txt", "d/b.txt", "already"),
        ("d", "a.txt", "already"),
        ("d", "d/e/f", "into itself"),
        ("a.txt", "d/b.txt/x", "is a file"),
        ("gone", "x", "is gone"),
    ],
)
async def test_a_rename_that_cannot_be_changes_nothing(
    sandbox: Sandbox, path: str, to: str, match: str
) -> None:
    with pytest.raises(InvalidOptionError, match=match):
        await rename(sandbox, path, to, await below(sandbox, path))
    assert await held(sandbox) == START


async def test_a_rename_by_case_that_fails_puts_the_file_back(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = await below(sandbox, "a.txt")
    write = sandbox.write_file

    async def failing(path: str, data: bytes) -> None:
        if path == "A.txt":
            raise OSError("disk full")
        await write(path, data)

    monkeypatch.setattr(sandbox, "write_file", failing)
    with pytest.raises(OSError, match="disk full"):
        await rename(sandbox, "a.txt", "A.txt", files)
    assert await held(sandbox) == START


async def test_too_much_is_not_moved(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_actions, "MAX_MOVED_BYTES", 1)
    with pytest.raises(InvalidOptionError, match="too large to be renamed here: 2 B, and the limit is 1 B"):
        await rename(sandbox, "d", "x", await below(sandbox, "d"))


async def test_an_archive_goes_into_a_fresh_folder(sandbox: Sandbox) -> None:
    data = packed([("a.txt", b"inner"), ("s/b", b"2")])
    await sandbox.write_file("d.zip", data)
    assert await extract(sandbox, "d.zip", len(data)) == ("d (2)", 2)
    assert await held(sandbox) == START | {"d.zip": data, "d (2)/a.txt": b"inner", "d (2)/s/b": b"2"}


@pytest.mark.parametrize("name", ["../evil", "/evil", "..\\evil"])
async def test_a_hostile_archive_leaves_nothing(sandbox: Sandbox, name: str) -> None:
    data = archive_of(("good.txt", b"1"), (name, b"2"))
    await sandbox.write_file("x.zip", data)
    with pytest.raises(InvalidOptionError, match="leaves its folder"):
        await extract(sandbox, "x.zip", len(data))
    assert await held(sandbox) == START | {"x.zip": data}


async def test_an_archive_that_cannot_be_written_leaves_no_half(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = packed([("a", b"1"), ("b", b"2")])
    await sandbox.write_file("x.zip", data)
    write = sandbox.write_file

    async def failing(path: str, content: bytes) -> None:
        if path.endswith("/b"):
            raise OSError("disk full")
        await write(path, content)

    monkeypatch.setattr(sandbox, "write_file", failing)
    with pytest.raises(OSError, match="disk full"):
        await extract(sandbox, "x.zip", len(data))
    assert await held(sandbox) == START | {"x.zip": data}


@pytest.mark.parametrize(("path", "match"), [("a.txt", "no readable zip"), ("gone.zip", "is gone")])
async def test_only_archives_are_extracted(sandbox: Sandbox, path: str, match: str) -> None:
    with pytest.raises(InvalidOptionError, match=match):
        await extract(sandbox, path, 1)


async def test_an_empty_archive_and_the_package_s_own_folder(sandbox: Sandbox) -> None:
    await sandbox.write_file("e.zip", packed([]))
    await sandbox.write_file(".runcell.zip", packed([("a", b"1")]))
    with pytest.raises(InvalidOptionError, match="holds no files"):
        await extract(sandbox, "e.zip", 22)
    with pytest.raises(InvalidOptionError, match="own files"):
        await extract(sandbox, ".runcell.zip", 22)
