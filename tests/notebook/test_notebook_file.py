"""The notebook's file is found only where the cell stands, and read whatever it holds."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from runcell_nb.notebook import notebook_file
from runcell_nb.notebook.notebook_file import find_notebook, read_notebook

CELL = "cafacea4"


def notebook(path: Path, *ids: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": [{"id": one} for one in ids], "metadata": {}}))
    return path


@pytest.mark.parametrize("cell_id", [CELL, None])
def test_what_a_person_set_comes_first(tmp_path: Path, cell_id: str | None) -> None:
    told, code, session = (notebook(tmp_path / f"{name}.ipynb", CELL) for name in "abc")
    environ = {"RUNCELL_NOTEBOOK": str(told), "JPY_SESSION_NAME": str(session)}
    variables = {"__vsc_ipynb_file__": str(code)}
    assert find_notebook(environ, variables, cell_id) == told
    del environ["RUNCELL_NOTEBOOK"]
    assert find_notebook(environ, variables, cell_id) == code
    assert find_notebook(environ, {}, cell_id) == (session if cell_id else None)


def test_a_file_without_the_cell_is_another_notebook(tmp_path: Path) -> None:
    stale = str(notebook(tmp_path / "stale.ipynb", "other"))
    right = notebook(tmp_path / "right.ipynb", "x", CELL)
    environ = {"RUNCELL_NOTEBOOK": stale, "JPY_SESSION_NAME": str(right)}
    assert find_notebook(environ, {"__vsc_ipynb_file__": stale}, CELL) == right
    assert find_notebook(environ | {"JPY_SESSION_NAME": stale}, {}, CELL) is None


def test_the_address_of_a_cell_is_no_id(tmp_path: Path) -> None:
    path = notebook(tmp_path / "code.ipynb", "x")
    address = "vscode-notebook-cell:/w/code.ipynb#W0sZmlsZQ=="
    assert find_notebook({}, {"__vsc_ipynb_file__": str(path)}, address) == path
    assert find_notebook({"JPY_SESSION_NAME": str(path)}, {}, address) is None


@pytest.mark.parametrize("name", ["deep/a.ipynb", "a.ipynb"])
def test_a_relative_name_starts_at_the_folder_of_the_kernel_or_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = notebook(tmp_path / "deep" / "a.ipynb", CELL)
    monkeypatch.chdir(path.parent if name == "a.ipynb" else tmp_path)
    assert find_notebook({"JPY_SESSION_NAME": name}, {}, CELL) == path
    monkeypatch.chdir(path.parent)
    assert find_notebook({"JPY_SESSION_NAME": name}, {}, CELL) == path


@pytest.mark.parametrize("name", ["", "\0", "x" * 5_000, "~nobody-of-that-name/a.ipynb", "/dev/zero", "."])
def test_names_that_lead_nowhere(name: str) -> None:
    environ = {"RUNCELL_NOTEBOOK": name, "JPY_SESSION_NAME": name}
    assert find_notebook(environ, {"__vsc_ipynb_file__": name}, CELL) is None


@pytest.mark.parametrize("value", [None, 3, ["a.ipynb"], Path("a.ipynb")])
def test_a_variable_that_only_looks_like_the_one_of_vs_code(value: object) -> None:
    assert find_notebook({}, {"__vsc_ipynb_file__": value}, CELL) is None


def test_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_notebook({"JPY_SESSION_NAME": "a.ipynb"}, {}, CELL) is None


@pytest.mark.parametrize("content", [{}, {"cells": {}}, {"cells": [CELL, None, {"id": [CELL]}]}])
def test_content_that_is_no_notebook(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(content))
    assert find_notebook({"RUNCELL_NOTEBOOK": str(path)}, {}, CELL) is None
    assert read_notebook(path) == content


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b'"a"', b"\xff\xfe\x00", b"[" * 200_000, b'{"n": ' + b"9" * 10_000 + b"}"],
    ids=["empty", "cut", "list", "text", "bytes", "deep", "digits"],
)
def test_damaged_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.ipynb"
    path.write_bytes(data)
    assert read_notebook(path) is None


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        path.write_bytes('{"é": 1}'.encode(encoding))
        assert read_notebook(path) == {"é": 1}


def test_no_file_no_folder_no_pipe(tmp_path: Path) -> None:
    assert read_notebook(tmp_path / "none.ipynb") is None
    assert read_notebook(tmp_path) is None
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.ipynb")
        assert read_notebook(tmp_path / "pipe.ipynb") is None


def test_a_file_that_is_too_large_is_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = notebook(tmp_path / "a.ipynb", CELL)
    monkeypatch.setattr(notebook_file, "MAX_NOTEBOOK_BYTES", path.stat().st_size)
    assert read_notebook(path) is not None
    monkeypatch.setattr(notebook_file, "MAX_NOTEBOOK_BYTES", path.stat().st_size - 1)
    assert read_notebook(path) is None


@pytest.mark.parametrize("cut", [0, 20])
def test_a_file_is_read_again_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    path = notebook(tmp_path / "a.ipynb", CELL)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    monkeypatch.setattr(notebook_file.time, "sleep", lambda _seconds: path.write_bytes(whole))
    assert read_notebook(path) == json.loads(whole)
