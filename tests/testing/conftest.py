"""A folder of a user's own, tested from the outside: a process of its own, without keys and without ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

KEYS = ("_API_KEY", "_AUTH_TOKEN", "_BASE_URL", "RUNCELL_", "PYTEST_", "COV_")

Pytest = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not any(part in name for part in KEYS)}
    return {**kept, "PY_COLORS": "0", **more}


@pytest.fixture
def run_pytest(tmp_path: Path) -> Pytest:
    """Run pytest in the folder of the test."""

    def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment(**env),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return run


def write_notebook(path: Path, *sources: str) -> None:
    """Write a notebook with code cells of these sources, not yet run."""
    cells = [new_markdown_cell("# A notebook"), *map(new_code_cell, sources)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


def change(path: Path, old: str, new: str) -> None:
    """Change the source of a cell."""
    notebook = nbformat.read(path, as_version=4)
    hits = [cell for cell in notebook.cells if old in cell.source]
    assert hits, old
    for cell in hits:
        cell.source = cell.source.replace(old, new)
    nbformat.write(notebook, path)
