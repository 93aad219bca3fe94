from __future__ import annotations

import os

import pytest

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.sandboxes.workspace import DirectoryWorkspace

needs_links = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX files")


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("outside")
    (tmp_path / "root-beside").mkdir()
    return folder


@pytest.fixture
def workspace(root):
    return DirectoryWorkspace(root)


@needs_links
@pytest.mark.parametrize("target", ["{out}/secret.txt", "../secret.txt", "{out}/missing", "../root-beside/x"])
async def test_a_link_that_leads_outside_is_neither_read_nor_written(workspace, root, tmp_path, target):
    (root / "link").symlink_to(target.format(out=tmp_path))
    for call in (workspace.read_file("link"), workspace.write_file("link", b"2")):
        with pytest.raises(InvalidOptionError, match="'link'"):
            await call
    assert await workspace.read_files(["link"]) == [None]
    assert (tmp_path / "secret.txt").read_text() == "outside"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["root", "root-beside", "secret.txt"]


@needs_links
async def test_a_folder_link_that_leads_outside_is_refused_everywhere(workspace, root, tmp_path):
    (root / "out").symlink_to(tmp_path)
    for call in (
        workspace.read_file("out/secret.txt"),
        workspace.write_file("out/new.txt", b"2"),
        workspace.remove("out/secret.txt"),
        workspace.list_directory("out"),
    ):
        with pytest.raises(InvalidOptionError, match="outside"):
            await call
    assert await workspace.list_files() == []


@needs_links
async def test_removing_a_link_leaves_what_it_points_to(workspace, root, tmp_path):
    (root / "out").symlink_to(tmp_path)
    await workspace.remove("out")
    assert not (root / "out").is_symlink()
    assert (tmp_path / "secret.txt").exists()


@needs_links
async def test_links_inside_work_and_are_not_listed(workspace, root):
    await workspace.write_file("real/a.txt", b"1")
    (root / "near").symlink_to("real")
    (root / "loop").symlink_to("loop")
    (root / "real" / "up").symlink_to("..")
    assert await workspace.read_file("near/a.txt") == b"1"
    assert [info.path for info in await workspace.list_files()] == ["real/a.txt"]
    assert await workspace.list_directory("") == ["loop", "near", "real/"]
    with pytest.raises(InvalidOptionError, match="'loop'"):
        await workspace.read_file("loop")


@needs_links
async def test_a_pipe_does_not_block(workspace, root):
    os.mkfifo(root / "pipe")
    assert await workspace.read_file("pipe") is None
    assert await workspace.list_files() == []


@needs_links
async def test_names_that_no_path_can_spell_are_left_out(workspace, root):
    for name in (b"back\\slash", b"C:drive", b"\xff\xfe", b"fine"):
        (root / os.fsdecode(name)).write_text("1")
    assert [info.path for info in await workspace.list_files()] == ["fine"]


async def test_what_is_no_file_reads_as_missing(workspace, root):
    (root / "folder").mkdir()
    for path in ("folder", "missing", "folder/missing/x"):
        assert await workspace.read_file(path) is None


async def test_errors_show_no_path_of_this_machine(workspace, root):
    with pytest.raises(InvalidOptionError) as caught:
        await workspace.write_file("x" * 300, b"")
    assert str(root) not in str(caught.value)


async def test_ten_thousand_files_are_listed_and_read(workspace, root):
    for number in range(100):
        (root / str(number)).mkdir()
        for inner in range(100):
            (root / str(number) / str(inner)).write_text(f"{number} {inner}")
    infos = await workspace.list_files()
    assert len(infos) == 10_000
    contents = await workspace.read_files([info.path for info in infos])
    assert all(
        data == info.path.replace("/", " ").encode() for info, data in zip(infos, contents, strict=True)
    )
