"""What a person without a mouse or without sight gets: names, a focus that is seen, no chatter."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page, expect

from .conftest import OpenNotebook
from .test_file_browser_in_browser import SHOW as SHOW_FILES
from .test_run_view_in_browser import SHOW as SHOW_RUN
from .test_thread_browser_in_browser import CELLS as SHOW_THREADS

pytestmark = pytest.mark.slow

RUN = SHOW_RUN + "for event in samples.report_run() + [samples.text('```py\\nx = 1\\n```')]: view.feed(event)"
ACTIVE = "window.jupyterapp.shell.currentWidget.content.activeCellIndex"
WIDGETS = pytest.mark.parametrize(
    ("cells", "place"),
    [([RUN], ".rc-run"), ([SHOW_FILES], ".rc-browser"), (SHOW_THREADS, ".rc-threads")],
    ids=["run", "files", "threads"],
)


async def accessible_nodes(page: Page, selector: str) -> list[dict[str, Any]]:
    """What Chromium tells a screen reader of a part of the page."""
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("Accessibility.enable")
    document = await devtools.send("DOM.getDocument")
    found = await devtools.send(
        "DOM.querySelector", {"nodeId": document["root"]["nodeId"], "selector": selector}
    )
    tree = await devtools.send("Accessibility.queryAXTree", {"nodeId": found["nodeId"]})
    return [node for node in tree["nodes"] if not node["ignored"]]


def role_of(node: dict[str, Any]) -> str:
    return str(node["role"]["value"])


def name_of(node: dict[str, Any]) -> str:
    return str(node.get("name", {}).get("value", "")).strip()


def takes_focus(node: dict[str, Any]) -> bool:
    return any(entry["name"] == "focusable" for entry in node.get("properties", ()))


@WIDGETS
async def test_whatever_takes_the_focus_has_a_name(
    open_notebook: OpenNotebook, cells: list[str], place: str
) -> None:
    notebook = await open_notebook(cells)
    await notebook.run_all()
    await expect(notebook.page.locator(place).first).to_be_visible()
    nodes = await accessible_nodes(notebook.page, place)
    focusable = [node for node in nodes if takes_focus(node)]
    assert len([node for node in nodes if role_of(node) == "button"]) > 0
    assert [role_of(node) for node in focusable if not name_of(node)] == []
    assert "generic" not in {role_of(node) for node in focusable}


SEEN = """() => {
    const { activeElement } = document;
    const style = getComputedStyle(activeElement);
    const ours = Boolean(activeElement.closest('.rc-run, .rc-browser'));
    const seen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
    return [ours, seen, activeElement.outerHTML.slice(0, 80)];
}"""


@WIDGETS
async def test_the_focus_can_be_seen_at_every_stop(
    open_notebook: OpenNotebook, cells: list[str], place: str
) -> None:
    notebook = await open_notebook(cells)
    await notebook.run_all()
    widget = notebook.page.locator(place).first
    await widget.get_by_role("button").first.focus()
    stops = []
    for _ in range(40):
        await notebook.page.keyboard.press("Tab")
        ours, seen, element = await notebook.page.evaluate(SEEN)
        if not ours:
            break
        stops.append((seen, element))
    assert len(stops) > 2
    assert [element for seen, element in stops if not seen] == []


CHATTER = """
for n in range(300):
    name = ("bash", "read", "write")[n % 3]
    view.feed(samples.call(f"c{n}", name, command=f"echo {n}"))
    await asyncio.sleep(0.004)
    view.feed(samples.result(f"c{n}", name, "ok"))
view.finish("done")
"""
COUNT_NEWS = """() => {
    window.news = [];
    new MutationObserver(() => {
        for (const { textContent } of document.querySelectorAll('.rc-run :is([role=status], [role=alert])'))
            if (textContent && !window.news.includes(textContent)) window.news.push(textContent);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


async def test_a_screen_reader_is_not_told_every_step(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW_RUN + CHATTER])
    await notebook.page.evaluate(COUNT_NEWS)
    await notebook.run_all()
    await expect(notebook.output(0).locator(".rc-run")).to_have_attribute("data-state", "done")
    first, *between, last = await notebook.page.evaluate("window.news")
    assert first == "Run started."
    assert len(between) <= 2
    assert last.startswith("Run done in")


@pytest.mark.parametrize("front_end", ["lab", "notebook"])
async def test_keys_that_move_in_a_run_do_not_move_the_cells(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    source = "for n in range(100): view.feed(samples.text(f'line {n}\\n\\n'))"
    notebook = await open_notebook([SHOW_RUN + source, "1", "2"], front_end=front_end)
    await notebook.run_all()
    await notebook.page.evaluate(f"{ACTIVE} = 0")
    steps = notebook.output(0).get_by_role("log", name="Steps of the run")
    await steps.focus()
    before = await steps.evaluate("log => log.scrollTop")
    await notebook.page.keyboard.press("ArrowUp")
    await notebook.page.keyboard.press("PageUp")
    await notebook.page.wait_for_function(
        "([log, top]) => log.scrollTop < top - 100", arg=[await steps.element_handle(), before]
    )
    await notebook.page.keyboard.press("ArrowDown")
    await notebook.page.keyboard.press("ArrowDown")
    assert await notebook.page.evaluate(ACTIVE) == 0
    assert await steps.evaluate("log => log === document.activeElement")
    await notebook.page.keyboard.press("j")
    assert await notebook.page.evaluate(ACTIVE) == 1


@pytest.mark.parametrize("front_end", ["lab", "notebook"])
async def test_keys_in_the_file_tree_are_none_of_the_notebook(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    notebook = await open_notebook([SHOW_FILES, "1", "2"], front_end=front_end)
    await notebook.run_all()
    await notebook.page.evaluate(f"{ACTIVE} = 0")
    tree = notebook.output(0).get_by_role("tree")
    await tree.get_by_role("treeitem").first.focus()
    for key in ("ArrowDown", "ArrowDown", "x", "d", "d", "j"):
        await notebook.page.keyboard.press(key)
    assert await notebook.page.evaluate(ACTIVE) == 0
    assert await notebook.page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length") == 3
    assert await tree.evaluate("tree => tree.contains(document.activeElement)")
