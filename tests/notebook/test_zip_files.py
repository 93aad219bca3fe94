"""Archives that a person makes of a sandbox, and archives that a stranger made."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile

import pytest

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.notebook import zip_files
from runcell_nb.notebook.zip_files import packed, unpacked


def archive_of(*entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # two entries of one name
        for name, data in entries:
            archive.writestr(name, data)
    return buffer.getvalue()


def entry(name: str, mode: int = 0) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def test_what_was_packed_is_unpacked() -> None:
    files = {"a.txt": b"1", "ü/b c.bin": bytes(range(256)), "e": b""}
    assert unpacked(packed(files.items())) == files


def test_no_name_of_an_archive_leads_out_of_its_folder_anywhere() -> None:
    files = [("..\\..\\evil", b"1"), ("C:x", b"2"), ("a\nb", b"3"), ("a_b", b"4"), ("\u202egnp", b"5")]
    with zipfile.ZipFile(io.BytesIO(packed(files))) as archive:
        assert archive.namelist() == [".._.._evil", "C_x", "a_b", "a_b (2)", "_gnp"]


def test_folders_of_an_archive_are_no_files() -> None:
    assert unpacked(archive_of(("d/", b""), ("d/a", b"1"))) == {"d/a": b"1"}


@pytest.mark.parametrize(
    "name",
    ["../evil", "a/../../evil", "/etc/passwd", "C:\\evil", "C:/evil", "..\\evil", "a\\b", "a/..", "./"],
)
def test_a_name_that_leads_outside_refuses_the_archive(name: str) -> None:
    with pytest.raises(InvalidOptionError, match="leaves its folder or is odd"):
        unpacked(archive_of(("good.txt", b"1"), (name, b"2")))


def test_a_name_with_a_hidden_end_refuses_the_archive() -> None:
    data = archive_of(("evil.txtXpng", b"1")).replace(b"evil.txtXpng", b"evil.txt\0png")
    with pytest.raises(InvalidOptionError, match="NUL"):
        unpacked(data)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_refuse_the_archive(kind: int) -> None:
    with pytest.raises(InvalidOptionError, match="link or a device"):
        unpacked(archive_of((entry("x", kind | 0o777), b"/etc/passwd")))


def test_an_ordinary_mode_is_fine() -> None:
    assert unpacked(archive_of((entry("x.sh", stat.S_IFREG | 0o755), b"1"))) == {"x.sh": b"1"}


@pytest.mark.parametrize(
    ("entries", "match"),
    [
        ([("a", b"1"), ("a", b"2")], "twice"),
        ([("a/./b", b"1"), ("a/b", b"2")], "twice"),
        ([("a", b"1"), ("a/b", b"2")], "is a file as well"),
        ([("n" * 300, b"1")], "too long"),
        ([("d/" * 600 + "x", b"1")], "too long"),
    ],
)
def test_names_that_do_not_fit_together_refuse_the_archive(
    entries: list[tuple[str | zipfile.ZipInfo, bytes]], match: str
) -> None:
    with pytest.raises(InvalidOptionError, match=match):
        unpacked(archive_of(*entries))


def test_a_bomb_is_stopped_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_files, "MAX_UNPACKED_BYTES", 2_000_000)
    bomb = archive_of(*((f"f{n}", b"\0" * 1_000_000) for n in range(3)))
    assert len(bomb) < 5_000
    with pytest.raises(InvalidOptionError, match=r"unpacks to more than 2\.0 MB"):
        unpacked(bomb)


def test_a_size_that_lies_is_not_believed() -> None:
    data = archive_of(("f", b"\0" * 1_000_000))
    for at in (data.index(b"PK\1\2") + 24, data.index(b"PK\3\4") + 22):
        data = data[:at] + struct.pack("<I", 10) + data[at + 4 :]
    with pytest.raises(InvalidOptionError, match="no readable zip"):
        unpacked(data)


@pytest.mark.parametrize("sign_only", [True, False])
def test_too_many_entries_are_refused_before_they_are_parsed(
    monkeypatch: pytest.MonkeyPatch, sign_only: bool
) -> None:
    monkeypatch.setattr(zip_files, "MAX_UNPACKED_FILES", 3)
    data = b"PK\1\2" * 7 if sign_only else archive_of(*((f"f{n}", b"") for n in range(4)))
    with pytest.raises(InvalidOptionError, match="more than 3 entries"):
        unpacked(data)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_to_compress_are_refused(method: int) -> None:
    with pytest.raises(InvalidOptionError, match="not supported"):
        unpacked(archive_of(("a", b"1"), method=method))


def test_an_encrypted_archive_is_refused() -> None:
    data = archive_of(("a", b"1"))
    at = data.index(b"PK\1\2") + 8
    with pytest.raises(InvalidOptionError, match="encrypted"):
        unpacked(data[:at] + b"\1\0" + data[at + 2 :])


@pytest.mark.parametrize("cut", [0, 1, 30, 60, -1])
def test_what_is_no_archive_is_a_sentence(cut: int) -> None:
    with pytest.raises(InvalidOptionError, match="no readable zip"):
        unpacked(archive_of(("a.txt", b"1" * 100))[:cut])


def test_every_damage_is_a_sentence() -> None:
    data = archive_of(("a.txt", b"hello " * 20), ("b/c", b"1"))
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        try:
            unpacked(damaged)
        except InvalidOptionError as error:
            assert len(str(error)) < 400
