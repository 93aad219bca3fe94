"""The file browser in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from .conftest import OpenNotebook

SHOW = """
import asyncio
from IPython.display import display
from runcell_nb.notebook.file_browser import FileBrowser
from tests.notebook import samples
table = "id,topic\\n" + "\\n".join(f"{n},topic {n}" for n in range(500))
files = {"a.txt": b"first", "table.csv": table.encode(), "folder/inner/deep.txt": b"deep"}
files["p.png"] = samples.PNG
sandbox = samples.dict_sandbox(files)
browser = FileBrowser(sandbox)
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
        await browser.get_by_role("button", name="Download").click()
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
