"""`%%runcell` as a person meets it: the quick start, the Stop button, the kernel's interrupt."""

from __future__ import annotations

import nbformat
import pytest
from playwright.async_api import expect

from .conftest import ROOT, SECONDS, NotebookPage, OpenNotebook

FRONT_ENDS = pytest.mark.parametrize("front_end", ["lab", "notebook"])

QUICKSTART = ROOT / "notebooks" / "quickstart.ipynb"

SLEEPER = """
from runcell_nb import ScriptedModel
model = ScriptedModel([
    ["I'll wait. ", {"tool": "bash", "input": {"command": "touch begun; sleep 30; touch late"}}],
    "The next one works.",
])
"""


def code_cells(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with nothing but its code, as a fresh one."""
    notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in notebook.cells:
        cell.outputs, cell.execution_count = [], None
    return notebook


@FRONT_ENDS
async def test_the_quick_start_runs_and_is_kept(open_notebook: OpenNotebook, front_end: str) -> None:
    notebook = await open_notebook(code_cells(nbformat.read(QUICKSTART, as_version=4)), front_end=front_end)
    await notebook.run_all()
    page = notebook.page
    await expect(page.locator(".rc-files .rc-tree, .rc-tree").first).to_contain_text("price.txt")
    await expect(page.get_by_text("Error displaying widget")).to_have_count(0)
    saved = await notebook.save()
    kept = [output.data for cell in saved.cells if "%%runcell" in cell.source for output in cell.outputs]
    assert len(kept) == 3
    for data in kept:
        assert "local/demo" in data["text/html"]
        assert "done in" in data["text/plain"]
        assert not any("widget" in kind for kind in data)


async def started(open_notebook: OpenNotebook, front_end: str) -> NotebookPage:
    """A notebook whose second cell is one second into a `sleep 30` of the sandbox."""
    cells = [
        "%load_ext runcell_nb\n" + SLEEPER,
        "%%runcell -m model\nwait",
        "%%runcell -m model\nagain",
        "%runcell",
    ]
    notebook = await open_notebook(cells, front_end=front_end)
    await notebook.run_cell(0)
    await notebook.page.evaluate(
        """() => {
            window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1;
            void window.jupyterapp.commands.execute('notebook:run-cell');
        }"""
    )
    await expect(notebook.output(1).locator(".rc-run")).to_contain_text("sleep 30", timeout=30 * SECONDS)
    await notebook.page.wait_for_timeout(1000)
    return notebook


@FRONT_ENDS
@pytest.mark.parametrize("how", ["button", "interrupt"])
async def test_stop_ends_the_cell_and_the_next_one_works(
    open_notebook: OpenNotebook, front_end: str, how: str
) -> None:
    notebook = await started(open_notebook, front_end)
    if how == "button":
        await notebook.output(1).get_by_role("button", name="Stop").click()
    else:
        await notebook.page.evaluate("void window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    output = notebook.output(1)
    await expect(output).to_contain_text("TurnError: stopped by the user", timeout=15 * SECONDS)
    await expect(output.locator(".rc-run")).to_have_count(0)
    await expect(output).to_contain_text("stopped")
    await notebook.run_cell(2)
    await expect(notebook.output(2)).to_contain_text("The next one works.", timeout=15 * SECONDS)
    await notebook.run_cell(3)
    await expect(notebook.output(3)).to_contain_text("1 turn")
    await expect(notebook.output(3)).to_contain_text("1 file")
