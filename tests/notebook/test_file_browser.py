"""The Python side of the file browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.notebook import file_browser, file_preview
from runcell_nb.notebook.file_browser import FileBrowser
from runcell_nb.notebook.file_preview import preview_of

from . import samples as s

Messages = list[tuple[dict[str, Any], list[bytes]]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Messages:
    messages: Messages = []
    monkeypatch.setattr(
        FileBrowser, "send", lambda _self, content, buffers=None: messages.append((content, buffers or []))
    )
    return messages


def of_type(messages: Messages, kind: str) -> list[dict[str, Any]]:
    return [content for content, _ in messages if content["type"] == kind]


async def until(found: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not found():
            await asyncio.sleep(0.01)


@pytest.fixture
async def browse(sent: Messages) -> Callable[[dict[str, bytes]], Awaitable[FileBrowser]]:
    async def make(files: dict[str, bytes]) -> FileBrowser:
        browser = FileBrowser(s.dict_sandbox(files))
        await browser.refresh()
        return browser

    return make


async def test_marks_tell_what_changed_since_it_was_opened_and_since_the_mark(
    sent: Messages, browse: Any
) -> None:
    browser = await browse({"a.txt": b"1", "b.txt": b"2"})
    await browser._sandbox.write_file("b.txt", "22")
    await browser._sandbox.write_file("c/d.txt", "3")
    await browser._sandbox.remove("a.txt")
    await browser.refresh()
    last = of_type(sent, "changes")[-1]
    assert sorted(last["files"]) == [["b.txt", 2, "M"], ["c/d.txt", 1, "N"]]
    assert last["gone"] == ["a.txt"]
    assert last["summary"] == "2 files · 3 B · 1 new · 1 modified · 1 deleted"
    await browser.mark()
    assert sorted(of_type(sent, "changes")[-1]["files"]) == [["b.txt", 2, ""], ["c/d.txt", 1, ""]]


async def test_only_differences_cross_after_the_first_listing(sent: Messages, browse: Any) -> None:
    browser = await browse({f"f{n}": b"x" for n in range(10_000)})
    await browser._sandbox.write_file("new", "1")
    await browser.refresh()
    sizes = [len(json.dumps(message)) for message in of_type(sent, "changes")]
    assert sizes[0] > 100_000
    assert sizes[-1] < 300


async def test_a_burst_of_refreshes_lists_once(sent: Messages, browse: Any) -> None:
    browser = await browse({"a": b"1"})
    session = browser._sandbox._session
    session.listings = 0
    await asyncio.gather(*(browser.refresh() for _ in range(50)))
    assert session.listings == 1


async def test_a_resync_brings_everything_under_the_present_number(sent: Messages, browse: Any) -> None:
    browser = await browse({"a": b"1"})
    browser._handle_custom_msg({"type": "resync"}, [])
    await until(lambda: of_type(sent, "whole"))
    whole = of_type(sent, "whole")[0]
    assert whole["files"] == [["a", 1, ""]]
    assert whole["seq"] == of_type(sent, "changes")[-1]["seq"]


async def test_opening_shows_content_and_a_change_shows_it_again(sent: Messages, browse: Any) -> None:
    browser = await browse({"a.txt": b"one"})
    browser._handle_custom_msg({"type": "open", "path": "a.txt"}, [])
    await until(lambda: of_type(sent, "content"))
    await browser._sandbox.write_file("a.txt", "two")
    await browser.refresh()
    assert [message["text"] for message in of_type(sent, "content")] == ["one", "two"]
    await browser.refresh()
    assert len(of_type(sent, "content")) == 2


async def test_events_of_a_run_are_followed_and_bursts_make_one(sent: Messages, browse: Any) -> None:
    browser = await browse({})
    for n in range(100):
        await browser._sandbox.write_file(f"f{n}", "x")
        browser.feed(s.change(f"f{n}", None, b"x"))
    await until(lambda: of_type(sent, "follow"))
    assert of_type(sent, "follow") == [{"type": "follow", "path": "f99"}]


async def test_a_download_brings_the_bytes(sent: Messages, browse: Any) -> None:
    browser = await browse({"a.bin": b"\0\1"})
    browser._handle_custom_msg({"type": "download", "path": "a.bin"}, [])
    await until(lambda: of_type(sent, "file"))
    assert sent[-1] == ({"type": "file", "path": "a.bin"}, [b"\0\1"])


@pytest.mark.parametrize("kind", ["open", "download"])
@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "", "./a", "b/../a", "a/", "b//c", "b", "gone"])
async def test_only_listed_paths_are_read(sent: Messages, browse: Any, kind: str, path: str) -> None:
    browser = await browse({"a": b"1", "b/c": b"2"})
    browser._sandbox._session.read_file = None  # nothing may be read
    browser._handle_custom_msg({"type": kind, "path": path}, [])
    await until(lambda: of_type(sent, "problem"))
    assert repr(path) in of_type(sent, "problem")[0]["text"]


@pytest.mark.parametrize("grown", [False, True])
@pytest.mark.parametrize(
    ("kind", "limit", "answer"),
    [("open", "MAX_SHOWN_BYTES", "content"), ("download", "MAX_DOWNLOAD_BYTES", "problem")],
)
async def test_large_files_do_not_cross(
    sent: Messages,
    browse: Any,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    limit: str,
    answer: str,
    grown: bool,
) -> None:
    monkeypatch.setattr(file_browser, limit, 1_000)
    browser = await browse({"big.txt": b"x" if grown else b"x" * 2_000})
    await browser._sandbox.write_file("big.txt", b"x" * 2_000)
    browser._handle_custom_msg({"type": kind, "path": "big.txt"}, [])
    await until(lambda: of_type(sent, answer))
    assert "2.0 kB" in str(of_type(sent, answer))
    assert "xxxx" not in str(sent)


async def test_a_file_that_goes_while_it_is_open_is_gone(sent: Messages, browse: Any) -> None:
    browser = await browse({"a": b"1"})
    browser._handle_custom_msg({"type": "open", "path": "a"}, [])
    await until(lambda: of_type(sent, "content"))
    await browser._sandbox.remove("a")
    await browser.refresh()
    assert of_type(sent, "content")[-1]["kind"] == "missing"


@pytest.mark.parametrize("waiting", [True, False])
async def test_a_closed_browser_does_nothing(sent: Messages, browse: Any, waiting: bool) -> None:
    browser = await browse({"a": b"1"})
    await asyncio.gather(*browser._tasks)
    if waiting:
        browser.feed(s.change("a", b"1", b"2"))
    browser.close()
    sent.clear()
    browser._sandbox._session.listings = 0
    browser.feed(s.change("a", b"1", b"2"))
    browser.follow("a")
    await asyncio.sleep(3 * file_browser.REFRESH_SECONDS)
    assert (sent, browser._sandbox._session.listings) == ([], 0)


async def test_events_on_another_thread_are_handed_to_the_loop(sent: Messages, browse: Any) -> None:
    asyncio.get_running_loop().set_debug(True)  # refuses timers of other threads
    browser = await browse({"a": b"1"})
    await asyncio.to_thread(browser.feed, s.change("a", b"1", b"2"))
    await until(lambda: of_type(sent, "follow"))


async def test_a_destroyed_sandbox_is_a_sentence(sent: Messages, browse: Any) -> None:
    browser = await browse({})
    await browser._sandbox.destroy()
    browser._handle_custom_msg({"type": "refresh"}, [])
    await until(lambda: of_type(sent, "problem"))
    assert "was destroyed" in of_type(sent, "problem")[0]["text"]


async def test_names_that_are_no_text_are_counted(sent: Messages, browse: Any) -> None:
    browser = await browse({"ok": b"1", "bad\udcff": b"2"})
    assert of_type(sent, "changes")[-1]["summary"] == "1 file · 1 B · 1 with a name that is no text"
    assert "bad" not in browser.static_bundle()["text/plain"]


async def test_the_listing_for_places_without_widgets(browse: Any) -> None:
    browser = await browse({f"f{n:03}": b"x" for n in range(250)} | {"<b>.txt": b"y"})
    bundle = browser.static_bundle()
    assert "251 files" in bundle["text/plain"]
    assert "and 51 more" in bundle["text/plain"]
    assert "&lt;b&gt;.txt" in bundle["text/html"]
    assert "<b>.txt" not in bundle["text/html"]


async def test_only_a_live_sandbox_is_taken() -> None:
    with pytest.raises(InvalidOptionError, match="needs a live sandbox"):
        FileBrowser("virtual")  # type: ignore[arg-type]


def test_without_an_event_loop_it_says_what_to_do() -> None:
    with pytest.raises(InvalidOptionError, match=r"asyncio\.run"):
        FileBrowser(s.dict_sandbox({}))


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
    assert preview_of("x.json", b'{"a":[1]}')[0]["text"] == '{\n  "a": [\n    1\n  ]\n}'


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
