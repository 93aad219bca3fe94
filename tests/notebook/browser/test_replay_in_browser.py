"""Recorded in a page, saved, restarted and replayed: the demo stands for a model, and is not asked again."""

from __future__ import annotations

import json

import pytest

from .conftest import OpenNotebook, kept, kept_messages

pytestmark = pytest.mark.slow

SETUP = "%load_ext runcell_nb\n%runcell record\n%runcell replay auto"
FIRST = "%%runcell\nCreate a.txt with the text: one"
SECOND = "%%runcell\nAppend two to a.txt"


@pytest.mark.parametrize("front_end", ["lab", "notebook"])
async def test_run_all_after_a_restart_is_a_replay(open_notebook: OpenNotebook, front_end: str) -> None:
    notebook = await open_notebook([SETUP, FIRST, SECOND, "%runcell replay"], front_end=front_end)
    await notebook.run_all()
    await kept_messages(notebook.path, 4)
    recorded = kept(notebook.path)["recordings"]
    assert [cell["prompt"] for cell in recorded["cells"]] == [
        FIRST.partition("\n")[2],
        SECOND.partition("\n")[2],
    ]
    await notebook.restart()
    await notebook.run_all()
    for cell in (1, 2):
        assert "$0 (replayed)" in await notebook.output(cell).inner_text()
    assert "were replayed in this kernel" in await notebook.output(3).inner_text()
    await kept_messages(notebook.path, 4)
    assert kept(notebook.path)["recordings"] == recorded
    await notebook.set_source(0, SETUP.replace("auto", "strict"))
    await notebook.set_source(2, SECOND.replace("two", "three"))
    await notebook.run_cell(0)
    await notebook.run_cell(2)
    said = await notebook.output(2).inner_text()
    assert "-Append two to a.txt" in said and "+Append three to a.txt" in said
    await notebook.save()
    assert json.dumps(kept(notebook.path)["recordings"]) == json.dumps(recorded)
