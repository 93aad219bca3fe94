"""The notebooks are tests of their own: replayed, twice in a row, without a network, nothing to set up."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
import pytest

from tests.testing.folders import run_pytest_in

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))

NO_NETWORK = """
import socket

def refuse(connect):
    def connected(self, address):
        net = self.family in (socket.AF_INET, socket.AF_INET6)
        if net and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"no network in this test, not even to {address!r}")
        return connect(self, address)
    return connected

socket.socket.connect = refuse(socket.socket.connect)
socket.socket.connect_ex = refuse(socket.socket.connect_ex)
"""


def test_the_notebooks_say_again_what_they_said(tmp_path: Path) -> None:
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(NO_NETWORK)
    folder = tmp_path / "notebooks"
    folder.mkdir()
    for path in NOTEBOOKS:
        shutil.copy(path, folder)
    for _ in range(2):
        done = run_pytest_in(folder, "--nb-test-files", PYTHONPATH=str(tmp_path / "guard"))
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"{len(NOTEBOOKS)} passed" in done.stdout
    assert [path.read_bytes() for path in NOTEBOOKS] == [
        (folder / path.name).read_bytes() for path in NOTEBOOKS
    ]


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request) -> Path:
    return request.param


def test_a_notebook_keeps_nothing_of_the_machine(path):
    text = path.read_text("utf-8")
    assert str(Path.home()) not in text
    assert not re.search(r"/(home|root|Users|tmp|work)/", text)
    assert "widget-state" not in text
    assert "widget-view" not in text
    assert "runcell.turn" not in text  # the reader begins with an empty thread
    assert len(text) < 100_000


def test_every_code_cell_has_been_run(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
