"""The notebook's file on disk, found and read from within its kernel."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

MAX_NOTEBOOK_BYTES = 200_000_000
"""Larger files are not read."""

_PAUSES = (0.1, 0.2, 0.4, 0.0)
"""Seconds between the attempts to read a file that is being written."""

_CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def find_notebook(environ: Mapping[str, str], user_ns: Mapping[str, Any], cell_id: str | None) -> Path | None:
    """Return the file of the notebook that a cell stands in; never raises. Blocking.

    Looked for in this order: `RUNCELL_NOTEBOOK` (set by a person), `__vsc_ipynb_file__` (a variable of
    VS Code), `JPY_SESSION_NAME` (set by the Jupyter server). Each can be wrong: they stay as they are when
    the notebook is renamed, and kernels that are started by a kernel inherit the environment. So the
    file must hold the cell.

    Args:
        environ: The environment of the kernel.
        user_ns: Variables of the user.
        cell_id: Of the execute request. What is no id of a notebook's cell (VS Code sends an address) counts
            as None: then `JPY_SESSION_NAME` is not followed, and the others are not checked.

    Returns:
        An absolute path; None when no file is there, or the cell is not in it (a new one not yet saved).
    """
    known_id = cell_id if cell_id and _CELL_ID.fullmatch(cell_id) else None
    named = [environ.get("RUNCELL_NOTEBOOK"), user_ns.get("__vsc_ipynb_file__")]
    if known_id is not None:
        named.append(environ.get("JPY_SESSION_NAME"))
    places = (place for name in named for place in _places(name))
    return next((place for place in places if _holds(place, known_id)), None)


def read_notebook(path: Path) -> dict[str, Any] | None:
    """Return the content of a notebook's file, unchecked but for being a JSON object; never raises.

    Blocking: a Jupyter server writes in place, and whoever reads in that moment finds an empty or a cut
    file, so a file that is no JSON is read again, for less than a second.

    Args:
        path: Of the file.

    Returns:
        The notebook; None when it cannot be read, is larger than `MAX_NOTEBOOK_BYTES` or no JSON object.
    """
    for pause in _PAUSES:
        try:
            return _read(path)
        except ValueError:
            time.sleep(pause)
        except (OSError, RecursionError, MemoryError):
            return None
    return None


def _read(path: Path) -> dict[str, Any] | None:
    if not path.is_file():  # a pipe would block
        return None
    with path.open("rb") as opened:
        data = opened.read(MAX_NOTEBOOK_BYTES + 1)
    content = None if len(data) > MAX_NOTEBOOK_BYTES else json.loads(data)
    return content if isinstance(content, dict) else None


def _places(name: object) -> Iterator[Path]:
    """Yield where a name can lead to: a relative one starts at the kernel's folder, or at the server's."""
    if not isinstance(name, str) or not name:
        return
    try:
        path = Path(name).expanduser()
        folder = Path.cwd()
    except (OSError, RuntimeError):  # no home, or the kernel's folder was removed
        return
    yield folder / path
    if not path.is_absolute():
        yield folder / path.name


def _holds(path: Path, cell_id: str | None) -> bool:
    notebook = read_notebook(path)
    if notebook is None:
        return False
    cells = notebook.get("cells")
    if not isinstance(cells, list):
        return False
    return cell_id is None or any(isinstance(cell, dict) and cell.get("id") == cell_id for cell in cells)
