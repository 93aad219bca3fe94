"""Restart + Run All of a notebook that makes threads and sandboxes: real kernels, the same result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from .kernels import Kernel
from .test_keeping import kernel_at, run_cell

SESSION = "get_ipython().magics_manager.registry['RuncellMagics'].session"


def writes(path: str, content: str) -> str:
    """A cell whose run writes a file."""
    call = {"tool": "write", "input": {"file_path": path, "content": content}}
    return f"m = ScriptedModel([[{call!r}], 'wrote {path}'])"


CELLS = {
    "s1": writes("a.txt", "one"),
    "r1": "%%runcell -m m\nfirst",
    "t1": "%runcell thread new other",
    "s2": writes("b.txt", "two"),
    "r2": "%%runcell -m m\nsecond",
    "t2": "%runcell thread switch main",
    "t3": "%runcell thread fork alt",
    "b1": "%runcell sandbox new box",
    "s3": writes("c.txt", "three"),
    "r3": "%%runcell -m m\nthird",
    "b2": "%runcell sandbox switch main",
    "t4": "%runcell thread switch main",
    "s4": writes("d.txt", "four"),
    "r4": "%%runcell -m m\nfourth",
}
LOOK = f"""
import json
found = {{}}
for name in {SESSION}.shelf.names:
    sandbox = await {SESSION}.shelf.get(name)
    await {SESSION}.rebuilt(name)
    found[name] = [(f.path, await sandbox.read_text_file(f.path)) for f in await sandbox.list_files()]
threads = {{t.name: [m.content for m in t.thread.messages] for t in {SESSION}.book}}
active = [{SESSION}.book.active.name, {SESSION}.shelf.active]
print(json.dumps([active, threads, found]))
"""


def run_all(kernel: Kernel) -> None:
    for cell_id, code in CELLS.items():
        done = run_cell(kernel, code, cell_id)
        assert done.ok, (cell_id, done.error)


def look(kernel: Kernel) -> Any:
    done = kernel.run(LOOK)
    assert done.ok, done.error
    return json.loads(done.text)


def saved(kernel: Kernel, path: Path) -> None:
    """Save the notebook as its front end does, with what was kept last."""
    kept = json.loads(kernel.run(f"print(json.dumps({SESSION}._keeping._memory._kept))").text)
    notebook = new_notebook(
        cells=[new_code_cell(code, id=cell_id) for cell_id, code in CELLS.items()], metadata={"runcell": kept}
    )
    nbformat.write(notebook, path)


def test_run_all_again_and_again_leaves_the_same_threads_and_sandboxes(tmp_path: Path) -> None:
    path = tmp_path / "work.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(c, id=i) for i, c in CELLS.items()]), path)
    seen = []
    for times in (1, 2, 1):
        kernel = kernel_at(path)
        try:
            if seen:
                run_cell(kernel, "%runcell", "s1")  # takes up what was kept
                assert look(kernel) == seen[0]
            for _ in range(times):
                run_all(kernel)
                seen.append(look(kernel))
            saved(kernel, path)
        finally:
            kernel.close()
    first = seen[0]
    assert first[0] == ["main", "main"]
    assert first[1].keys() == {"main", "other", "alt"}
    assert first[2] == {
        "main": [["a.txt", "one"], ["b.txt", "two"], ["d.txt", "four"]],
        "box": [["c.txt", "three"]],
    }
    assert all(found == first for found in seen)
