"""A real JupyterLab and Notebook 7 in a real Chromium.

`notebook_page` opens a notebook with given cells; the package and the tests are importable in its kernel. The
tests of this folder share one event loop, one server and one browser.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Request, async_playwright

from tests.notebook.conftest import KEYS

ROOT = Path(__file__).parents[3]
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SECONDS = 1000
"""Playwright counts milliseconds."""


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Everything in this folder needs a browser and shares one event loop."""
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in here:
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
        if CHROMIUM is None and not os.environ.get("RUNCELL_REQUIRE_BROWSER"):
            item.add_marker(pytest.mark.skip(reason="no Chromium here"))


@dataclass
class NotebookPage:
    """One notebook in the browser."""

    page: Page
    path: Path
    requests: list[Request]

    async def run_all(self, *, wait: bool = True) -> None:
        """Run every cell; by default wait until the kernel is idle again."""
        await self.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")
        if wait:
            await self.idle()

    async def idle(self, timeout: float = 60) -> None:
        """Wait until every code cell has its number."""
        done = """() => {
            const prompts = [...document.querySelectorAll('.jp-Notebook .jp-CodeCell .jp-InputPrompt')];
            return prompts.length > 0 && prompts.every((prompt) => /\\d/.test(prompt.textContent));
        }"""
        await self.page.wait_for_function(done, timeout=timeout * SECONDS)

    async def run_cell(self, cell: int) -> None:
        """Run one cell and wait for its end."""
        await self.page.evaluate(
            """async (cell) => {
                window.jupyterapp.shell.currentWidget.content.activeCellIndex = cell;
                await window.jupyterapp.commands.execute('notebook:run-cell');
            }""",
            cell,
        )

    async def start_cell(self, cell: int) -> None:
        """Start one cell without waiting for its end."""
        await self.page.evaluate(
            """(cell) => {
                window.jupyterapp.shell.currentWidget.content.activeCellIndex = cell;
                void window.jupyterapp.commands.execute('notebook:run-cell');
            }""",
            cell,
        )

    async def set_source(self, cell: int, source: str) -> None:
        """Change the source of a cell."""
        await self.page.evaluate(
            """([cell, source]) => {
                const { content } = window.jupyterapp.shell.currentWidget;
                content.widgets[cell].model.sharedModel.setSource(source);
            }""",
            [cell, source],
        )

    async def theme(self, name: str) -> None:
        """Switch to 'light' or 'dark'."""
        full = "JupyterLab Dark" if name == "dark" else "JupyterLab Light"
        await self.page.evaluate(
            "(theme) => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", full
        )
        await self.page.wait_for_function(
            "(light) => document.body.dataset.jpThemeLight === light", arg=str(name != "dark").lower()
        )

    async def save(self) -> Any:
        """Save the notebook and return what stands in the file."""
        await self.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
        await self.page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
        return nbformat.read(self.path, as_version=4)

    async def reload(self) -> None:
        """Load the page again and wait until it has the kernel again, which may be busy."""
        await self.page.reload()
        await self.page.wait_for_function(KERNEL_IS_CONNECTED, timeout=60 * SECONDS)

    async def restart(self) -> None:
        """Restart the kernel; no cell has a number then."""
        await self.page.evaluate(RESTART)
        await self.page.wait_for_function(KERNEL_IS_IDLE, timeout=60 * SECONDS)

    def output(self, cell: int) -> Locator:
        """Return the output area of a cell."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(cell).locator(".jp-OutputArea").first


OpenNotebook = Callable[..., Awaitable[NotebookPage]]
OpenFile = Callable[..., Awaitable[NotebookPage]]

KERNEL_IS_IDLE = """() => {
    const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
    return kernel?.status === 'idle' && document.querySelector('.jp-Notebook');
}"""
KERNEL_IS_CONNECTED = """() => {
    const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
    return kernel?.connectionStatus === 'connected' && document.querySelector('.jp-Notebook');
}"""
RESTART = """async () => {
    const widget = window.jupyterapp.shell.currentWidget;
    for (const cell of widget.content.widgets) {
        if (cell.model.type === 'code') cell.model.executionCount = null;
    }
    await widget.sessionContext.restartKernel();
}"""


def kept(path: Path) -> dict[str, Any]:
    """What stands in the file under `metadata.runcell`; nothing while the server is writing the file."""
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())["metadata"].get("runcell", {})
    except (OSError, ValueError):
        return {}
    return found


async def kept_messages(path: Path, count: int) -> list[str]:
    """Wait until the file holds so many messages of the main thread."""
    for _ in range(600):
        messages = kept(path).get("threads", {}).get("main", {}).get("messages", [])
        if len(messages) == count:
            return [message["content"] for message in messages]
        await asyncio.sleep(0.05)
    raise AssertionError(f"never kept: {str(kept(path))[:300]}")


@dataclass
class JupyterServer:
    url: str
    folder: Path
    process: subprocess.Popen[bytes]


@pytest.fixture(scope="session")
def jupyter_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    """JupyterLab on a free port of the loopback interface; it serves Notebook 7 too."""
    with running_server(tmp_path_factory.mktemp("jupyter"), {}) as server:
        yield server


@contextmanager
def running_server(home: Path, environment: Mapping[str, str]) -> Iterator[JupyterServer]:
    """Run a JupyterLab that keeps all it has in `home`; `environment` goes over that of the tests."""
    folder = home / "work"
    folder.mkdir()
    port = _free_port()
    _write_settings(home / "settings")
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            _command(port, folder, home),
            env=_environment(home) | environment,
            cwd=folder,
            stdout=log,
            stderr=log,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url + "/api/status", process, home / "server.log")
            yield JupyterServer(url, folder, process)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def _command(port: int, folder: Path, home: Path) -> list[str]:
    return [
        sys.executable,
        "-m",
        "jupyter",
        "lab",
        "--allow-root",
        "--no-browser",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}",
        "--IdentityProvider.token=",
        "--ServerApp.disable_check_xsrf=True",
        "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        f"--LabApp.user_settings_dir={home / 'settings'}",
        f"--LabApp.workspaces_dir={home / 'workspaces'}",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
    ]


def _environment(home: Path) -> dict[str, str]:
    without_keys = {
        name: value for name, value in os.environ.items() if not any(part in name for part in KEYS)
    }
    return without_keys | {
        "PYTHONPATH": str(ROOT),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "IPYTHONDIR": str(home / "ipython"),
    }


def _write_settings(folder: Path) -> None:
    """No pop-ups over the page."""
    plugin = folder / "@jupyterlab" / "apputils-extension"
    plugin.mkdir(parents=True)
    (plugin / "notification.jupyterlab-settings").write_text(
        json.dumps({"fetchNews": "false", "checkForUpdates": False})
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.2)
    raise RuntimeError("JupyterLab did not start:\n" + log.read_text(errors="replace")[-3000:])


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A headless Chromium."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield chromium
        await chromium.close()


@pytest_asyncio.fixture(loop_scope="session")
async def open_file(jupyter_server: JupyterServer, browser: Browser) -> AsyncIterator[OpenFile]:
    """Return a function that opens a file of the server: `await open_file(path, front_end="lab")`."""
    async with opener(jupyter_server, browser) as open_it:
        yield open_it


@asynccontextmanager
async def opener(server: JupyterServer, browser: Browser) -> AsyncIterator[OpenFile]:
    """Yield what opens notebooks that are on a server; their kernels and pages go at the end."""
    pages: list[Page] = []

    async def open_it(
        path: Path, *, front_end: str = "lab", width: int = 1280, height: int = 1600
    ) -> NotebookPage:
        page = await browser.new_page(viewport={"width": width, "height": height})
        pages.append(page)
        requests: list[Request] = []
        page.on("request", lambda sent: requests.append(sent))
        place = "lab/tree" if front_end == "lab" else "notebooks"
        reset = "?reset" if front_end == "lab" else ""
        await page.goto(f"{server.url}/{place}/{path.name}{reset}")
        await _kernel_ready(page)
        return NotebookPage(page, path, requests)

    yield open_it
    for page in pages:
        await _shut_down(page)
        await page.close()


@pytest.fixture
def open_notebook(
    jupyter_server: JupyterServer, open_file: OpenFile, request: pytest.FixtureRequest
) -> OpenNotebook:
    """Return a function that opens a new notebook: `await open_notebook([source, …], front_end="lab")`."""
    numbers = itertools.count()

    async def open_it(cells: Sequence[str] | nbformat.NotebookNode, **options: Any) -> NotebookPage:
        name = f"{request.node.name.translate(_NO_BRACKETS)}-{next(numbers)}.ipynb"
        path = jupyter_server.folder / name
        nbformat.write(cells if isinstance(cells, nbformat.NotebookNode) else new_notebook(cells), path)
        return await open_file(path, **options)

    return open_it


_NO_BRACKETS = str.maketrans("[]/ ", "____")


def new_notebook(cells: Sequence[str]) -> nbformat.NotebookNode:
    """Return a notebook of code cells for this Python."""
    nodes = [nbformat.v4.new_code_cell(source) for source in cells]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=nodes, metadata={"kernelspec": kernel})


async def _kernel_ready(page: Page) -> None:
    await page.wait_for_function(KERNEL_IS_IDLE, timeout=90 * SECONDS)


async def _shut_down(page: Page) -> None:
    with suppress(Exception):
        await asyncio.wait_for(
            page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"), timeout=10
        )
