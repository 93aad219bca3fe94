"""Runs the notebooks of this folder, recording what the offline demo answers, and saves them.

Nothing of the machine is kept: no paths, no state of widgets, no execution times; of the conversations only
the recordings, from which the tests replay the notebooks. The reader begins with an empty thread.

    python notebooks/save.py            # all
    python notebooks/save.py quickstart # one
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from runcell_nb.testing import promote

FOLDER = Path(__file__).parent
BELONGS_TO_ONE = ("application/vnd.jupyter.widget-view+json", "application/vnd.runcell.turn+json")
"""Of one execution: a widget without its kernel shows an error, and the reader's thread is not ours."""


def executed(path: Path) -> nbformat.NotebookNode:
    """Run a notebook without any key set, so that the offline demo answers."""
    for name in [name for name in os.environ if name.endswith("_API_KEY") or name.startswith("RUNCELL_")]:
        del os.environ[name]
    os.environ.update(RUNCELL_RECORD="1", RUNCELL_REPLAY="off", RUNCELL_RECORDING=str(path))
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.pop("runcell", None)
    resources = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(notebook, timeout=120, coalesce_streams=True, resources=resources).execute()
    return notebook


def cleaned(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Drop what belongs to one execution."""
    promote(notebook)
    recordings = notebook.metadata.get("runcell", {}).get("recordings")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        **({} if recordings is None else {"runcell": {"version": 1, "recordings": recordings}}),
    }
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            for kind in BELONGS_TO_ONE:
                output.get("data", {}).pop(kind, None)
    return notebook


if __name__ == "__main__":
    for path in sorted(FOLDER.glob(f"{sys.argv[1] if len(sys.argv) > 1 else '*'}.ipynb")):
        nbformat.write(cleaned(executed(path)), path)
        print(f"saved {path.name}")
