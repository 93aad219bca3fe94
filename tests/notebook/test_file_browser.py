"""The Python side of the file browser."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import zipfile
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import pytest

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.notebook import file_browser, file_requests
from runcell_nb.notebook.file_browser import FileBrowser

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


async def ask(
    browser: FileBrowser, messages: Messages, request: dict[str, Any], *buffers: Any
) -> dict[str, Any]:
    """Ask as the page does and return the answer."""
    number = f"r{len(messages)}"
    browser._handle_custom_msg({**request, "id": number}, list(buffers))
    found = lambda: [answer for answer in of_type(messages, "answer") if answer["id"] == number]  # noqa: E731
    await until(found)
    return found()[0]


def pieces(messages: Messages, number: str) -> bytes:
    found = [buffers for content, buffers in messages if content == {"type": "piece", "id": number}]
    return b"".join(b"".join(buffers) for buffers in found)


@pytest.fixture
async def browse(sent: Messages) -> Callable[[dict[str, bytes]], Awaitable[FileBrowser]]:
    async def make(files: dict[str, bytes]) -> FileBrowser:
        browser = FileBrowser(s.dict_sandbox(files))
        await asyncio.gather(*browser._tasks)
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
    assert sorted(last["files"]) == [["a.txt", 1, "D"], ["b.txt", 2, "M"], ["c/d.txt", 1, "N"]]
    assert last["summary"] == "2 files · 3 B · 1 new · 1 modified · 1 deleted"
    await browser.mark()
    marked = of_type(sent, "changes")[-2]
    assert sorted(marked["files"]) == [["b.txt", 2, ""], ["c/d.txt", 1, ""]]
    assert marked["gone"] == ["a.txt"]


async def test_rewriting_the_same_content_is_no_change(sent: Messages, browse: Any) -> None:
    browser = await browse({"a.txt": b"same", "b.txt": b"1234"})
    await browser._sandbox.write_file("a.txt", "same")
    await browser._sandbox.write_file("b.txt", "4321")
    await browser.refresh()
    assert of_type(sent, "changes")[-1]["files"] == [["b.txt", 4, "M"]]
    await browser._sandbox.write_file("b.txt", "1234")
    await browser.refresh()
    assert of_type(sent, "changes")[-1]["files"] == [["b.txt", 4, ""]]


async def test_many_rewritten_files_are_told_in_the_end(sent: Messages, browse: Any) -> None:
    names = [f"f{n:03}" for n in range(450)]
    browser = await browse(dict.fromkeys(names, b"x"))
    for name in names:
        await browser._sandbox.write_file(name, "x")
    await browser.refresh()
    assert of_type(sent, "changes")[-1]["summary"] == "450 files · 450 B"


async def test_only_differences_cross_after_the_first_listing(sent: Messages, browse: Any) -> None:
    browser = await browse({f"f{n}": b"x" for n in range(10_000)})
    await browser._sandbox.write_file("new", "1")
    await browser.refresh()
    sizes = [len(json.dumps(message)) for message in of_type(sent, "changes")]
    assert max(sizes) > 100_000
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
    answer = await ask(browser, sent, {"type": "download", "path": "a.bin"})
    assert (answer["name"], answer["size"]) == ("a.bin", 2)
    assert pieces(sent, answer["id"]) == b"\0\1"


async def test_a_large_download_comes_in_parts(
    sent: Messages, browse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_requests, "PART_BYTES", 10)
    browser = await browse({"a.txt": b"0123456789" * 3 + b"end"})
    answer = await ask(browser, sent, {"type": "download", "path": "a.txt"})
    assert len(of_type(sent, "piece")) == 4
    assert pieces(sent, answer["id"]) == b"0123456789" * 3 + b"end"


@pytest.mark.parametrize(("path", "name"), [("", "sandbox.zip"), ("b", "b.zip"), ("b/d", "d.zip")])
async def test_folders_come_as_zip(sent: Messages, browse: Any, path: str, name: str) -> None:
    files = {"a": b"1", "b/c": b"2", "b/d/e": b"3", "bb": b"4"}
    browser = await browse(files)
    answer = await ask(browser, sent, {"type": "download", "path": path})
    assert answer["name"] == name
    with zipfile.ZipFile(io.BytesIO(pieces(sent, answer["id"]))) as archive:
        held = {info: archive.read(info) for info in archive.namelist()}
    assert held == {key: data for key, data in files.items() if not path or key.startswith(path + "/")}


async def test_files_whose_names_the_sandbox_refuses_are_left_out_of_a_zip(
    sent: Messages, browse: Any
) -> None:
    browser = await browse({"a": b"1", "..\\evil": b"2"})
    answer = await ask(browser, sent, {"type": "download", "path": ""})
    assert "1 file could not be read and is left out" in answer["said"]
    with zipfile.ZipFile(io.BytesIO(pieces(sent, answer["id"]))) as archive:
        assert archive.namelist() == ["a"]


BAD_PATHS = ["../x", "/etc/passwd", "./a", "b/../a", "a/", "b//c", "gone"]


@pytest.mark.parametrize("kind", ["open", "diff"])
@pytest.mark.parametrize("path", [*BAD_PATHS, "", "b"])
async def test_only_listed_paths_are_shown(sent: Messages, browse: Any, kind: str, path: str) -> None:
    browser = await browse({"a": b"1", "b/c": b"2"})
    browser._sandbox._session.read_file = None  # nothing may be read
    browser._handle_custom_msg({"type": kind, "path": path}, [])
    await until(lambda: of_type(sent, "problem"))
    assert repr(path) in of_type(sent, "problem")[0]["text"]


@pytest.mark.parametrize("kind", ["download", "delete", "rename", "extract"])
@pytest.mark.parametrize("path", BAD_PATHS)
async def test_only_listed_paths_are_touched(sent: Messages, browse: Any, kind: str, path: str) -> None:
    browser = await browse({"a": b"1", "b/c": b"2"})
    session = browser._sandbox._session
    session.read_file = session.remove = session.write_file = None  # nothing may be touched
    answer = await ask(browser, sent, {"type": kind, "path": path, "to": "new"})
    assert repr(path) in answer["problem"]


@pytest.mark.parametrize("kind", ["delete", "rename"])
async def test_the_workspace_itself_stays(sent: Messages, browse: Any, kind: str) -> None:
    browser = await browse({"a": b"1"})
    assert "is empty" in (await ask(browser, sent, {"type": kind, "path": "", "to": "x"}))["problem"]


@pytest.mark.parametrize("request_", [{}, {"path": 3}, {"path": None}])
@pytest.mark.parametrize(
    "kind", ["download", "upload", "part", "cancel", "new", "rename", "delete", "extract"]
)
async def test_a_request_without_its_parts_is_a_sentence(
    sent: Messages, browse: Any, kind: str, request_: dict[str, Any]
) -> None:
    browser = await browse({"a": b"1"})
    assert "needs" in (await ask(browser, sent, {"type": kind, **request_}))["problem"]


async def test_new_rename_and_delete_answer_and_show(sent: Messages, browse: Any) -> None:
    browser = await browse({"a": b"1"})
    made = await ask(browser, sent, {"type": "new", "path": "n/b.txt"})
    assert (made["said"], made["path"]) == ("Made n/b.txt.", "n/b.txt")
    assert of_type(sent, "changes")[-1]["files"] == [["n/b.txt", 0, "N"]]
    moved = await ask(browser, sent, {"type": "rename", "path": "a", "to": "c"})
    assert (moved["said"], moved["path"]) == ("Renamed a to c.", "c")
    gone = await ask(browser, sent, {"type": "delete", "path": "c"})
    assert gone["said"] == "Deleted c."
    assert list(browser._listing.entries) == ["n/b.txt"]


async def test_an_upload_in_parts_is_shown_when_it_is_whole(sent: Messages, browse: Any) -> None:
    browser = await browse({})
    up = {"type": "upload", "key": "k", "path": "d/up.txt", "size": 6, "clash": "ask"}
    assert (await ask(browser, sent, up))["state"] == "more"
    assert (await ask(browser, sent, {"type": "part", "key": "k"}, b"abc"))["state"] == "more"
    assert list(browser._listing.entries) == []
    assert (await ask(browser, sent, {"type": "part", "key": "k"}, memoryview(b"def")))["path"] == "d/up.txt"
    assert list(browser._listing.entries) == ["d/up.txt"]


async def test_the_difference_from_the_mark(sent: Messages, browse: Any) -> None:
    browser = await browse({"a.txt": b"1\n2\n", "gone": b"x\n", "big": b"0" * 300_000})
    await browser._sandbox.write_file("a.txt", "1\n3\n")
    await browser._sandbox.write_file("new", "n\n")
    await browser._sandbox.write_file("big", "1" * 300_000)
    await browser._sandbox.remove("gone")
    await browser.refresh()
    shown = {}
    for path in ("a.txt", "new", "gone", "big"):
        browser._handle_custom_msg({"type": "diff", "path": path}, [])
        await until(
            lambda path=path: of_type(sent, "content") and of_type(sent, "content")[-1]["path"] == path
        )
        shown[path] = of_type(sent, "content")[-1]
    assert shown["a.txt"]["lines"] == ["@@ -1,2 +1,2 @@", " 1", "-2", "+3"]
    assert (shown["new"]["added"], shown["gone"]["removed"]) == (1, 1)
    assert shown["gone"]["lines"][-1] == "-x"
    assert "is not kept" in shown["big"]["note"]
    assert browser._listing.entries["big"][1] == "M", "it is compared by its digest"


async def test_a_difference_follows_writes_and_marks(sent: Messages, browse: Any) -> None:
    browser = await browse({"a.txt": b"1\n"})
    await browser._sandbox.write_file("a.txt", "2\n")
    await browser.refresh()
    browser._handle_custom_msg({"type": "diff", "path": "a.txt"}, [])
    await until(lambda: of_type(sent, "content"))
    await browser._sandbox.write_file("a.txt", "3\n")
    await browser.refresh()
    assert of_type(sent, "content")[-1]["lines"][-1] == "+3"
    browser._handle_custom_msg({"type": "mark"}, [])
    await until(lambda: of_type(sent, "content")[-1]["lines"] == [])


async def test_what_changes_while_the_mark_reads_is_not_taken_for_the_old_content(
    sent: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = s.dict_sandbox({"a.txt": b"old!"})
    read = file_browser.read_marked

    async def late(sandbox: Any, infos: Any) -> Any:
        await sandbox.write_file("a.txt", "new!")
        return await read(sandbox, infos)

    monkeypatch.setattr(file_browser, "read_marked", late)
    browser = FileBrowser(sandbox)
    await asyncio.gather(*browser._tasks)
    await browser.refresh()
    assert browser._listing.entries["a.txt"] == (4, "M")
    assert browser._listing.marked.content("a.txt") is None


@pytest.mark.parametrize("grown", [False, True])
@pytest.mark.parametrize(("kind", "answer"), [("open", "content"), ("download", "answer")])
async def test_large_files_do_not_cross(
    sent: Messages, browse: Any, monkeypatch: pytest.MonkeyPatch, kind: str, answer: str, grown: bool
) -> None:
    monkeypatch.setattr(file_browser, "MAX_SHOWN_BYTES", 1_000)
    monkeypatch.setattr(file_requests, "MAX_DOWNLOAD_BYTES", 1_000)
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


async def test_a_notebook_keeps_the_listing_and_no_widget(browse: Any) -> None:
    browser = await browse({"a.txt": b"1"})
    data, _ = browser._repr_mimebundle_()
    assert set(data) == {"text/html", "text/plain"}
    assert f'data-runcell-place="{browser.place}"' in data["text/html"]


async def test_pages_that_a_script_cannot_reach_get_the_widget(
    browse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    data, _ = (await browse({"a.txt": b"1"}))._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "a.txt" in data["text/html"]


async def test_the_page_asks_for_the_static_listing(sent: Messages, browse: Any) -> None:
    browser = await browse({"a.txt": b"1"})
    browser._handle_custom_msg({"type": "static"}, [])
    assert of_type(sent, "static")[0]["bundle"] == browser.static_bundle()


async def test_only_a_live_sandbox_is_taken() -> None:
    with pytest.raises(InvalidOptionError, match="needs a live sandbox"):
        FileBrowser("virtual")  # type: ignore[arg-type]


def test_without_an_event_loop_it_says_what_to_do() -> None:
    with pytest.raises(InvalidOptionError, match=r"asyncio\.run"):
        FileBrowser(s.dict_sandbox({}))
