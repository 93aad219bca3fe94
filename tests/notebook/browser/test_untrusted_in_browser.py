"""Everything shown is untrusted: no script runs and no request leaves, live, static, trusted or not."""

from __future__ import annotations

import nbformat
from playwright.async_api import expect

from runcell_nb.notebook.static_bundle import static_bundle
from runcell_nb.notebook.transcript import Transcript
from tests.notebook import samples

from .conftest import NotebookPage, OpenNotebook, new_notebook

LIVE = """
import asyncio
from IPython.display import display
from runcell_nb.notebook.run_view import RunView
from runcell_nb.notebook.file_browser import FileBrowser
from runcell_nb.notebook.static_bundle import static_bundle
from tests.notebook import samples
view = RunView(thread="<img src=x onerror=window.hit=1>")
display(view)
for event in samples.hostile_run():
    view.feed(event)
    await asyncio.sleep(0.02)
view.finish("failed")
display(static_bundle(view.transcript), raw=True)
name = "<img src=x onerror='window.hit=1'>\\u202e.md"
picture = b"<svg onload='window.hit=1'/>"
browser = FileBrowser(samples.dict_sandbox({name: samples.HOSTILE.encode(), "a/<b>.svg": picture}))
display(browser)
await browser.refresh()
browser.follow(name)
await asyncio.sleep(0.5)
"""


async def assert_harmless(notebook: NotebookPage) -> None:
    """Nothing of the hostile content has run, been loaded or become a live link."""
    page = notebook.page
    for fold in await page.locator(".jp-OutputArea details").all():
        await fold.evaluate("(fold) => { fold.open = true; }")
    await page.wait_for_timeout(300)
    assert await page.evaluate("window.hit") is None
    own = page.url.split("/", 3)[2]
    outside = [
        sent.url
        for sent in notebook.requests
        if sent.url.startswith("http") and sent.url.split("/", 3)[2] != own
    ]
    assert outside == []
    assert [sent.url for sent in notebook.requests if sent.url.endswith(("/x", "/pixel.png"))] == []
    links = await page.locator(".jp-OutputArea a[href]").evaluate_all("(all) => all.map((a) => a.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}
    assert (
        await page.locator(".jp-OutputArea :is(script, svg[onload], img[onerror], b[onclick])").count() == 0
    )


async def test_hostile_content_live_and_static(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook([LIVE])
    await notebook.run_all()
    output = notebook.output(0)
    await expect(output.locator(".rc-run")).to_have_attribute("data-state", "failed")
    await expect(output.locator(".rc-run .rc-text").last).to_contain_text("<script>window.hit = 1</script>")
    await expect(output.locator(".rc-browser .rc-content")).to_contain_text("<script>window.hit = 1</script>")
    await assert_harmless(notebook)


def saved_notebook(events: list[samples.Event]) -> nbformat.NotebookNode:
    """Return a notebook as it comes from someone else: with outputs that were never trusted here."""
    transcript = Transcript(thread="triage", turn=3)
    for event in events:
        transcript.apply(event)
    transcript.finish("done")
    notebook = new_notebook(["%%runcell\nread feedback.txt"])
    notebook.cells[0].outputs = [nbformat.v4.new_output("display_data", static_bundle(transcript))]
    notebook.cells[0].execution_count = 1
    return notebook


async def test_hostile_content_in_an_untrusted_notebook(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook(saved_notebook(samples.hostile_run()))
    await expect(notebook.output(0)).to_contain_text("<script>window.hit = 1</script>")
    await assert_harmless(notebook)


async def test_the_static_copy_keeps_its_look_in_an_untrusted_notebook(open_notebook: OpenNotebook) -> None:
    notebook = await open_notebook(saved_notebook(samples.report_run() + samples.report_end()))
    output = notebook.output(0)
    await expect(output).to_contain_text("ask the carrier about")
    added = output.locator("span", has_text="+ # Complaints, March").last
    await expect(added).to_be_hidden()
    await output.locator("summary", has_text="report.md").last.click()
    await expect(added).to_be_visible()
    await expect(added).to_have_css("background-color", "rgba(46, 160, 67, 0.2)")
    await expect(added).to_have_css("display", "block")
    frame = output.locator("div", has=notebook.page.locator("details")).last
    assert await frame.evaluate("(el) => el.scrollWidth <= el.clientWidth + 1")


COMMANDS = """%load_ext runcell_nb
from runcell_nb import ScriptedModel
from tests.notebook.samples import HOSTILE
model = ScriptedModel([HOSTILE, HOSTILE, HOSTILE])
%runcell thread new "<b onclick=window.hit=1>x</b>"
%runcell sandbox new "<svg onload=window.hit=1>"
%runcell thread
%runcell sandbox"""


async def test_hostile_metadata_and_names(open_notebook: OpenNotebook) -> None:
    """A notebook of a stranger's, whose kept threads are as hostile as JSON can be."""
    cells = [COMMANDS, "%%runcell -m model\n<img src=x onerror=window.hit=1>", "%runcell history"]
    notebook = new_notebook([*cells, "%%runcell -m model --quiet\ngo"])
    markup = "<img src=x onerror=window.hit=1>"
    message = {"content": markup, "createdAt": markup}
    notebook.metadata["runcell"] = {
        "version": 1,
        "revision": markup,
        "activeThread": markup,
        "threads": {
            markup: {"version": 1, "id": markup, "messages": [{"role": "user", **message}]},
            "main": {
                "version": 1,
                "id": markup,
                "messages": [{"role": "user", **message}, {"role": "agent", **message}],
                "turns": [{"cell": markup, "prompt": markup, "model": markup, "messagesBefore": 0}],
                "continuation": {"engine": "runcell-nb", "resume": {"version": 1}, "journalGz": "AAAA"},
            },
            "../../etc": [],
        },
        "files": {"states": {markup: {"../../x": markup}}, "blobs": {markup: markup}},
        "sandbox": {"type": "host", "files": markup},
    }
    page = await open_notebook(notebook)
    await page.run_all()
    assert "answer" not in await page.output(0).inner_text()
    for cell in range(4):
        assert "Traceback" not in await page.output(cell).inner_text()
    assert markup in await page.output(2).inner_text()
    await assert_harmless(page)
