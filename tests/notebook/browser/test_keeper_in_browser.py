"""The notebook's metadata as the place of the threads: kept, read back, never at the cost of the file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.async_api import Browser, Page, Route, expect

from .conftest import KERNEL_IS_IDLE, SECONDS, NotebookPage, OpenNotebook, kept

FRONT_ENDS = pytest.mark.parametrize("front_end", ["lab", "notebook"])

MAKE = "from runcell_nb.notebook.keeper import MetadataKeeper\nkeeper = MetadataKeeper()"
KEEP = "n = globals().get('n', 0) + 1\nkeeper.keep({'version': 1, 'n': n})"
ASK = "found = await keeper.ask(20)\nprint('found', found and found.get('n'))"
OTHERS_TURN = 4000 + 2000
"""Milliseconds after which a client that did not run the cell would have written."""

METADATA = "() => window.jupyterapp.shell.currentWidget.context.model.getMetadata('runcell') ?? null"
IS_DIRTY = "() => window.jupyterapp.shell.currentWidget.context.model.dirty"


async def on_disk(path: Path, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait until the file holds what is wanted."""
    for _ in range(600):
        if wanted(found := kept(path)):
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"never kept; the file holds {str(kept(path))[:200]}")


async def number(path: Path, n: int) -> dict[str, Any]:
    """Wait until the n-th state is in the file."""
    return await on_disk(path, lambda found: found.get("n") == n)


async def reload(page: Page) -> None:
    await page.reload()
    await page.wait_for_function(KERNEL_IS_IDLE, timeout=60 * SECONDS)


async def no_dialog(page: Page) -> None:
    await expect(page.locator(".jp-Dialog")).to_have_text([])


@FRONT_ENDS
async def test_a_state_is_saved_and_found_after_a_reload(open_notebook: OpenNotebook, front_end: str) -> None:
    notebook = await open_notebook([MAKE, KEEP, ASK], front_end=front_end)
    page = notebook.page
    await notebook.run_cell(0)
    await notebook.run_cell(2)
    await expect(notebook.output(2)).to_have_text("found None")
    await notebook.run_cell(1)
    first = await number(notebook.path, 1)
    await page.wait_for_function(f"!({IS_DIRTY})()")
    await reload(page)
    await notebook.run_cell(2)
    await expect(notebook.output(2)).to_have_text("found 1")
    await notebook.run_cell(1)
    second = await number(notebook.path, 2)
    assert second["revision"] > first["revision"]
    await no_dialog(page)


@FRONT_ENDS
async def test_a_state_outlives_the_kernel(open_notebook: OpenNotebook, front_end: str) -> None:
    notebook = await open_notebook([MAKE, KEEP, ASK], front_end=front_end)
    await notebook.run_cell(0)
    await notebook.run_cell(1)
    first = await number(notebook.path, 1)
    await notebook.page.evaluate(
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
    )
    await notebook.page.wait_for_function(KERNEL_IS_IDLE)
    await notebook.run_cell(0)
    await notebook.run_cell(2)
    await expect(notebook.output(2)).to_have_text("found 1")
    await notebook.set_source(1, "keeper.keep({'version': 1, 'n': 2})")
    await notebook.run_cell(1)
    assert (await number(notebook.path, 2))["revision"] > first["revision"]


WHEN_TOLD = f"""
import asyncio, pathlib
while not pathlib.Path('go').exists():
    await asyncio.sleep(0.1)
{KEEP}"""


@contextmanager
def told(notebook: NotebookPage) -> Iterator[None]:
    """Let the waiting cell go on."""
    go = notebook.path.with_name("go")
    go.touch()
    try:
        yield
    finally:
        go.unlink()


async def test_a_run_that_outlives_its_page_is_kept_by_the_next_one(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([MAKE, WHEN_TOLD])
    await notebook.run_cell(0)
    await notebook.start_cell(1)
    await notebook.page.reload()
    await notebook.page.wait_for_selector(".jp-Notebook")
    with told(notebook):
        await number(notebook.path, 1)
    await no_dialog(notebook.page)


async def test_of_two_tabs_the_one_that_ran_the_cell_writes(
    open_notebook: OpenNotebook, browser: Browser
) -> None:
    notebook = await open_notebook([MAKE, KEEP, ASK])
    other = await browser.new_page()
    try:
        await other.goto(notebook.page.url.removesuffix("?reset") + "?reset")
        await other.wait_for_function(KERNEL_IS_IDLE, timeout=60 * SECONDS)
        await notebook.run_cell(0)
        await notebook.run_cell(1)
        await number(notebook.path, 1)
        await other.wait_for_timeout(OTHERS_TURN)
        assert await other.evaluate(METADATA) is None
        await no_dialog(other)
        await notebook.run_cell(2)
        await expect(notebook.output(2)).to_have_text("found 1")
    finally:
        await other.close()


async def test_a_renamed_notebook_is_written_under_its_new_name(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([MAKE, KEEP])
    new = notebook.path.with_name("renamed.ipynb")
    await notebook.run_cell(0)
    await notebook.run_cell(1)
    await number(notebook.path, 1)
    await notebook.page.evaluate("window.jupyterapp.shell.currentWidget.context.rename('renamed.ipynb')")
    await notebook.run_cell(1)
    await number(new, 2)
    assert not notebook.path.exists()


async def test_another_notebook_on_the_same_kernel_is_left_alone(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([MAKE, WHEN_TOLD])
    guest = await open_notebook(["print(keeper.state['n'], keeper.writer)"])
    await notebook.run_cell(0)
    kernel = await notebook.page.evaluate(
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.id"
    )
    await guest.page.evaluate(
        "(id) => window.jupyterapp.shell.currentWidget.sessionContext.changeKernel({ id })", kernel
    )
    await notebook.start_cell(1)
    client = await notebook.page.evaluate(
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.clientId"
    )
    await notebook.page.close()
    with told(notebook):
        await guest.run_cell(0)
    await expect(guest.output(0)).to_have_text(f"1 {client}")
    await guest.page.wait_for_timeout(OTHERS_TURN)
    assert await guest.page.evaluate(METADATA) is None


async def test_an_older_state_of_the_kernel_never_replaces_a_newer_one(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([MAKE, KEEP, ASK])
    await notebook.run_cell(0)
    await notebook.run_cell(1)
    first = await number(notebook.path, 1)
    newer = {"version": 1, "n": 7, "revision": first["revision"] + 1}
    await notebook.page.evaluate(
        """async (newer) => {
            const { context } = window.jupyterapp.shell.currentWidget;
            context.model.setMetadata('runcell', newer);
            await context.save();
        }""",
        newer,
    )
    await reload(notebook.page)
    await notebook.run_cell(2)
    await expect(notebook.output(2)).to_have_text("found 7")
    await notebook.page.wait_for_timeout(OTHERS_TURN)
    assert await notebook.page.evaluate(METADATA) == newer == kept(notebook.path)


@FRONT_ENDS
async def test_metadata_that_the_kernel_has_not_seen_are_told_to_it_not_replaced(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    make = "from runcell_nb.notebook.keeper import MetadataKeeper\nheld = []\n"
    cells = [
        make + "keeper = MetadataKeeper(held.append)",
        KEEP,
        "print('held', [state['n'] for state in held])",
        "keeper.saw(held[0])\nkeeper.keep({'version': 1, 'n': 5})",
    ]
    notebook = await open_notebook(cells, front_end=front_end)
    await notebook.run_cell(0)
    others = {"version": 1, "n": 9, "revision": 2**53 - 1}  # of another kernel, and higher than any
    await notebook.page.evaluate(
        "(value) => window.jupyterapp.shell.currentWidget.context.model.setMetadata('runcell', value)", others
    )
    for _ in range(2):
        await notebook.run_cell(1)
    await notebook.run_cell(2)
    await expect(notebook.output(2)).to_have_text("held [9]")
    assert await notebook.page.evaluate(METADATA) == others
    await notebook.run_cell(3)
    await number(notebook.path, 5)
    await notebook.run_cell(1)
    await number(notebook.path, 3)
    await no_dialog(notebook.page)


@FRONT_ENDS
async def test_a_command_in_a_kernel_that_found_no_file_loses_no_thread(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    cells = [
        "import os\nos.environ.pop('JPY_SESSION_NAME', None)\n"
        "%load_ext runcell_nb\n%config Runcell.model = 'local/demo'",
        "%%runcell\nCreate a.txt with the text: one",
        "%runcell thread new other",
    ]
    notebook = await open_notebook(cells, front_end=front_end)
    await notebook.run_cell(0)
    await notebook.run_cell(1)
    first = await on_disk(notebook.path, lambda found: "main" in found.get("threads", {}))
    await notebook.restart()
    await notebook.run_cell(0)
    await notebook.run_cell(2)
    then = await on_disk(notebook.path, lambda found: "other" in found.get("threads", {}))
    assert then["threads"]["main"]["messages"] == first["threads"]["main"]["messages"]
    assert then["activeThread"] == "other"
    assert then["sandboxes"]["main"]["files"] == first["sandboxes"]["main"]["files"] is not None
    await no_dialog(notebook.page)


async def test_many_states_and_a_save_of_the_user_never_conflict(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([MAKE, *[KEEP] * 20])
    page = notebook.page
    saves: list[str] = []
    page.on("request", lambda sent: saves.append(sent.url) if sent.method == "PUT" else None)
    await notebook.run_all(wait=False)
    await page.wait_for_function(f"({METADATA})()?.n > 3")
    await page.evaluate("void window.jupyterapp.shell.currentWidget.context.save()")
    await number(notebook.path, 20)
    await no_dialog(page)
    assert len([url for url in saves if "contents" in url]) <= 21


async def test_a_notebook_that_cannot_be_saved_still_holds_the_state(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([MAKE, KEEP, ASK])

    async def read_only(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, json={**await answer.json(), "writable": False})

    await notebook.page.route("**/api/contents/*.ipynb?*", read_only)
    await reload(notebook.page)
    for cell in range(3):
        await notebook.run_cell(cell)
    await expect(notebook.output(2)).to_have_text("found 1")
    await no_dialog(notebook.page)
    assert kept(notebook.path) == {}


BIG = """
import os, random
def state(n):
    return {'version': 1, 'n': n, 'text': random.Random(n).randbytes(1_000_000).hex()}
"""
KILL = {
    "kernel": "keeper.keep(state(2)); os.kill(os.getpid(), 9)",
    "browser": "keeper.keep(state(2))",
}

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("killed", list(KILL))
@pytest.mark.parametrize("milliseconds", [0, 30, 100])
async def test_a_kill_in_mid_save_leaves_a_whole_file(
    open_notebook: OpenNotebook, killed: str, milliseconds: int
) -> None:
    notebook = await open_notebook([MAKE + BIG, "keeper.keep(state(1))", KILL[killed]])
    await notebook.run_cell(0)
    await notebook.run_cell(1)
    await number(notebook.path, 1)
    await notebook.start_cell(2)
    await notebook.page.wait_for_timeout(milliseconds)
    if killed == "browser":
        await notebook.page.close()
    await asyncio.sleep(2)
    saved = nbformat.read(notebook.path, as_version=4)
    nbformat.validate(saved)
    assert len(saved.cells) == 3
    assert saved.metadata.runcell.n in (1, 2)
    assert len(saved.metadata.runcell.text) == 2_000_000
