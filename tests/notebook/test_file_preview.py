"""What is shown of one file: bounded and harmless, whatever it holds."""

from __future__ import annotations

import json

import pytest

from runcell_nb.notebook import file_preview
from runcell_nb.notebook.file_preview import diff_preview, preview_of

from . import samples as s


def test_preview_of_text_is_bounded_and_says_so() -> None:
    content, _ = preview_of("log.txt", b"line of text\n" * 100_000)
    assert content["kind"] == "text"
    assert len(content["text"]) <= 200_000
    assert content["text"].endswith("line of text\n")
    assert content["note"] == "The first 200 kB of 1.3 MB; download the file for the rest."


def test_preview_of_a_table() -> None:
    data = b"\xef\xbb\xbfid,text\n" + b'1,"a, b"\n' * 500
    content, _ = preview_of("t.CSV", data)
    assert content["head"] == ["id", "text"]
    assert content["rows"][0] == ["1", "a, b"]
    assert (len(content["rows"]), content["note"]) == (
        200,
        "The first 200 rows; download the file for the rest.",
    )


@pytest.mark.parametrize("data", [b"just one column\nx\n", b"", b"\n\n", b'a,b\n"' + b"x" * 150_000])
def test_a_csv_that_is_no_table_is_text(data: bytes) -> None:
    assert preview_of("t.csv", data)[0]["kind"] == "text"


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("x.png", s.PNG, "image"),
        ("x.txt", s.PNG, "image"),
        ("x.svg", b"<svg onload='x()'/>", "text"),
        ("x.png", b"not a picture", "text"),
        ("x.bin", b"\0\1\2", "binary"),
        ("x.txt", b"\xff\xfe\xfa\xfb" * 100, "text"),
        ("x.dat", bytes(range(128, 256)) * 20, "binary"),
        ("x.json", b"[" * 100_000, "text"),
    ],
)
def test_the_kind_of_a_file(name: str, data: bytes, kind: str) -> None:
    assert preview_of(name, data)[0]["kind"] == kind


def test_json_is_laid_out() -> None:
    content, _ = preview_of("x.json", b'{"a":[1]}')
    assert (content["kind"], content["text"]) == ("json", '{\n  "a": [\n    1\n  ]\n}')
    assert preview_of("x.json", b"{no json")[0]["kind"] == "text"


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (b"a", b"b", "diff"),
        (None, b"", "diff"),
        (b"\0", b"\1", "binary"),
        (b"a\n" * 3_000, b"b\n" * 3_000, "binary"),
        (b"a" * 300_000, b"b", "binary"),
    ],
)
def test_the_kind_of_a_difference(before: bytes | None, after: bytes | None, kind: str) -> None:
    assert diff_preview(before, after)["kind"] == kind


def test_a_difference_is_bounded_and_plain() -> None:
    shown = diff_preview(None, b"\x1b[31mred\n" + b"\xe2\x80\xae\n" + b"x" * 200_000 + b"\n" + b"y\n" * 1_000)
    assert shown["lines"][1] == "+red"
    assert shown["lines"][2] == "+\\u202e"
    assert max(map(len, shown["lines"])) < 5_100
    assert shown["note"] == "604 lines of the changes left out."


@pytest.mark.parametrize("wide", [0, 3, 9])
def test_columns_left_out_are_told_whichever_row_has_them(wide: int) -> None:
    rows = [",".join("x" * (100 if n == wide else 2)) for n in range(10)]
    content, _ = preview_of("t.csv", "\n".join(rows).encode())
    assert content["note"] == "Columns after the first 60 are left out."


@pytest.mark.parametrize("name", ["x.json", "x.csv", "x.tsv", "x.txt"])
@pytest.mark.parametrize(
    "data",
    [
        (b"[" * 500 + b"]" * 500 + b",") * 190,
        b"[" + b",".join([b"[" * 480 + b"]" * 480] * 199) + b"]",
        b"[" + b",".join([b'{"a":' * 200 + b"1" + b"}" * 200] * 160) + b"]",
        b"[" + b"1," * 95_000 + b"1]",
        '"{}"'.format("\x80" * 99_000).encode(),
        "\x80".encode("utf-16") * 50_000,
        "\u202e\n".encode() * 50_000,
        b"a,b\n" + b"," * 190_000,
        b"a,b\n" + ("\x85," * 60 + "\n").encode() * 1_000,
        b"\0" * 200_000,
        b"\n" * 200_000,
    ],
    ids=range(11),
)
def test_no_preview_is_much_larger_than_the_file(name: str, data: bytes) -> None:
    content, buffers = preview_of(name, data)
    assert len(json.dumps(content, ensure_ascii=False)) < 1_000_000
    assert buffers == []


def test_laid_out_json_that_is_cut_says_so() -> None:
    data = b"[" + b",".join([b"[" * 80 + b"]" * 80] * 1_000) + b"]"
    assert len(file_preview._pretty(data.decode())) < 401_000, "more was made than is shown"
    content, _ = preview_of("x.json", data)
    assert content["text"].startswith("[\n  [\n    [")
    assert len(content["text"]) == 400_000
    assert content["note"] == "The first 400,000 characters as shown here; download the file for the rest."


def test_a_very_long_line_is_shortened() -> None:
    text = preview_of("x.txt", b"x" * 100_000)[0]["text"]
    assert len(text) < 5_100
    assert text.endswith("part of a long line left out")
