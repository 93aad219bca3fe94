"""The run view in a real browser: nothing lost, Stop arrives, views do not disturb each other."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from .conftest import SECONDS, OpenNotebook

FRONT_ENDS = pytest.mark.parametrize("front_end", ["lab", "notebook"])

SHOW = """
import asyncio
from IPython.display import display
from runcell_nb.notebook.run_view import RunView
from tests.notebook import samples
view = RunView(thread="triage", turn=3)
display(view)
"""

STREAM = """
import time
start = time.monotonic()
for n in range(1000):
    view.feed(samples.text(f"w{n} "))
    if n % 2 == 0:
        view.feed(samples.call(f"c{n}", "bash", command=f"echo {n}"))
        view.feed(samples.result(f"c{n}", "bash", f"out-{n}", exit_code=0))
    await asyncio.sleep(max(0, start + n * 0.005 - time.monotonic()))  # 2,000 events in 5 s, also when busy
view.finish("done")
await view.flush()
"""


@FRONT_ENDS
async def test_two_thousand_events_arrive_in_order(open_notebook: OpenNotebook, front_end: str) -> None:
    notebook = await open_notebook([SHOW + STREAM], front_end=front_end)
    await notebook.run_all()
    run = notebook.output(0).locator(".rc-run")
    await expect(run).to_have_attribute("data-state", "done", timeout=30 * SECONDS)
    words = " ".join(await run.locator(".rc-text").all_text_contents()).split()
    assert words == [f"w{n}" for n in range(1000)]
    calls = await run.locator(".rc-arg").all_text_contents()
    assert calls == [f"echo {n}" for n in range(0, 1000, 2)]


LOSE_ONE = """
send = view.send
def lossy(content, buffers=None):
    if content["type"] == "whole" or content["seq"] % 7:
        send(content, buffers)
view.send = lossy
"""


async def test_lost_messages_are_asked_for(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW + LOSE_ONE + STREAM.replace("range(1000)", "range(200)")])
    await notebook.run_all()
    run = notebook.output(0).locator(".rc-run")
    await expect(run).to_have_attribute("data-state", "done", timeout=30 * SECONDS)
    words = " ".join(await run.locator(".rc-text").all_text_contents()).split()
    assert words == [f"w{n}" for n in range(200)]


STOPPABLE = """
stopped = asyncio.Event()
view.on_stop(stopped.set)
view.feed(samples.started("local/demo"))
view.feed(samples.call("a", "bash", command="sleep 30"))
await asyncio.wait_for(stopped.wait(), 30)
view.finish("stopped", "Stopped by you.")
await view.flush()
"""


@FRONT_ENDS
async def test_stop_reaches_the_kernel_while_the_cell_runs(
    open_notebook: OpenNotebook, front_end: str
) -> None:
    notebook = await open_notebook([SHOW + STOPPABLE], front_end=front_end)
    await notebook.run_all(wait=False)
    run = notebook.output(0).locator(".rc-run")
    await run.get_by_role("button", name="Stop").click()
    await expect(run).to_have_attribute("data-state", "stopped")
    await expect(run.locator(".rc-error")).to_have_text("Stopped by you.")
    await expect(run.locator(".rc-steps .rc-meta")).to_have_text("interrupted")
    await expect(run.get_by_role("status")).to_contain_text("Run stopped after")


TWO_VIEWS = """
other = RunView(thread="other")
display(other)
for n in range(150):
    view.feed(samples.text(f"a{n} "))
    other.feed(samples.text(f"b{n} "))
    await asyncio.sleep(0.005)
view.finish("done")
other.finish("done")
"""


async def test_two_views_live_at_once(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([SHOW + TWO_VIEWS])
    await notebook.run_all()
    runs = notebook.output(0).locator(".rc-run")
    for at, letter in enumerate("ab"):
        await expect(runs.nth(at)).to_have_attribute("data-state", "done")
        words = (await runs.nth(at).locator(".rc-text").inner_text()).split()
        assert words == [f"{letter}{n}" for n in range(150)]


async def test_a_view_shown_again_shows_everything(open_notebook: OpenNotebook) -> None:
    report = "for event in samples.report_run() + samples.report_end(): view.feed(event)\nview.finish('done')"
    notebook = await open_notebook([SHOW + report, "display(view)"])
    await notebook.run_all()
    first = await notebook.output(0).locator(".rc-run").inner_text()
    await expect(notebook.output(1).locator(".rc-run")).to_have_text(first, use_inner_text=True)
    assert "$0.0520" in first


async def test_markdown_of_the_answer(open_notebook: OpenNotebook) -> None:
    source = r'''
text = """# Title

A *soft* and **strong** `code` with [link](https://example.org/a_b_c) and ~~gone~~ snake_case_name 2 * 3 * 4.

- one
  - inner
- two

3. three
4. four

> quoted

| a | b |
|---|--:|
| 1 | 2 |

```py
x = "<b>"

y = 1
```
last"""
for sign in text:
    view.feed(samples.text(sign))
    await asyncio.sleep(0.001)
view.finish("done")
'''
    notebook = await open_notebook([SHOW + source])
    await notebook.run_all()
    answer = notebook.output(0).locator(".rc-text")
    await expect(answer.locator("p").last).to_have_text("last")
    paragraph = "A soft and strong code with link and gone snake_case_name 2 * 3 * 4."
    await expect(answer.locator("p").first).to_have_text(paragraph)
    await expect(answer.locator("h1")).to_have_text("Title")
    await expect(answer.locator("em")).to_have_text("soft")
    await expect(answer.locator("strong")).to_have_text("strong")
    await expect(answer.locator("a")).to_have_attribute("href", "https://example.org/a_b_c")
    await expect(answer.locator("ul > li > ul > li")).to_have_text("inner")
    await expect(answer.locator("ol")).to_have_attribute("start", "3")
    await expect(answer.locator("ol > li")).to_have_text(["three", "four"])
    await expect(answer.locator("blockquote")).to_have_text("quoted")
    await expect(answer.locator("td")).to_have_text(["1", "2"])
    await expect(answer.locator("pre code")).to_have_text('x = "<b>"\n\ny = 1', use_inner_text=True)


async def test_a_changed_file_leads_to_the_call_that_changed_it(open_notebook: OpenNotebook) -> None:
    source = """
for n in range(100):
    view.feed(samples.call(f"c{n}", "write", file_path=f"f{n}.txt", content="x"))
    view.feed(samples.change(f"f{n}.txt", None, b"line\\n" * 30, f"c{n}"))
    view.feed(samples.result(f"c{n}", "write", "ok"))
view.finish("done")
"""
    notebook = await open_notebook([SHOW + source])
    await notebook.run_all()
    run = notebook.output(0).locator(".rc-run")
    await expect(run.locator(".rc-steps > *")).to_have_count(40)
    await expect(run.locator(".rc-files")).to_contain_text("100 files changed")
    await run.get_by_role("button", name="f3.txt").focus()
    await notebook.page.keyboard.press("Enter")
    difference = run.get_by_role("group", name="difference of f3.txt")
    await expect(difference).to_be_visible()
    focused = await notebook.page.evaluate("document.activeElement.textContent")
    assert focused.startswith("writef3.txt")
