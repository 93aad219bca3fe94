"""The file browser in a real browser."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from nbconvert import HTMLExporter
from playwright.async_api import Download, Locator, expect

from .conftest import NotebookPage, OpenNotebook

SHOW = """
import asyncio
from IPython.display import display
from runcell_nb.core.sandbox_options import create_sandbox
from runcell_nb.notebook.file_browser import FileBrowser
from tests.notebook import samples
table = "id,topic\\n" + "\\n".join(f"{n},topic {n}" for n in range(500))
files = {"a.txt": b"first", "table.csv": table.encode(), "folder/inner/deep.txt": b"deep"}
files["p.png"] = samples.PNG
sandbox = await create_sandbox("virtual")
for path, data in files.items():
    await sandbox.write_file(path, data)
browser = FileBrowser(sandbox, await sandbox.list_files())
display(browser)
"""

WRITE = """
await sandbox.write_file("new/report.md", "# Report")
browser.feed(samples.change("new/report.md", None, b"# Report"))
"""


@pytest.mark.parametrize("front_end", ["lab", "notebook"])
async def test_it_follows_a_write(open_notebook: OpenNotebook, front_end: str) -> None:
    notebook = await open_notebook([SHOW, WRITE], front_end=front_end)
    await notebook.run_all()
    browser = notebook.output(0).locator(".rc-browser")
    chosen = browser.get_by_role("treeitem", selected=True)
    await expect(chosen).to_have_accessible_name("report.md, 8 B, new")
    await expect(browser.locator(".rc-content")).to_have_text("# Report")
    await expect(browser.locator(".rc-summary")).to_contain_text("5 files")


async def test_a_person_s_choice_is_not_taken_away(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW, "await asyncio.sleep(0)"])
    await notebook.run_all()
    browser = notebook.output(0).locator(".rc-browser")
    await browser.get_by_role("treeitem", name="a.txt").click()
    await expect(browser.locator(".rc-content")).to_have_text("first")
    await expect(browser.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "false")
    await notebook.set_source(
        1, WRITE + "await sandbox.write_file('a.txt', 'second'); await browser.refresh()"
    )
    await notebook.run_cell(1)
    await expect(browser.locator(".rc-content")).to_have_text("second")
    await expect(browser.get_by_role("treeitem", name="report.md")).to_be_hidden()
    await expect(browser.get_by_role("treeitem", selected=True)).to_have_accessible_name(
        "a.txt, 6 B, modified"
    )


async def test_tables_pictures_and_downloads(open_notebook: OpenNotebook, tmp_path: Path) -> None:
    notebook = await open_notebook([SHOW])
    await notebook.run_all()
    browser = notebook.output(0).locator(".rc-browser")
    await browser.get_by_role("treeitem", name="table.csv").click()
    await expect(browser.locator("tbody tr")).to_have_count(200)
    await expect(browser.locator(".rc-path")).to_contain_text("The first 200 rows")
    await browser.get_by_role("treeitem", name="p.png").click()
    await expect(browser.locator("img")).to_have_js_property("naturalWidth", 2)
    async with notebook.page.expect_download() as waiting:
        await browser.get_by_role("button", name="Download", exact=True).click()
    download = await waiting.value
    await download.save_as(tmp_path / "saved")
    assert download.suggested_filename == "p.png"
    assert (tmp_path / "saved").read_bytes().startswith(b"\x89PNG")


async def test_the_tree_by_keyboard(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW])
    await notebook.run_all()
    browser, press = notebook.output(0).locator(".rc-browser"), notebook.page.keyboard.press
    await expect(browser.locator('[role="treeitem"][tabindex="0"]')).to_have_count(1)
    await browser.get_by_role("treeitem", name="folder, folder").focus()
    for key in ("ArrowLeft", "ArrowRight", "ArrowDown", "ArrowDown", "Enter"):
        await press(key)
    await expect(browser.locator(".rc-content")).to_have_text("deep")
    await press("ArrowLeft")
    await expect(browser.locator(":focus")).to_have_accessible_name("inner, folder")
    await press("ArrowLeft")
    await expect(browser.locator(":focus")).to_have_attribute("aria-expanded", "false")
    await press("End")
    await expect(browser.locator(":focus")).to_have_accessible_name("table.csv, 6.8 kB")
    await press("a")
    await expect(browser.locator(":focus")).to_have_accessible_name("a.txt, 5 B")


async def test_ten_thousand_files_keep_the_page_small(open_notebook: OpenNotebook) -> None:
    many = (
        SHOW + "many = FileBrowser(samples.dict_sandbox({f'd/f{n:05}.txt': b'x' for n in range(10_000)}))\n"
    )
    notebook = await open_notebook([many + "display(many)"])
    await notebook.run_all()
    browser = notebook.output(0).locator(".rc-browser").nth(1)
    await browser.get_by_role("treeitem", name="d, folder").click()
    await notebook.page.keyboard.press("End")
    await expect(browser.locator(":focus")).to_have_accessible_name("f09999.txt, 1 B")
    assert await browser.get_by_role("treeitem").count() < 60
    await expect(browser.locator(":focus")).to_have_attribute("aria-setsize", "10000")


LOSE_SOME = """
send = browser.send
def lossy(content, buffers=None):
    if content["type"] != "changes" or content["seq"] % 3:
        send(content, buffers)
browser.send = lossy
for n in range(28):
    await sandbox.write_file(f"n{n % 7}.txt", "x" * n)
    if n % 7 == 6:
        await sandbox.remove("n0.txt")
    await browser.refresh()
    await asyncio.sleep(0.03)
browser.send = send
await browser.refresh()
"""


async def test_lost_listings_are_asked_for(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW, LOSE_SOME])
    await notebook.run_all()
    browser = notebook.output(0).locator(".rc-browser")
    for name in ("n1.txt, 22 B, new", "n2.txt, 23 B, new", "n6.txt, 27 B, new", "a.txt, 5 B"):
        await expect(browser.get_by_role("treeitem", name=name)).to_be_visible()
    await expect(browser.get_by_role("treeitem", name="n0.txt")).to_have_count(0)
    await expect(browser.locator(".rc-summary")).to_contain_text("10 files")


async def test_opening_another_browser_closes_the_first(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook(["%load_ext runcell_nb", "%runcell files", "%runcell files"])
    await notebook.run_all()
    await expect(notebook.output(2).locator(".rc-browser")).to_be_visible()
    await expect(notebook.page.locator(".rc-browser")).to_have_count(1)
    await expect(notebook.page.get_by_text("Error displaying widget")).to_have_count(0)


def button(browser: Locator, name: str) -> Locator:
    return browser.get_by_role("button", name=name, exact=True)


def item(browser: Locator, name: str) -> Locator:
    return browser.get_by_role("treeitem", name=name)


async def shown(notebook: NotebookPage) -> Locator:
    """Run the notebook and return the browser in its first cell."""
    await notebook.run_all()
    browser = notebook.output(0).locator(".rc-browser")
    await expect(browser.locator(".rc-summary")).to_contain_text("files")
    return browser


async def told(browser: Locator, text: str) -> None:
    await expect(browser.get_by_role("status")).to_have_text(text)


async def in_sandbox(notebook: NotebookPage, path: str) -> str:
    """Return what the kernel reads, as its repr."""
    await notebook.set_source(1, f"print(await sandbox.read_file({path!r}))")
    await notebook.run_cell(1)
    return (await notebook.output(1).inner_text()).strip()


def upload(name: str, content: bytes) -> dict[str, Any]:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


async def bytes_of(download: Download, folder: Path) -> bytes:
    await download.save_as(folder / "saved")
    return (folder / "saved").read_bytes()


@pytest.mark.parametrize("front_end", ["lab", "notebook"])
async def test_uploads_go_into_the_chosen_folder(open_notebook: OpenNotebook, front_end: str) -> None:
    notebook = await open_notebook([SHOW, "0"], front_end=front_end)
    browser = await shown(notebook)
    await item(browser, "deep.txt").click()
    large = bytes(range(256)) * 10_000  # three parts
    files = [upload("one.txt", b"1"), upload("large.bin", large), upload("empty", b"")]
    await browser.locator("input[type=file]").set_input_files(files)
    await told(browser, "Uploaded 3 files into folder/inner.")
    await expect(item(browser, "large.bin, 2.6 MB, new")).to_be_visible()
    await notebook.set_source(
        1, "d = await sandbox.read_file('folder/inner/large.bin'); print(d == bytes(range(256)) * 10_000)"
    )
    await notebook.run_cell(1)
    await expect(notebook.output(1)).to_have_text("True")


async def test_a_name_clash_asks(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW, "0"])
    browser = await shown(notebook)
    question = browser.get_by_role("dialog")
    for choice, expected in (
        ("Skip", b"first"),
        ("Keep both (as a (2).txt)", b"first"),
        ("Replace", b"mine"),
    ):
        await browser.locator("input[type=file]").set_input_files(upload("a.txt", b"mine"))
        await expect(question).to_contain_text("There is a file a.txt already.")
        await button(question, choice).click()
        await expect(question).to_be_hidden()
        await told(
            browser,
            {"Skip": "Uploaded 0 files.", "Replace": "Uploaded a.txt."}.get(choice, "Uploaded a (2).txt."),
        )
        assert await in_sandbox(notebook, "a.txt") == repr(expected)
    assert await in_sandbox(notebook, "a (2).txt") == "b'mine'"


DROP = """(row, files) => {
    const transfer = new DataTransfer();
    for (const [name, text] of files) transfer.items.add(new File([text], name));
    for (const type of ["dragenter", "dragover", "drop"]) {
        row.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
        if (type === "dragover") window.aimed = document.querySelector(".rc-row.rc-target")?.textContent;
    }
}"""


async def test_files_are_dropped_onto_a_folder(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW, "0"])
    browser = await shown(notebook)
    await item(browser, "folder, folder").evaluate(DROP, [["x.txt", "dropped"], ["y.txt", "too"]])
    await told(browser, "Uploaded 2 files into folder.")
    assert "folder" in await notebook.page.evaluate("window.aimed")
    assert await in_sandbox(notebook, "folder/x.txt") == "b'dropped'"
    await expect(notebook.page.locator(".jp-Notebook .jp-Cell")).to_have_count(2)


async def test_everything_and_a_folder_as_zip(open_notebook: OpenNotebook, tmp_path: Path) -> None:
    notebook = await open_notebook([SHOW])
    browser = await shown(notebook)
    async with notebook.page.expect_download() as waiting:
        await button(browser, "Download all").click()
    everything = await waiting.value
    assert everything.suggested_filename == "sandbox.zip"
    with zipfile.ZipFile(io.BytesIO(await bytes_of(everything, tmp_path))) as archive:
        assert sorted(archive.namelist()) == ["a.txt", "folder/inner/deep.txt", "p.png", "table.csv"]
        assert archive.read("a.txt") == b"first"
    await item(browser, "inner, folder").click()
    async with notebook.page.expect_download() as waiting:
        await button(browser, "Download").click()
    assert (await waiting.value).suggested_filename == "inner.zip"


async def test_a_zip_is_extracted_only_when_asked(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW, "0"])
    browser = await shown(notebook)
    good, evil = io.BytesIO(), io.BytesIO()
    for buffer, name in ((good, "in/side.txt"), (evil, "../../evil.txt")):
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(name, "x")
    files = [upload("good.zip", good.getvalue()), upload("evil.zip", evil.getvalue())]
    await browser.locator("input[type=file]").set_input_files(files)
    await told(browser, "Uploaded 2 files.")
    assert await in_sandbox(notebook, "good/in/side.txt") == "None"
    await item(browser, "good.zip").click()
    await button(browser, "Extract").click()
    await told(browser, "Extracted 1 file into good.")
    assert await in_sandbox(notebook, "good/in/side.txt") == "b'x'"
    await item(browser, "evil.zip").click()
    await button(browser, "Extract").click()
    await expect(browser.get_by_role("alert")).to_contain_text("leaves its folder")


@pytest.mark.parametrize("front_end", ["lab", "notebook"])
async def test_new_rename_and_delete_by_keyboard(open_notebook: OpenNotebook, front_end: str) -> None:
    notebook = await open_notebook([SHOW, "0"], front_end=front_end)
    browser = await shown(notebook)
    press, write = notebook.page.keyboard.press, notebook.page.keyboard.type
    cells = notebook.page.locator(".jp-Notebook .jp-Cell")
    await button(browser, "New").click()
    await write("notes/dd.md")  # the letters are shortcuts of the notebook
    await press("Enter")
    await told(browser, "Made notes/dd.md.")
    await expect(browser.locator(":focus")).to_have_accessible_name("dd.md, 0 B, new")
    await press("F2")
    await expect(browser.get_by_role("textbox")).to_have_value("notes/dd.md")
    await write("x")  # the stem is selected
    await press("Enter")
    await told(browser, "Renamed notes/dd.md to notes/x.md.")
    await press("F2")
    await press("Escape")
    await expect(browser.get_by_role("dialog")).to_be_hidden()
    await expect(browser.locator(":focus")).to_have_accessible_name("x.md, 0 B, new")
    await press("Delete")
    await expect(browser.get_by_role("dialog")).to_have_accessible_name(
        "Delete notes/x.md? This cannot be undone."
    )
    await press("Enter")  # the focus is on Cancel
    await expect(item(browser, "x.md")).to_be_visible()
    await press("Delete")
    await press("Shift+Tab")
    await press("Enter")
    await told(browser, "Deleted notes/x.md.")
    await expect(item(browser, "notes, folder")).to_have_count(0)
    await item(browser, "folder, folder").focus()
    await press("Delete")
    await expect(browser.get_by_role("dialog")).to_contain_text("the folder folder and the 1 file in it")
    await button(browser, "Delete").first.click()
    await expect(item(browser, "deep.txt, deleted")).to_be_visible()
    assert await in_sandbox(notebook, "folder/inner/deep.txt") == "None"
    await expect(cells).to_have_count(2)


async def test_a_refusal_is_a_sentence(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW])
    browser = await shown(notebook)
    for name, sentence in (("../x", "Unsafe workspace path"), ("a.txt", "There is 'a.txt' already.")):
        await button(browser, "New").click()
        await browser.get_by_role("textbox").fill(name)
        await button(browser, "Create").click()
        await expect(browser.get_by_role("alert")).to_contain_text(sentence)


async def test_changes_since_the_mark(open_notebook: OpenNotebook) -> None:
    write = "while browser._tasks: await asyncio.sleep(0.01)\n"
    write += "await sandbox.write_file('a.txt', 'second'); await sandbox.remove('table.csv')"
    write += "; await browser.refresh()"
    notebook = await open_notebook([SHOW, write])
    browser = await shown(notebook)
    await item(browser, "a.txt, 6 B, modified").click()
    await button(browser, "Changes").click()
    await expect(browser.locator(".rc-line-removed")).to_have_text("-first")
    await expect(browser.locator(".rc-line-added")).to_have_text("+second")
    await item(browser, "table.csv, deleted").click()
    await expect(browser.locator(".rc-line-removed").first).to_have_text("-id,topic")
    await button(browser, "Mark seen").click()
    await expect(item(browser, "table.csv")).to_have_count(0)
    await expect(item(browser, "a.txt")).to_have_accessible_name("a.txt, 6 B")


async def test_json_folds_and_code_has_colours(open_notebook: OpenNotebook) -> None:
    more = r"""
import json
data = {"list": list(range(100)), "small": {"deep": [1.50, "</script>"]}}
await sandbox.write_file("x.json", json.dumps(data))
await sandbox.write_file("x.py", "def f():  # note\n    return 'text'\n")
await browser.refresh()
"""
    notebook = await open_notebook([SHOW, more])
    browser = await shown(notebook)
    content = browser.locator(".rc-content")
    await item(browser, "x.json").click()
    await expect(content.locator("summary", has_text='"list": [')).to_contain_text("100 lines")
    await expect(content.get_by_text("99", exact=True)).to_have_count(0)
    await content.locator("summary", has_text='"list": [').click()
    await expect(content.get_by_text("99", exact=True)).to_be_visible()
    await expect(content.locator(".rc-string", has_text='"</script>"')).to_be_visible()
    await item(browser, "x.py").click()
    await expect(content.locator(".rc-keyword")).to_have_text(["def", "return"])
    await expect(content.locator(".rc-comment")).to_have_text("# note")
    await expect(content).to_have_text("def f():  # note\n    return 'text'\n")


async def settled(notebook: NotebookPage, text: str) -> None:
    """Wait until the listing in the notebook's output says something."""
    await notebook.page.wait_for_function(
        """(text) => {
            const { cells } = window.jupyterapp.shell.currentWidget.context.model;
            return JSON.stringify(cells.get(0).outputs.toJSON()).includes(text);
        }""",
        arg=text,
    )


@pytest.mark.parametrize("front_end", ["lab", "notebook"])
async def test_a_notebook_without_its_kernel_shows_the_last_listing(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    notebook = await open_notebook([SHOW, WRITE], front_end=front_end)
    await notebook.run_all()
    await settled(notebook, "new/report.md")
    await expect(notebook.output(0).locator(".rc-browser .rc-content")).to_have_text("# Report")
    saved = await notebook.save()
    assert [set(output.data) for output in saved.cells[0].outputs] == [{"text/html", "text/plain"}]
    await notebook.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    await notebook.page.close()
    reopened = await open_notebook(saved, front_end=front_end)
    listing = reopened.output(0)
    await expect(listing.get_by_text("new/report.md")).to_be_visible()
    await expect(listing).to_contain_text("virtual sandbox, 5 files")
    await expect(listing.locator(".rc-browser")).to_have_count(0)
    await expect(reopened.page.get_by_text("Error displaying widget")).to_have_count(0)
    page, _ = HTMLExporter().from_notebook_node(saved)
    assert "<code>new/report.md</code>" in page
    assert "widget-view" not in page


async def test_saving_brings_the_listing_up_to_date_without_taking_the_focus(
    open_notebook: OpenNotebook,
) -> None:
    notebook = await open_notebook([SHOW])
    browser = await shown(notebook)
    await button(browser, "New").click()
    await notebook.page.keyboard.type("made.txt")
    await notebook.page.keyboard.press("Enter")
    await told(browser, "Made made.txt.")
    await browser.get_by_role("treeitem", name="made.txt").press("F2")
    await notebook.page.wait_for_timeout(3_000)  # longer than the rest that a listing waits for
    assert "made.txt" in (await notebook.save()).cells[0].outputs[0].data["text/plain"]
    await notebook.page.keyboard.type("x")
    await expect(browser.get_by_role("textbox")).to_have_value("x.txt")


async def test_a_reloaded_page_has_its_browser_again(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW, WRITE])
    await notebook.run_all()
    await notebook.save()
    await notebook.page.reload()
    browser = notebook.output(0).locator(".rc-browser")
    await item(browser, "a.txt").click()
    await expect(browser.locator(".rc-content")).to_have_text("first")


@pytest.mark.parametrize("ending", ["session.kernel.restart()", "shutdown()"])
async def test_a_kernel_that_ends_is_told(open_notebook: OpenNotebook, ending: str) -> None:
    notebook = await open_notebook([SHOW])
    browser = await shown(notebook)
    await item(browser, "a.txt").click()
    await expect(browser.locator(".rc-content")).to_have_text("first")
    await notebook.page.evaluate(f"window.jupyterapp.shell.currentWidget.sessionContext.{ending}")
    await expect(browser.get_by_role("status")).to_contain_text("The kernel has ended.")
    await expect(button(browser, "Upload")).to_be_disabled()
    await expect(browser.locator(".rc-content")).to_have_text("first")
    await item(browser, "folder, folder").press("ArrowLeft")
    await expect(item(browser, "deep.txt")).to_have_count(0)


async def test_a_closed_browser_leaves_its_listing(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW, "browser.close()"])
    await notebook.run_all()
    await expect(notebook.output(0).locator(".rc-browser")).to_have_count(0)
    await expect(notebook.output(0).get_by_text("folder/inner/deep.txt")).to_be_visible()


async def test_a_browser_in_a_box_of_widgets(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW, "import ipywidgets\nipywidgets.VBox([browser])"])
    await notebook.run_all()
    boxed = notebook.output(1).locator(".rc-browser")
    await item(boxed, "a.txt").click()
    await expect(boxed.locator(".rc-content")).to_have_text("first")


HOSTILE = r"""
import asyncio, json
from IPython.display import display
from runcell_nb.notebook.file_browser import FileBrowser
from tests.notebook import samples
bad = "<img src=x onerror='window.hit=1'>"
svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.hit=1'><script>window.hit=1</script></svg>"
formula = f'=HYPERLINK("http://127.0.0.1:9/x"),"{bad}"\n=cmd|calc,@SUM(1)\n'
files = {
    f"{bad}.md": samples.HOSTILE.encode(), "\u202egnp.exe": b"x", "line\nbreak": b"x", "\x1b[31mred": b"x",
    "n" * 3_000: b"x", "<b>/</b>/x.html": b"<script>window.hit=1</script>", "a.svg": svg, "liar.png": svg,
    "gif.gif": b"GIF89a<script>window.hit=1</script>", "f.csv": formula.encode(), "line.txt": b"x" * 900_000,
    "bomb.json": b"[" * 400 + b"]" * 400, "many.json": json.dumps([[1]] * 30_000).encode(),
    "h.html": b"<script>window.hit=1</script><img src='http://127.0.0.1:9/pixel.png'>",
    "tex.txt": b"$\\href{javascript:window.hit=1}{x}$ $$x$$",
    "x.js": b'"' * 50_000, "y.py": b'"' * 90_001,
    "__proto__": b"p", "constructor/toString": b"q",
}
sandbox = samples.dict_sandbox(dict(files))
browser = FileBrowser(sandbox, await sandbox.list_files())
display(browser)
while browser._tasks:
    await asyncio.sleep(0.01)
for path in files:
    await sandbox.write_file(path, files[path] + b" ")
await browser.refresh()
"""

pytestmark = pytest.mark.slow


async def test_hostile_names_and_contents_do_nothing(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([HOSTILE])
    browser = await shown(notebook)
    page = notebook.page
    await expect(browser.locator(".rc-summary")).to_contain_text("19 modified")
    opened = 0
    await browser.get_by_role("treeitem").first.focus()
    for _ in range(30):
        await page.keyboard.press("Enter")
        if await browser.locator(":focus").get_attribute("aria-expanded") is None:
            opened += 1
            await expect(browser.locator(".rc-content > *").first).to_be_attached()
            for name in ("Content", "Changes"):
                await button(browser, name).click()
                await page.wait_for_timeout(60)
            await browser.get_by_role("treeitem", selected=True).focus()
        await page.keyboard.press("ArrowDown")
    assert opened >= 19
    await page.evaluate("document.activeElement.blur()")
    await settled(notebook, "modified")
    assert await page.evaluate("window.hit") is None
    own = page.url.split("/", 3)[2]
    sent = [request.url for request in notebook.requests if not request.url.startswith(("data:", "blob:"))]
    assert [url for url in sent if url.split("/", 3)[2] != own or url.endswith(("/x", "pixel.png"))] == []
    inside = notebook.output(0)
    assert (
        await inside.locator(":is(script, svg[onload], img[onerror], iframe, a, mjx-container)").count() == 0
    )
    names = await browser.get_by_role("treeitem").all_inner_texts()
    assert not set("".join(names)) & set("\u202e\x1b")
    assert await browser.evaluate("(el) => el.scrollWidth <= el.clientWidth + 1")


async def test_a_hostile_name_is_renamed_and_deleted_like_any(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([HOSTILE])
    browser = await shown(notebook)
    await item(browser, "<img src=x").press("F2")
    await browser.get_by_role("textbox").fill("tame.md")
    await notebook.page.keyboard.press("Enter")
    await told(browser, "Renamed <img src=x onerror='window.hit=1'>.md to tame.md.")
    await item(browser, "\\u001b[31mred").press("Delete")
    await expect(browser.get_by_role("dialog")).to_contain_text("Delete \\u001b[31mred?")
    await button(browser.get_by_role("dialog"), "Delete").click()
    await expect(browser.get_by_role("status")).to_contain_text("Deleted")
    assert await notebook.page.evaluate("window.hit") is None
