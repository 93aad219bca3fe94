"""The notebooks run without a key, and say what their saved outputs say."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.notebook.conftest import KEYS

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
VARIES = [
    (re.compile(r"\d+\.\d+ s"), "T s"),
    (re.compile(r"[\d.,]+k? (in|out|tokens)|tokens=\d+"), "N"),
    (re.compile(r"session_id='\w+'"), "session_id=S"),
    (re.compile(r"[ \t]+"), " "),
]


def said(notebook: nbformat.NotebookNode) -> list[tuple[str, str]]:
    """What each cell printed or showed as text, without times and token counts."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            text = output.get("text") or output.get("data", {}).get("text/plain") or str(output.get("ename"))
            for pattern, name in VARIES:
                text = pattern.sub(name, text)
            found.append((cell.source, text.strip()))
    return found


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request) -> Path:
    return request.param


def test_a_notebook_says_again_what_it_has_said(path, monkeypatch):
    for name in [name for name in os.environ if any(part in name for part in KEYS)]:
        monkeypatch.delenv(name)
    saved = nbformat.read(path, as_version=4)
    fresh = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(fresh, timeout=120, coalesce_streams=True, resources=resources).execute()
    assert said(fresh) == said(saved)


def test_a_notebook_keeps_nothing_of_the_machine(path):
    text = path.read_text("utf-8")
    assert str(Path.home()) not in text
    assert not re.search(r"/(home|root|Users|tmp|work)/", text)
    assert "widget-state" not in text
    assert "widget-view" not in text
    assert "runcell.turn" not in text  # the reader begins with an empty thread
    assert len(text) < 100_000


def test_every_code_cell_has_been_run(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
