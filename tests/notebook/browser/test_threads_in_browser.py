"""Threads that stay: saved, reloaded, restarted, run again, in a real JupyterLab and Notebook 7."""

from __future__ import annotations

import nbformat
import pytest

from .conftest import KERNEL_IS_IDLE, SECONDS, OpenNotebook, kept, kept_messages

FRONT_ENDS = pytest.mark.parametrize("front_end", ["lab", "notebook"])

SETUP = """%load_ext runcell_nb
%config Runcell.model = "local/demo\""""
FIRST = "%%runcell\nCreate a.txt with the text: one"
SECOND = "%%runcell\nAppend two to a.txt"
TOLD = """session = get_ipython().magics_manager.registry['RuncellMagics'].session
shown = await (await session.sandbox()).exec('cat a.txt')
print('told', len(session.thread.messages), session.book.names, shown.stdout.split())"""


@FRONT_ENDS
async def test_restart_and_run_all_twice_leaves_the_same_thread(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    notebook = await open_notebook([SETUP, FIRST, SECOND, TOLD], front_end=front_end)
    await notebook.run_all()
    told = await kept_messages(notebook.path, 4)
    for _ in range(2):
        await notebook.restart()
        await notebook.run_all()
        assert "told 4 ['main'] ['one', 'two']" in await notebook.output(3).inner_text()
    assert await kept_messages(notebook.path, 4) == told
    assert [turn["cell"] for turn in kept(notebook.path)["threads"]["main"]["turns"]] == [
        cell["id"] for cell in nbformat.read(notebook.path, as_version=4).cells[1:3]
    ]


@FRONT_ENDS
async def test_closed_and_opened_again_the_conversation_and_the_files_are_there(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    notebook = await open_notebook([SETUP, FIRST, SECOND, "1"], front_end=front_end)
    await notebook.run_all()
    await kept_messages(notebook.path, 4)
    saved = await notebook.save()
    saved.cells[3].source = "%%runcell\nShow a.txt"
    for cell in saved.cells:
        cell.execution_count = None
    again = await open_notebook(saved, front_end=front_end)  # another file, another kernel
    await again.run_cell(0)
    await again.run_cell(3)
    told = await kept_messages(again.path, 6)
    assert told[4].startswith("Show a.txt")
    assert "two" in told[5]
    assert "one" in await again.output(3).inner_text()


@FRONT_ENDS
async def test_after_a_reload_of_the_page_a_run_is_kept_too(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    notebook = await open_notebook([SETUP, FIRST, SECOND], front_end=front_end)
    await notebook.run_cell(0)
    await notebook.run_cell(1)
    await kept_messages(notebook.path, 2)
    await notebook.page.reload()
    await notebook.page.wait_for_function(KERNEL_IS_IDLE, timeout=60 * SECONDS)
    await notebook.run_cell(2)
    told = await kept_messages(notebook.path, 4)
    assert told[2] == "Append two to a.txt"


async def test_twenty_runs_of_a_cell_leave_a_notebook_of_the_same_size(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SETUP, FIRST])
    await notebook.run_all()
    await kept_messages(notebook.path, 2)
    await notebook.save()
    size = notebook.path.stat().st_size
    for _ in range(20):
        await notebook.run_cell(1)
    await notebook.save()
    assert notebook.path.stat().st_size < size * 1.05 + 200


async def test_two_runs_live_at_once_each_with_its_own_stop(open_notebook: OpenNotebook) -> None:
    setup = """%load_ext runcell_nb
from runcell_nb import ScriptedModel
slow = ScriptedModel([[{"tool": "bash", "input": {"command": "sleep 30"}}], "never"])
quick = ScriptedModel([[{"tool": "bash", "input": {"command": "sleep 2"}}], "quick is done"])
%runcell thread new side
%runcell thread switch main"""
    cells = [
        setup,
        "%%runcell -m slow --background\nslowly",
        "%%runcell -m quick -t side --background\nquickly",
        "x = 40 + 2\nx",
    ]
    notebook = await open_notebook(cells)
    await notebook.run_all()
    assert "42" in await notebook.output(3).inner_text()  # the person's own cells go on
    stops = notebook.page.get_by_role("button", name="Stop")
    assert await stops.count() == 2
    await notebook.output(1).get_by_role("button", name="Stop").click()
    await notebook.output(1).get_by_text("stopped after").first.wait_for(timeout=20 * SECONDS)
    await notebook.output(2).get_by_text("quick is done").first.wait_for(timeout=20 * SECONDS)
    assert "quick" not in await notebook.output(1).inner_text()


pytestmark = pytest.mark.slow
