"""A folder of a user's own, tested from the outside: a process of its own, without keys and without ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

KEYS = ("_API_KEY", "_AUTH_TOKEN", "_BASE_URL", "RUNCELL_", "PYTEST_", "COV_")

Pytest = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not any(part in name for part in KEYS)}
    return {**kept, "PY_COLORS": "0", **more}


def run_pytest_in(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, as its owner would."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    known = {"cwd": folder, "env": environment(**env), "capture_output": True, "text": True}
    return subprocess.run(command, timeout=180, check=False, **known)


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
