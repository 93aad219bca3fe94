"""The notebook that a runner executes, found by what its cells say: runners tell the kernel no name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from .notebook_file import read_notebook

MAX_NOTEBOOKS = 200
"""Notebooks of a folder that are looked at."""

MAX_BYTES = 20_000_000
"""Larger ones are passed over."""


def notebooks_with(folder: Path, running: str, before: Iterable[str]) -> list[Path]:
    """Return the notebooks of a folder that the running cell can be of, the likeliest only; never raises.

    Blocking.

    Args:
        folder: Of the kernel.
        running: Source of the running cell; the notebook must have it.
        before: Sources of the cells that ran before it; the more of them it has, the likelier it is.

    Returns:
        Those that are equally likely, by name; usually one, or none.
    """
    if not _plain(running):
        return []
    wanted = Counter(_plain(source) for source in before)
    found: dict[Path, int] = {}
    for path in _small_ones(folder):
        sources = Counter(sources_of(read_notebook(path)))
        if sources[_plain(running)]:
            found[path] = (sources & wanted).total()
    best = max(found.values(), default=0)
    return [path for path, alike in found.items() if alike == best]


def sources_of(notebook: Any) -> list[str]:
    """Return the sources of the code cells of a notebook, as JSON has it, without blanks around them."""
    return [_plain(_text(cell.get("source"))) for cell in _code_cells(notebook)]


def ids_of(notebook: Any) -> list[tuple[str, str]]:
    """Return source and id of each code cell that has an id, in order."""
    cells = [(_plain(_text(cell.get("source"))), cell.get("id")) for cell in _code_cells(notebook)]
    return [(source, cell) for source, cell in cells if isinstance(cell, str)]


def _code_cells(notebook: Any) -> list[dict[str, Any]]:
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    found = cells if isinstance(cells, list) else []
    return [cell for cell in found if isinstance(cell, dict) and cell.get("cell_type") == "code"]


def _small_ones(folder: Path) -> list[Path]:
    try:
        paths = sorted(islice(folder.glob("*.ipynb"), MAX_NOTEBOOKS))
        return [path for path in paths if path.stat().st_size <= MAX_BYTES]
    except OSError:
        return []


def _text(source: Any) -> str:
    parts = source if isinstance(source, list) else [source]
    return "".join(part for part in parts if isinstance(part, str))


def _plain(source: str) -> str:
    return source.strip()
