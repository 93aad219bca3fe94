"""The post-processor of pytest-notebook: a notebook that was run, made comparable with the saved one."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .normal_outputs import adopt
from .promotion import promote

PATH_VARIABLE = "RUNCELL_RECORDING"
"""Path of the notebook that is tested, while the plug-in tests it."""


def runcell(notebook: Any, resources: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Promote what the kernel kept to `metadata.runcell`; take over saved outputs that say the same.

    Times, costs, ids and token counts differ from run to run, also in a replay. An output that differs from
    the saved one in nothing else is replaced by it, so that only what has changed shows.
    """
    fresh = copy.deepcopy(notebook)
    saved = saved_notebook(fresh, resources)
    promote(fresh)
    if saved is not None:
        adopt(fresh, saved)
    return fresh, resources


def saved_notebook(notebook: Mapping[str, Any], resources: Mapping[str, Any]) -> Any:
    """Return the notebook on disk of which this one is a run; None when it is not found.

    Args:
        notebook: That was run.
        resources: Of the run, with the folder in which it ran.
    """
    wanted = _sources(notebook)
    named = os.environ.get(PATH_VARIABLE, "")
    folder = resources.get("metadata", {}).get("path") or "."
    paths = [Path(named)] if named.endswith(".ipynb") else sorted(Path(folder).glob("*.ipynb"))
    return next(
        (found for path in paths if (found := _read(path)) is not None and _sources(found) == wanted), None
    )


def _read(path: Path) -> Any:
    import nbformat

    try:
        return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, AttributeError, json.JSONDecodeError, nbformat.reader.NotJSONError):
        return None


def _sources(notebook: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(cell.get("cell_type", ""), cell.get("source", "")) for cell in notebook["cells"]]
