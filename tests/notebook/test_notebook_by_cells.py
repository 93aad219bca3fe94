from __future__ import annotations

from pathlib import Path

import pytest

from runcell_nb.notebook.notebook_by_cells import ids_of, notebooks_with
from tests.testing.folders import write_notebook


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_notebook(tmp_path / "a.ipynb", "x = 1", "%%runcell\ngo")
    write_notebook(tmp_path / "b.ipynb", "x = 2", "%%runcell\ngo")
    write_notebook(tmp_path / "c.ipynb", "x = 1", "%%runcell\nstop")
    (tmp_path / "damaged.ipynb").write_text("{")
    (tmp_path / "other.ipynb").write_text('{"cells": [{"source": 7}, 3, {"cell_type": "code"}]}')
    return tmp_path


@pytest.mark.parametrize(
    ("running", "before", "found"),
    [
        ("%%runcell\ngo", ["x = 1"], ["a"]),
        ("%%runcell\ngo\n", ["import os", " x = 2 "], ["b"]),
        ("%%runcell\ngo", [], ["a", "b"]),
        ("%%runcell\nstop", ["x = 2"], ["c"]),
        ("%%runcell\nelse", ["x = 1"], []),
        ("", [], []),
    ],
)
def test_the_likeliest_notebook_is_found(
    folder: Path, running: str, before: list[str], found: list[str]
) -> None:
    assert [path.stem for path in notebooks_with(folder, running, before)] == found


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert notebooks_with(tmp_path / "gone", "x", []) == []


@pytest.mark.parametrize(
    "notebook", [None, {}, {"cells": 3}, {"cells": [None, {"cell_type": "code", "id": 4}]}]
)
def test_anything_can_stand_in_a_notebook(notebook) -> None:
    assert ids_of(notebook) == []
