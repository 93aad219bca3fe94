"""Whole sessions, as people have them: tabs, copies, renames, reloads, kills; every told turn stays."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from contextlib import suppress
from pathlib import Path

import nbformat
import pytest
from playwright.async_api import Page, expect

from .conftest import (
    NotebookPage,
    OpenFile,
    OpenNotebook,
    kept,
    kept_messages,
    new_notebook,
)

pytestmark = pytest.mark.slow

FRONT_ENDS = pytest.mark.parametrize("front_end", ["lab", "notebook"])

SETUP = """%load_ext runcell_nb
%config Runcell.model = "local/demo\""""
FIRST = "%%runcell\nCreate a.txt with the text: one"
SECOND = "%%runcell\nAppend two to a.txt"
THIRD = "%%runcell\nAppend three to a.txt"
TELL = """session = get_ipython().magics_manager.registry['RuncellMagics'].session
shown = await (await session.sandbox()).exec('cat a.txt')
print('told', len(session.thread.messages), sorted(session.book.names), shown.stdout.split())"""

DIALOGS = """() => {
    window.dialogsSeen = 0;
    new MutationObserver((changes) => {
        for (const { addedNodes } of changes)
            for (const node of addedNodes)
                if (node.classList?.contains('jp-Dialog')) window.dialogsSeen += 1;
    }).observe(document.body, { childList: true });
}"""


async def watch_dialogs(page: Page) -> None:
    """Count every dialog that comes up, also after a reload."""
    await page.add_init_script(f"document.addEventListener('DOMContentLoaded', {DIALOGS})")
    await page.evaluate(DIALOGS)


async def dialogs(page: Page) -> int:
    """How many dialogs came up since the page was loaded."""
    count: int = await page.evaluate("window.dialogsSeen")
    return count


async def told(notebook: NotebookPage, cell: int) -> str:
    """What the kernel knows, by running the cell that tells it."""
    await notebook.set_source(cell, TELL)
    await notebook.run_cell(cell)
    return await notebook.output(cell).inner_text()


@FRONT_ENDS
async def test_two_tabs_that_are_reloaded_before_they_run(
    open_notebook: OpenNotebook, open_file: OpenFile, front_end: str
) -> None:
    one = await open_notebook([SETUP, FIRST, SECOND, THIRD, TELL], front_end=front_end)
    two = await open_file(one.path, front_end=front_end)
    for tab in (one, two):
        await watch_dialogs(tab.page)
    await one.run_cell(0)
    await one.run_cell(1)
    await kept_messages(one.path, 2)
    await two.reload()
    await two.run_cell(2)
    await kept_messages(one.path, 4)
    await one.reload()
    await one.run_cell(3)
    await kept_messages(one.path, 6)
    assert "told 6 ['main'] ['one', 'two', 'three']" in await told(one, 4)
    saved = nbformat.read(one.path, as_version=4)
    assert all(saved.cells[cell].outputs for cell in (1, 2, 3))
    assert await dialogs(one.page) == await dialogs(two.page) == 0


@pytest.mark.parametrize(
    ("choice", "front_end"),
    [("Overwrite", "lab"), ("Revert", "lab"), ("Revert", "notebook"), ("Cancel", "lab")],
)
async def test_a_tab_with_an_old_copy_loses_no_turn_whatever_is_chosen(
    open_notebook: OpenNotebook, open_file: OpenFile, choice: str, front_end: str
) -> None:
    one = await open_notebook([SETUP, FIRST, SECOND, THIRD], front_end=front_end)
    two = await open_file(one.path, front_end=front_end)
    for tab in (one, two):
        await watch_dialogs(tab.page)
    await one.run_cell(0)
    await one.run_cell(1)
    await kept_messages(one.path, 2)
    await two.run_cell(2)  # its copy is from before the first turn, so the front end asks
    question = two.page.locator(".jp-Dialog")
    await expect(question).to_contain_text("File Changed")
    await question.get_by_role("button", name=choice).click()
    await question.wait_for(state="detached")
    if choice == "Cancel":
        await kept_messages(one.path, 2)
        await one.run_cell(3)
        await kept_messages(one.path, 6)
    else:
        await kept_messages(one.path, 4)
        await two.run_cell(3)
        await kept_messages(one.path, 6)
    assert await dialogs(one.page) == 0
    assert await dialogs(two.page) == 1


async def test_renamed_run_again_and_restarted(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SETUP, FIRST, SECOND, TELL])
    await watch_dialogs(notebook.page)
    await notebook.run_all()
    await kept_messages(notebook.path, 4)
    new = notebook.path.with_name("renamed-session.ipynb")
    await notebook.page.evaluate(
        "(name) => window.jupyterapp.shell.currentWidget.context.rename(name)", new.name
    )
    await notebook.run_cell(2)
    assert "told 4 ['main'] ['one', 'two']" in await told(notebook, 3)
    await notebook.restart()
    await notebook.set_source(3, THIRD)
    await notebook.run_cell(0)
    await notebook.run_cell(3)
    messages = await kept_messages(new, 6)
    assert messages[4].startswith("Append three")
    assert "told 6 ['main'] ['one', 'two', 'three']" in await told(notebook, 3)
    assert not notebook.path.exists()
    assert await dialogs(notebook.page) == 0


THREADS = ["%runcell thread new other", "%%runcell -t other\nHello", "%runcell thread switch main"]


@FRONT_ENDS
async def test_restart_and_run_all_twice_leaves_the_same_threads(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    cells = [SETUP, FIRST, *THREADS, "%runcell thread fork alt", "%runcell thread switch main", SECOND, TELL]
    notebook = await open_notebook(cells, front_end=front_end)
    await watch_dialogs(notebook.page)
    told_each_time = []
    for _ in range(3):
        await notebook.run_all()
        await kept_messages(notebook.path, 4)
        threads = kept(notebook.path)["threads"]
        turns = {name: [turn["cell"] for turn in thread["turns"]] for name, thread in threads.items()}
        told_each_time.append((turns, await notebook.output(8).inner_text()))
        await notebook.restart()
    assert told_each_time[0][0].keys() == {"main", "other", "alt"}
    assert "told 4 ['alt', 'main', 'other'] ['one', 'two']" in told_each_time[0][1]
    assert told_each_time[1:] == told_each_time[:1] * 2
    assert await dialogs(notebook.page) == 0


DUPLICATE = """async () => {
    const { context } = window.jupyterapp.shell.currentWidget;
    const changed = new Promise((done) => {
        window.jupyterapp.serviceManager.contents.fileChanged.connect((_, { type, newValue }) => {
            if (type === 'new') done(newValue.path);
        });
    });
    await window.jupyterapp.commands.execute('docmanager:duplicate');
    return await changed;
}"""


async def test_a_copy_of_the_notebook_goes_on_for_itself(
    open_notebook: OpenNotebook, open_file: OpenFile
) -> None:
    cells = [SETUP, FIRST, SECOND, THIRD, TELL, "1"]
    original = await open_notebook(cells)
    for cell in range(3):
        await original.run_cell(cell)
    await kept_messages(original.path, 4)
    name = await original.page.evaluate(DUPLICATE)
    copy = await open_file(original.path.with_name(name))
    assert copy.path != original.path
    await copy.run_cell(0)
    await copy.run_cell(3)
    await kept_messages(copy.path, 6)
    assert "told 6 ['main'] ['one', 'two', 'three']" in await told(copy, 4)
    assert "told 4 ['main'] ['one', 'two']" in await told(original, 4)
    await original.set_source(3, "%%runcell\nAppend other to a.txt")
    await original.run_cell(3)
    await kept_messages(original.path, 6)
    await copy.run_cell(1)  # again: its own conversation goes back, the other's stays
    await kept_messages(copy.path, 2)
    assert "told 6 ['main'] ['one', 'two', 'other']" in await told(original, 4)


@pytest.mark.parametrize("way", ["copy and paste", "duplicate", "one id twice in the file"])
async def test_a_cell_that_is_there_twice_is_two_turns(
    open_notebook: OpenNotebook, open_file: OpenFile, way: str
) -> None:
    if way == "one id twice in the file":
        content = new_notebook([SETUP, FIRST, SECOND, SECOND, TELL])
        content.cells[3].id = content.cells[2].id
        first = await open_notebook(new_notebook(["1"]))
        path = first.path.with_name("twice.ipynb")
        path.write_text(json.dumps(content))
        notebook = await open_file(path)
    else:
        notebook = await open_notebook([SETUP, FIRST, SECOND, TELL])
    for cell in range(3):
        await notebook.run_cell(cell)
    await kept_messages(notebook.path, 4)
    commands = {
        "copy and paste": ["notebook:copy-cell", "notebook:paste-cell-below"],
        "duplicate": ["notebook:duplicate-below"],
    }.get(way, [])
    await notebook.page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2")
    for command in commands:
        await notebook.page.evaluate("(command) => window.jupyterapp.commands.execute(command)", command)
    await notebook.run_cell(3)
    await kept_messages(notebook.path, 6)
    await notebook.run_cell(3)
    saved = await notebook.save()
    ids = [cell.id for cell in saved.cells]
    assert len(set(ids)) == 5
    assert [turn["cell"] for turn in kept(notebook.path)["threads"]["main"]["turns"]] == ids[1:4]
    assert "told 6 ['main'] ['one', 'two', 'two']" in await told(notebook, 4)


SLOW = """%load_ext runcell_nb
%config Runcell.model = "local/demo"
from runcell_nb import ScriptedModel
slow = ScriptedModel([[{"tool": "bash", "input": {"command": "sleep 4; echo one > a.txt"}}], "slow"])"""


@FRONT_ENDS
async def test_the_page_is_reloaded_in_mid_run(open_notebook: OpenNotebook, front_end: str) -> None:
    notebook = await open_notebook([SLOW, "%%runcell -m slow\nslowly", SECOND, TELL], front_end=front_end)
    await watch_dialogs(notebook.page)
    await notebook.run_cell(0)
    await notebook.start_cell(1)
    await notebook.output(1).get_by_role("button", name="Stop").wait_for()
    await notebook.reload()
    assert await kept_messages(notebook.path, 2) == ["slowly", "slow"]
    await notebook.run_cell(2)
    await kept_messages(notebook.path, 4)
    assert "told 4 ['main'] ['one', 'two']" in await told(notebook, 3)
    assert await dialogs(notebook.page) == 0


KILLS = 12
BIG = """
import json, os, random
blob = random.Random(1).randbytes(400_000)
"""
KNOWN = """session = get_ipython().magics_manager.registry['RuncellMagics'].session
await session.load(awaiting=True)
print(json.dumps([os.getpid(), [turn.prompt for turn in session.book.get('main').turns]]))"""


def kept_prompts(path: Path) -> list[str]:
    """Prompts of the turns that the file holds; the file must be a whole notebook, at this moment."""
    saved = nbformat.reads(path.read_text(), as_version=4)
    nbformat.validate(saved)
    assert len(saved.cells) == KILLS + 2
    turns = kept(path).get("threads", {}).get("main", {}).get("turns", [])
    return [turn["prompt"] for turn in turns]


async def known_prompts(notebook: NotebookPage) -> tuple[int, list[str]]:
    """Process id of the kernel, and the prompts of the turns that it knows."""
    await notebook.run_cell(KILLS + 1)
    pid, prompts = json.loads(await notebook.output(KILLS + 1).inner_text())
    return pid, prompts


async def until_kept(path: Path, prompts: list[str]) -> None:
    """Wait until the file holds these turns."""
    for _ in range(600):
        with suppress(ValueError):  # the server is writing
            if kept_prompts(path) == prompts:
                return
        await asyncio.sleep(0.05)
    raise AssertionError(f"the kernel knows {prompts}, the file holds {kept_prompts(path)}")


async def crash(page: Page) -> None:
    """End the page's process at once."""
    session = await page.context.new_cdp_session(page)
    crashed = asyncio.ensure_future(session.send("Page.crash"))
    await asyncio.wait([crashed], timeout=2)
    crashed.cancel()
    await page.close()


async def test_twenty_kills_at_any_moment_lose_no_kept_turn(
    open_notebook: OpenNotebook, open_file: OpenFile
) -> None:
    prompts = [f"Append line{number} to a.txt" for number in range(KILLS)]
    cells = [f"%%runcell{' --in blob' * (not number)}\n{prompt}" for number, prompt in enumerate(prompts)]
    notebook = await open_notebook([SETUP + BIG, *cells, KNOWN])
    await notebook.run_cell(0)
    moments = random.Random(4)
    for number in range(KILLS):
        pid, before = await known_prompts(notebook)
        await until_kept(notebook.path, before)
        await notebook.start_cell(number + 1)
        after = moments.uniform(0, 0.8)
        await asyncio.sleep(after)
        killed = moments.choice(["kernel", "page"])
        if killed == "kernel":
            os.kill(pid, signal.SIGKILL)
            await notebook.restart()
            await notebook.run_cell(0)
        else:
            await crash(notebook.page)
            notebook = await open_file(notebook.path)
        _, known = await known_prompts(notebook)
        assert known in (before, [*before, prompts[number]]), f"{killed} killed after {after:.3f} s"
        await until_kept(notebook.path, known)
