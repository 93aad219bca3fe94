"""Long runs in a real browser: readable, followed, quick, and small in the notebook."""

from __future__ import annotations

import pytest
from playwright.async_api import Locator, expect

from .conftest import SECONDS, NotebookPage, OpenNotebook
from .test_run_view_in_browser import SHOW

CALLS = """
view.feed(samples.started("local/demo"))
for n in range(200):
    view.feed(samples.call(f"c{n}", "bash", command=f"echo {n}"))
    view.feed(samples.result(f"c{n}", "bash", f"out {n}\\n" * 5, exit_code=0))
    await asyncio.sleep(0.005)
"""
MORE = """
for n in range(200, 230):
    view.feed(samples.call(f"c{n}", "bash", command=f"echo {n}"))
    view.feed(samples.result(f"c{n}", "bash", f"out {n}", exit_code=0))
    await asyncio.sleep(0.005)
await view.flush()
"""


async def shown(open_notebook: OpenNotebook, *cells: str) -> tuple[NotebookPage, Locator]:
    notebook = await open_notebook([SHOW + CALLS, *cells], height=800)
    await notebook.run_all()
    run = notebook.output(0).locator(".rc-run")
    await expect(run.locator(".rc-arg", has_text="echo 199")).to_be_attached()
    await run.evaluate("run => run.scrollIntoView({block: 'center'})")
    await expect(run.locator(".rc-arg", has_text="echo 199")).to_be_in_viewport()
    return notebook, run


async def test_two_hundred_calls_stay_readable(open_notebook: OpenNotebook) -> None:
    _, run = await shown(open_notebook)
    await expect(run.get_by_role("button", name="Stop")).to_be_in_viewport()
    assert await run.evaluate("run => run.offsetHeight") < 800
    assert await run.locator(".rc-steps > *").count() < 50
    await expect(run.get_by_role("button", name="Jump to end")).to_be_hidden()
    earlier = run.get_by_text("earlier steps")
    await earlier.scroll_into_view_if_needed()
    await earlier.click()
    await expect(run.locator(".rc-arg").get_by_text("echo 0", exact=True)).to_be_visible()
    await expect(run.get_by_role("button", name="Stop")).to_be_in_viewport()


async def test_it_follows_the_end_until_somebody_looks_elsewhere(open_notebook: OpenNotebook) -> None:
    notebook, run = await shown(open_notebook, "1")
    steps = run.get_by_role("log", name="Steps of the run")
    await steps.hover()
    await notebook.page.mouse.wheel(0, -300)
    jump = run.get_by_role("button", name="Jump to end")
    await expect(jump).to_be_visible()
    await notebook.set_source(1, MORE)
    await notebook.run_cell(1)
    last = run.locator(".rc-arg", has_text="echo 229")
    await expect(last).to_be_attached()
    await expect(last).not_to_be_in_viewport()
    await jump.click()
    await expect(last).to_be_in_viewport()
    await expect(jump).to_be_hidden()
    await expect(steps).to_be_focused()
    await notebook.set_source(1, MORE.replace("200, 230", "230, 260"))
    await notebook.run_cell(1)
    await expect(run.locator(".rc-arg", has_text="echo 259")).to_be_in_viewport()


async def test_what_is_unfolded_stays_in_sight(open_notebook: OpenNotebook) -> None:
    notebook, run = await shown(open_notebook, "1")
    line = run.locator(".rc-arg", has_text="echo 190")
    await line.click()
    await notebook.set_source(1, MORE)
    await notebook.run_cell(1)
    await expect(run.locator(".rc-arg", has_text="echo 229")).to_be_attached()
    await expect(line).to_be_in_viewport()


LONG = """%load_ext runcell_nb
from runcell_nb import ScriptedModel
command = "seq 1 100000"
model = ScriptedModel([{"tool": "bash", "input": {"command": command}}, "The log is **long**."])"""


async def test_a_hundred_thousand_lines_leave_a_small_notebook(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([LONG, "%%runcell -m model\nshow the log"])
    await notebook.run_all()
    copy = notebook.output(1)
    await expect(copy).to_contain_text("The log is long.")
    await copy.get_by_text("1 tool call").click()
    await copy.locator("summary", has_text="bash").click()
    await expect(copy).to_contain_text("1\n2\n3")
    await expect(copy).to_contain_text("left out")
    await notebook.save()
    assert notebook.path.stat().st_size < 500_000


TWO = """%load_ext runcell_nb
import asyncio
from runcell_nb import ScriptedModel
async def wait() -> str:
    "Wait for the end of it."
    await asyncio.sleep(30)
    return "waited"
one = ScriptedModel([{"tool": "wait"}, "never said"])
two = ScriptedModel([{"tool": "wait"}, "never said"])"""


async def test_two_runs_live_at_once_and_one_stop_stops_one(open_notebook: OpenNotebook) -> None:
    cells = [
        TWO,
        "%runcell thread new other\n%runcell thread switch main\n%runcell sandbox new beside",
        "%%runcell -m one --tools wait --background\nfirst",
        "%%runcell -m two --tools wait --background -t other -s beside\nsecond",
    ]
    notebook = await open_notebook(cells)
    await notebook.run_all()
    first, second = notebook.output(2), notebook.output(3)
    for run in (first, second):
        await expect(run.locator(".rc-now")).to_have_text("running wait", timeout=30 * SECONDS)
    await second.get_by_role("button", name="Stop").click()
    await expect(second).to_contain_text("stopped after")
    await expect(first.locator(".rc-run")).to_have_attribute("data-state", "running")
    await first.get_by_role("button", name="Stop").click()
    await expect(first).to_contain_text("stopped after")


pytestmark = pytest.mark.slow
