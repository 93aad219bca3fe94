"""The copies that stay in the notebook, where a site takes styles, classes and tags it does not know away."""

from __future__ import annotations

from html.parser import HTMLParser

import nbformat
import pytest
from nbconvert import HTMLExporter

from runcell_nb.notebook.file_static import static_listing
from runcell_nb.notebook.thread_static import static_threads

from . import samples as s
from .test_file_static import listing_of
from .test_static import copy_of

BLOCKS = {"div", "p", "ul", "ol", "li", "pre", "blockquote", "table", "tr", "details", "summary", "br"}
BLOCKS |= {"h4", "h5", "h6", "hr"}

TURNS = [
    {
        "number": 1,
        "model": "local/demo",
        "figures": "12 tokens",
        "prompt": "Write it down\nin a.txt & <b>",
        "answer": "It is **there**.",
        "data": None,
    },
    {
        "number": 2,
        "model": "local/demo",
        "figures": "",
        "prompt": "And now",
        "answer": "Done.",
        "data": "{'a': 1}",
    },
]
THREADS = {
    "threads": [
        {
            "key": "1",
            "name": "main",
            "count": 2,
            "figures": "12 tokens · local",
            "origin": "",
            "active": True,
        },
        {"key": "2", "name": "other", "count": 0, "figures": "", "origin": "", "active": False},
    ],
    "chosen": "1",
    "turns": TURNS,
    "notes": ["One note.", "Another note."],
}


class Lines(HTMLParser):
    """What a reader sees, a line for each block, without styles and without the tags a site does not know."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self._text: list[str] = []
        self.feed(html)
        self.close()
        self.lines = [" ".join(line.split()) for line in "".join(self._text).split("\n") if line.strip()]

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._text.append("\n" if tag in BLOCKS else " " if tag in ("td", "th") else "")

    def handle_endtag(self, tag: str) -> None:
        self._text.append("\n" if tag in BLOCKS else "")

    def handle_data(self, data: str) -> None:
        self._text.append(data)


RUN_LINES = (
    "4 tool calls",
    "1,204 lines",
    "exit 0",
    "2 files changed",
    "report.md new +7",
    "ask the carrier about March,",
    "shipping 512",
)
THREAD_LINES = (
    "2 threads",
    "main (active) 2 turns · 12 tokens · local",
    "other 0 turns",
    "main",
    "turn 1 · local/demo · 12 tokens",
    "Write it down",
    "in a.txt & <b>",
    "It is there.",
    "turn 2 · local/demo",
    "And now",
    "Done.",
    "{'a': 1}",
    "One note.",
    "Another note.",
)
FILE_LINES = ("virtual sandbox, 2 files · 13 B", "a.txt 1 B", "data/b.csv 12 B")
LINES = {"run": RUN_LINES, "threads": THREAD_LINES, "files": FILE_LINES}


def bundle_of(what: str) -> dict[str, str]:
    if what == "run":
        return copy_of(s.report_run() + s.report_end())
    if what == "threads":
        return static_threads(THREADS, "place")
    return static_listing("virtual", listing_of({"a.txt": 1, "data/b.csv": 12}), "place")


@pytest.mark.parametrize("what", LINES)
def test_without_styles_and_classes_every_fact_stands_on_its_line(what):
    lines = Lines(bundle_of(what)["text/html"]).lines
    missing = [wanted for wanted in LINES[what] if not any(wanted in line for line in lines)]
    assert missing == [], lines
    assert what != "threads" or lines == [*THREAD_LINES]


def test_prompt_and_answer_are_told_apart_without_styles():
    html = bundle_of("threads")["text/html"]
    quoted = [part.split("</blockquote>")[0] for part in html.split("<blockquote")[1:]]
    assert ["It is" in part or "Done." in part for part in quoted] == [False, False]
    assert ["Write it down" in quoted[0], "And now" in quoted[1]] == [True, True]


@pytest.mark.parametrize("widget", [False, True], ids=["as in Lab", "as in VS Code"])
@pytest.mark.parametrize("what", LINES)
def test_nbconvert_shows_the_copy(what, widget):
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "gone", "version_major": 2}}
    data = {**(view if widget else {}), **bundle_of(what)}
    output = nbformat.v4.new_output("display_data", data)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%runcell", outputs=[output])])
    html, _ = HTMLExporter(embed_images=True).from_notebook_node(notebook)
    lines = Lines(html).lines
    missing = [wanted for wanted in LINES[what] if not any(wanted in line for line in lines)]
    assert missing == []
    assert "model_id" not in html
