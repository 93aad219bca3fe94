"""Two people in one notebook: real-time collaboration, which sets metadata and saves in its own way.

`jupyter-collaboration` changes Lab, so it is installed beside the environment of the other tests (`pip
install --prefix FOLDER jupyter-collaboration`) and used here when RUNCELL_COLLABORATION names that folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import nbformat
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from .conftest import (
    ROOT,
    SECONDS,
    JupyterServer,
    NotebookPage,
    OpenFile,
    kept_messages,
    new_notebook,
    opener,
    running_server,
)

FOLDER = os.environ.get("RUNCELL_COLLABORATION")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        FOLDER is None, reason="RUNCELL_COLLABORATION names no folder with jupyter-collaboration"
    ),
]

SETUP = """%load_ext runcell_nb
%config Runcell.model = "local/demo\""""
SLOW = """%load_ext runcell_nb
%config Runcell.model = "local/demo"
from runcell_nb import ScriptedModel
slow = ScriptedModel([[{"tool": "bash", "input": {"command": "sleep 4; echo one > a.txt"}}], "slow"])"""
SLOWLY = "%%runcell -m slow\nslowly"
FIRST = "%%runcell\nCreate a.txt with the text: one"
SECOND = "%%runcell\nAppend two to a.txt"
THIRD = "%%runcell\nAppend three to a.txt"
TOLD = """session = get_ipython().magics_manager.registry['RuncellMagics'].session
shown = await (await session.sandbox()).exec('cat a.txt')
print('told', len(session.thread.messages), session.book.names, shown.stdout.split())"""


@pytest.fixture(scope="module")
def collaboration_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """JupyterLab with the collaboration that is installed in the folder."""
    folder = Path(FOLDER or "").resolve()
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    environment = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(packages)]),
        "JUPYTER_PATH": str(folder / "share" / "jupyter"),
        "JUPYTER_CONFIG_PATH": str(folder / "etc" / "jupyter"),
    }
    with running_server(tmp_path_factory.mktemp("collaboration"), environment) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def open_shared(collaboration_server: JupyterServer, browser: Browser) -> AsyncIterator[OpenFile]:
    """As `open_file`, with collaboration."""
    async with opener(collaboration_server, browser) as open_it:
        yield open_it


async def two_people(
    server: JupyterServer, open_shared: OpenFile, name: str, cells: list[str]
) -> tuple[NotebookPage, NotebookPage]:
    """Open a new notebook twice; count how often its metadata change."""
    path = server.folder / f"{name}.ipynb"
    nbformat.write(new_notebook(cells), path)
    one, two = await open_shared(path), await open_shared(path)
    await one.page.evaluate(COUNT)
    return one, two


COUNT = """() => {
    window.timesKept = 0;
    window.jupyterapp.shell.currentWidget.context.model.metadataChanged.connect((_, { key }) => {
        if (key === 'runcell') window.timesKept += 1;
    });
}"""


async def test_a_turn_of_one_is_a_turn_of_both(
    collaboration_server: JupyterServer, open_shared: OpenFile
) -> None:
    one, two = await two_people(
        collaboration_server, open_shared, "shared", [SETUP, FIRST, SECOND, THIRD, TOLD]
    )
    await one.run_cell(0)
    await one.run_cell(1)
    await kept_messages(one.path, 2)
    await two.run_cell(2)
    await kept_messages(one.path, 4)
    await one.run_cell(3)
    await kept_messages(one.path, 6)
    await two.run_cell(4)
    await expect(one.output(4)).to_contain_text("told 6 ['main'] ['one', 'two', 'three']")
    await one.page.wait_for_timeout(6 * SECONDS)  # the other client's turn to write has passed
    assert await one.page.evaluate("window.timesKept") == 3
    for tab in (one, two):
        await expect(tab.page.locator(".jp-Dialog")).to_have_count(0)


async def test_who_stays_keeps_the_turn_of_who_left_and_a_new_kernel_goes_on(
    collaboration_server: JupyterServer, open_shared: OpenFile
) -> None:
    one, two = await two_people(collaboration_server, open_shared, "left", [SLOW, SLOWLY, SECOND, TOLD])
    await one.run_cell(0)
    await one.start_cell(1)
    # The other's outputs are untrusted, so no live view; but the run is seen.
    await expect(two.output(1)).to_contain_text("running")
    await one.page.close()
    assert await kept_messages(two.path, 2) == ["slowly", "slow"]
    await two.restart()
    await two.run_cell(0)
    await two.run_cell(2)
    await kept_messages(two.path, 4)
    await two.run_cell(3)
    await expect(two.output(3)).to_contain_text("told 4 ['main'] ['one', 'two']")
    await expect(two.page.locator(".jp-Dialog")).to_have_count(0)
