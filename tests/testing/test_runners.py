"""Everything that executes notebooks replays them: none of these tells the kernel which notebook it runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .folders import environment, run_pytest_in, write_notebook

ANSWER = "Created hello.txt with 1 line."
BY_HAND = "This is what the recording says."


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A recorded notebook whose recorded answer was changed by hand, which no model would say."""
    folder = tmp_path_factory.mktemp("recorded")
    path = folder / "story.ipynb"
    write_notebook(path, "%load_ext runcell_nb", "%%runcell\nCreate hello.txt with the text: hello")
    done = run_pytest_in(folder, "--nb-test-files", "--runcell-record")
    assert done.returncode == 0, done.stdout + done.stderr
    text = path.read_text("utf-8")
    assert ANSWER in text
    return text.replace(ANSWER, BY_HAND).encode()


RUNNERS = {
    "jupyter execute": ["jupyter", "execute", "--output=out.ipynb", "story.ipynb"],
    "nbconvert": [
        "jupyter",
        "nbconvert",
        "--execute",
        "--to",
        "notebook",
        "--output",
        "out.ipynb",
        "story.ipynb",
    ],
    "papermill": ["papermill", "story.ipynb", "out.ipynb", "-p", "number", "7"],
    "nbmake": ["pytest", "--nbmake", "--overwrite", "story.ipynb"],
}


@pytest.mark.slow
@pytest.mark.parametrize("runner", RUNNERS)
def test_a_runner_replays(recorded: bytes, tmp_path: Path, runner: str) -> None:
    path = tmp_path / "story.ipynb"
    path.write_bytes(recorded)
    program, *arguments = RUNNERS[runner]
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    env = environment(RUNCELL_REPLAY="strict")
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    made = tmp_path / "out.ipynb" if (tmp_path / "out.ipynb").exists() else path
    text = made.read_text("utf-8")
    assert BY_HAND in text and "$0 (replayed)" in text


@pytest.mark.slow
def test_two_notebooks_that_could_be_meant_are_a_sentence(recorded: bytes, tmp_path: Path) -> None:
    (tmp_path / "story.ipynb").write_bytes(recorded)
    (tmp_path / "story2.ipynb").write_bytes(recorded.replace(BY_HAND.encode(), ANSWER.encode()))
    command = [str(Path(sys.executable).with_name("jupyter")), "execute", "--output=out.ipynb", "story.ipynb"]
    known = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 180}
    done = subprocess.run(command, env=environment(RUNCELL_REPLAY="strict"), check=False, **known)
    assert done.returncode == 1
    assert "could be 'story.ipynb' or 'story2.ipynb'" in done.stderr and "RUNCELL_RECORDING" in done.stderr
    named = environment(RUNCELL_REPLAY="strict", RUNCELL_RECORDING="story2.ipynb")
    assert subprocess.run(command, env=named, check=False, **known).returncode == 0
    assert ANSWER in (tmp_path / "out.ipynb").read_text("utf-8")


@pytest.mark.slow
def test_notebooks_that_begin_alike_are_not_mixed_up(recorded: bytes, tmp_path: Path) -> None:
    """The first cell of a project's notebooks is often the same in all of them."""
    setup = "%load_ext runcell_nb\\n%runcell record"
    text = recorded.decode().replace("%load_ext runcell_nb", setup)
    (tmp_path / "story.ipynb").write_text(text, "utf-8")
    (tmp_path / "a_first.ipynb").write_text(text.replace("hello", "other"), "utf-8")
    command = [str(Path(sys.executable).with_name("jupyter")), "execute", "--output=out.ipynb", "story.ipynb"]
    known = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 180}
    done = subprocess.run(command, env=environment(RUNCELL_REPLAY="strict"), check=False, **known)
    assert done.returncode == 0, done.stderr
    assert BY_HAND in (tmp_path / "out.ipynb").read_text("utf-8")
