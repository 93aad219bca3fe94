"""The thread browser in a real browser."""

from __future__ import annotations

import pytest
from nbconvert import HTMLExporter
from playwright.async_api import Locator, expect

from .conftest import NotebookPage, OpenNotebook
from .test_untrusted_in_browser import assert_harmless

SETUP = """%load_ext runcell_nb
from runcell_nb import ScriptedModel
model = ScriptedModel(["An **answer** with `code`", "Second answer", "Third answer"])"""
CELLS = [
    SETUP,
    *(
        f"%%runcell -m model --quiet\n{prompt}"
        for prompt in ("first prompt", "second prompt", "third prompt")
    ),
    "%runcell thread show",
]
NAMES = (
    "b = get_ipython().magics_manager.registry['RuncellMagics'].session.book\nprint(b.active.name, b.names)"
)


async def shown(open_notebook: OpenNotebook, *more: str, **options: str) -> tuple[NotebookPage, Locator]:
    notebook = await open_notebook([*CELLS, *more], **options)
    await notebook.run_all()
    return notebook, notebook.output(4).locator(".rc-threads")


def thread(browser: Locator, name: str) -> Locator:
    return browser.get_by_role("option").filter(has=browser.page.locator("bdi").get_by_text(name, exact=True))


def button(browser: Locator, name: str) -> Locator:
    return browser.get_by_role("button", name=name, exact=True)


@pytest.mark.parametrize("front_end", ["lab", "notebook"])
async def test_turns_and_a_fork_by_button(open_notebook: OpenNotebook, front_end: str) -> None:
    notebook, browser = await shown(open_notebook, "1", front_end=front_end)
    await expect(browser.get_by_role("group")).to_have_count(3)
    first = browser.get_by_role("group", name="Turn 1")
    await expect(first.locator(".rc-prompt")).to_have_text("first prompt")
    await expect(first.locator(".rc-text strong")).to_have_text("answer")
    await button(browser, "Fork here after turn 2").click()
    await expect(browser.get_by_role("status")).to_contain_text("is a copy of the first 2 turns of 'main'")
    await expect(thread(browser, "main fork 1")).to_have_attribute("aria-selected", "true")
    await expect(browser.get_by_role("group")).to_have_count(2)
    await button(browser, "Switch to it").click()
    await expect(thread(browser, "main fork 1")).to_contain_text("active")
    await notebook.set_source(5, NAMES)
    await notebook.run_cell(5)
    await expect(notebook.output(5)).to_contain_text("main fork 1 ['main', 'main fork 1']")
    await notebook.set_source(5, "%%runcell -m model --quiet\nfourth prompt")
    await notebook.set_source(0, "model = ScriptedModel(['Fourth answer'])")
    await notebook.run_cell(0)
    await notebook.run_cell(5)
    await button(browser, "Refresh").click()
    await expect(browser.get_by_role("group", name="Turn 3")).to_contain_text("Fourth answer")


async def test_rewind_rename_and_delete_by_keyboard(open_notebook: OpenNotebook) -> None:
    notebook, browser = await shown(open_notebook)
    press = notebook.page.keyboard.press
    await button(browser, "Rewind to here after turn 1").focus()
    await press("Enter")
    await expect(browser.get_by_role("dialog")).to_contain_text("The files are not taken back.")
    await press("Enter")
    await expect(browser.get_by_role("status")).to_contain_text("they were not taken back")
    await expect(browser.get_by_role("group")).to_have_count(1)
    await expect(browser.locator(".rc-point")).to_have_text(
        "Fork point: main fork 1 goes on with 2 turns of its own."
    )
    await browser.get_by_role("listbox").focus()
    await press("End")
    await expect(browser.get_by_role("group")).to_have_count(3)
    await press("F2")
    await notebook.page.keyboard.type("main")
    await press("Enter")
    await expect(browser.get_by_role("alert")).to_contain_text("has a thread 'main' already")
    await press("F2")
    await notebook.page.keyboard.type("kept")
    await press("Enter")
    await expect(thread(browser, "kept")).to_have_attribute("aria-selected", "true")
    await expect(browser.get_by_role("listbox")).to_be_focused()
    await press("Delete")
    await press("Shift+Tab")
    await press("Enter")
    await expect(browser.get_by_role("status")).to_have_text("Thread 'kept' is gone.")
    await expect(browser.get_by_role("option")).to_have_count(1)
    await button(browser, "Delete").click()
    await browser.locator(".rc-danger").click()
    await expect(browser.get_by_role("alert")).to_contain_text("Thread 'main' is the active one")
    assert await notebook.page.locator(".jp-Cell").count() == 5  # no shortcut of the page was meant


HOSTILE = """
from IPython.display import display
from runcell_nb import Thread
from runcell_nb.notebook.thread_browser import ThreadBrowser
from runcell_nb.notebook.turns import NotebookThread, ThreadBook, Turn
from tests.notebook.samples import HOSTILE
name = "<img src=x onerror=window.hit=1>"
talk = Thread(HOSTILE)
for _ in range(2):
    talk.record(HOSTILE, HOSTILE, [], data={HOSTILE: HOSTILE}, has_data=True)
turns = [Turn("c%d" % n, HOSTILE, HOSTILE, n * 2, None, None, None, 1, HOSTILE) for n in range(2)]
book = ThreadBook([NotebookThread(name, talk, turns)])
book.fork("<svg onload=window.hit=1>")
browser = ThreadBrowser(book)
display(browser)
display(browser.static_bundle(), raw=True)
display(ThreadBrowser([talk]))
"""

pytestmark = pytest.mark.slow


async def test_hostile_names_and_texts_do_nothing(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([HOSTILE])
    await notebook.run_all()
    browser = notebook.output(0).locator(".rc-threads").first
    await expect(browser.locator(".rc-text").first).to_contain_text("<script>window.hit = 1</script>")
    await expect(browser.locator(".rc-prompt").first).to_contain_text("<script>window.hit = 1</script>")
    await thread(browser, "<svg onload=window.hit=1>").click()
    await expect(browser.locator(".rc-chosen bdi")).to_have_text("<svg onload=window.hit=1>")
    await button(browser, "Rewind to here after turn 1").click()
    await button(browser.get_by_role("dialog"), "Rewind").click()
    await expect(browser.get_by_role("status")).to_contain_text("is back at 1 turn")
    await assert_harmless(notebook)


async def test_a_notebook_without_its_kernel_shows_the_threads(open_notebook: OpenNotebook) -> None:
    notebook, browser = await shown(open_notebook)
    await button(browser, "Fork here after turn 1").click()
    await expect(browser.get_by_role("status")).to_contain_text("is a copy of")
    await browser.get_by_role("listbox").blur()
    await notebook.page.mouse.click(2, 2)
    await notebook.page.wait_for_function(
        """() => {
            const { cells } = window.jupyterapp.shell.currentWidget.context.model;
            return JSON.stringify(cells.get(4).outputs.toJSON()).includes("main fork 1");
        }"""
    )
    await notebook.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    await expect(browser.get_by_role("status")).to_contain_text("The kernel has ended.")
    await expect(button(browser, "Fork")).to_be_disabled()
    saved = await notebook.save()
    await notebook.page.close()
    assert [set(output.data) for output in saved.cells[4].outputs] == [{"text/html", "text/plain"}]
    reopened = await open_notebook(saved)
    await expect(reopened.output(4)).to_contain_text("first prompt")
    await expect(reopened.output(4)).to_contain_text("main fork 1")
    await expect(reopened.output(4).locator(".rc-threads")).to_have_count(0)
    await expect(reopened.page.get_by_text("Error displaying widget")).to_have_count(0)
    page, _ = HTMLExporter().from_notebook_node(saved)
    assert "main fork 1" in page
    assert "widget-view" not in page


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_colours_are_those_of_the_page(open_notebook: OpenNotebook, theme: str) -> None:
    notebook, browser = await shown(open_notebook)
    await notebook.theme(theme)
    paper, ink = await browser.evaluate(
        """(el) => ["background-color", "color"].map((name) => {
            const probe = getComputedStyle(el).getPropertyValue(name);
            return probe.match(/[0-9.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
        })"""
    )
    assert (paper < ink) == (theme == "dark")
