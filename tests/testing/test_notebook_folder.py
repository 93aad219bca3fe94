"""Notebooks of a user as tests: recorded once, then replayed; a change is a failure that says what it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest

from .folders import Pytest, change, run_pytest_in, write_notebook

LOAD = "%load_ext runcell_nb"
FIRST = "%%runcell --out r\nCreate hello.txt with the text: hello"
SECOND = "%%runcell\nCount the lines of hello.txt."
TOOLS = 'def look_up_stock(item: str) -> str:\n    """Say how many there are."""\n    return f"7 {item}"'
ASK = "%%runcell --tools look_up_stock\nCall look_up_stock for nuts."


def record(folder: Path, name: str, *sources: str) -> bytes:
    """Record a notebook with the offline demo."""
    path = folder / name
    write_notebook(path, *sources)
    done = run_pytest_in(folder, "--nb-test-files", "--runcell-record")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"renewed {name}: " in done.stdout
    return path.read_bytes()


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return record(tmp_path_factory.mktemp("story"), "story.ipynb", LOAD, FIRST, SECOND, "print(len(r.files))")


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return record(tmp_path_factory.mktemp("stock"), "stock.ipynb", LOAD, TOOLS, ASK)


@pytest.fixture
def notebook(story: bytes, tmp_path: Path) -> Path:
    """A notebook that was recorded."""
    path = tmp_path / "story.ipynb"
    path.write_bytes(story)
    return path


@pytest.fixture
def with_tool(stock: bytes, tmp_path: Path) -> Path:
    """A recorded notebook with a tool of its own."""
    path = tmp_path / "stock.ipynb"
    path.write_bytes(stock)
    return path


def recorded(path: Path) -> dict:
    return nbformat.read(path, as_version=4).metadata["runcell"]["recordings"]


def test_recorded_once_replayed_ever_after(notebook: Path, run_pytest: Pytest) -> None:
    before = notebook.read_bytes()
    for _ in range(2):
        done = run_pytest("--nb-test-files")
        assert done.returncode == 0, done.stdout + done.stderr
    assert notebook.read_bytes() == before
    assert [cell["cell"] for cell in recorded(notebook)["cells"]] == ["cell-2", "cell-3"]


@pytest.mark.slow
def test_it_does_not_ask_the_model(notebook: Path, run_pytest: Pytest) -> None:
    """The recorded answer is changed by hand: a replay says that, the demo would not."""
    text = notebook.read_text("utf-8")
    assert "Created hello.txt with 1 line." in text
    notebook.write_text(
        text.replace("Created hello.txt with 1 line.", "Done, by hand and by heart ok."), "utf-8"
    )
    done = run_pytest("--nb-test-files")
    assert done.returncode == 0, done.stdout


def test_a_changed_prompt_is_a_failure_with_the_difference(notebook: Path, run_pytest: Pytest) -> None:
    change(notebook, "Create hello.txt", "Create hallo.txt")
    done = run_pytest("--nb-test-files")
    assert done.returncode == 1
    assert "-Create hello.txt with the text: hello" in done.stdout
    assert "+Create hallo.txt with the text: hello" in done.stdout
    assert "pytest --runcell-record" in done.stdout


def test_a_changed_tool_is_a_failure_with_the_difference(with_tool: Path, run_pytest: Pytest) -> None:
    change(with_tool, "Say how many there are.", "Say how many are left.")
    done = run_pytest("--nb-test-files")
    assert done.returncode == 1
    assert "tool 'look_up_stock': description changed" in done.stdout


@pytest.mark.slow
def test_a_changed_schema_is_a_failure_with_the_difference(with_tool: Path, run_pytest: Pytest) -> None:
    assert run_pytest("--nb-test-files").returncode == 0
    change(with_tool, "item: str", "item: int")
    assert "tool 'look_up_stock': schema changed" in run_pytest("--nb-test-files").stdout


@pytest.mark.slow
def test_a_tool_that_answers_otherwise_is_a_failure_with_the_difference(
    with_tool: Path, run_pytest: Pytest
) -> None:
    change(with_tool, 'f"7 {item}"', 'f"8 {item}"')
    done = run_pytest("--nb-test-files")
    assert done.returncode == 1
    assert "-7 nuts" in done.stdout and "+8 nuts" in done.stdout


@pytest.mark.slow
def test_a_recorded_step_that_is_never_asked_is_a_failure(notebook: Path, run_pytest: Pytest) -> None:
    value = nbformat.read(notebook, as_version=4)
    steps = value.metadata["runcell"]["recordings"]["cells"]
    steps[0]["steps"] += steps[1]["steps"][:1]
    nbformat.write(value, notebook)
    done = run_pytest("--nb-test-files")
    assert done.returncode == 1
    assert "never asked" in done.stdout


def test_a_notebook_without_a_recording_says_how_to_make_one(tmp_path: Path, run_pytest: Pytest) -> None:
    write_notebook(tmp_path / "new.ipynb", LOAD, FIRST)
    done = run_pytest("--nb-test-files")
    assert done.returncode == 1
    assert "Nothing is recorded of this notebook" in done.stdout
    assert "pytest --runcell-record" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda value: value.update(version=2), "reads up to 1"),
        (lambda value: value.update(requests="gone"), "requests"),
        (lambda value: value["requests"][0].pop("responses"), "responses"),
    ],
)
def test_a_damaged_recording_is_a_sentence_and_is_not_lost(
    notebook: Path, run_pytest: Pytest, damage, said: str
) -> None:
    value = nbformat.read(notebook, as_version=4)
    damage(value.metadata["runcell"]["recordings"])
    nbformat.write(value, notebook)
    before = notebook.read_bytes()
    done = run_pytest("--nb-test-files")
    assert done.returncode == 1
    assert said in done.stdout and "Traceback" not in done.stdout
    assert notebook.read_bytes() == before
    assert run_pytest("--nb-test-files", "--runcell-record").returncode == 0
    assert run_pytest("--nb-test-files").returncode == 0


@pytest.mark.slow
def test_an_output_that_changed_is_a_failure_that_shows_only_that(notebook: Path, run_pytest: Pytest) -> None:
    change(notebook, "print(len(r.files))", "print(len(r.files) + 1)")
    done = run_pytest("--nb-test-files")
    assert done.returncode == 1
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    assert re.search(r"^-\s*1\s*$", said, re.MULTILINE) and re.search(r"^\+\s*2\s*$", said, re.MULTILINE), (
        said
    )
    assert "text/html" not in done.stdout  # the runs say what they said


@pytest.mark.slow
def test_a_recording_in_a_file_and_figures_of_the_notebook_s_own(tmp_path: Path, run_pytest: Pytest) -> None:
    """What commands say of the recording differs in a replay; money and dates that cells print may not."""
    own = 'print("$5 for 7 in stock, due 2024-01-01 10:00, took 5 s")'
    record(tmp_path, "shop.ipynb", f"{LOAD}\n%runcell record file", FIRST, "%runcell usage", "%runcell", own)
    path = tmp_path / "shop.ipynb"
    before = path.read_bytes(), (tmp_path / "shop.runcell.json").read_bytes()
    done = run_pytest("--nb-test-files")
    assert done.returncode == 0, done.stdout
    assert before == (path.read_bytes(), (tmp_path / "shop.runcell.json").read_bytes())
    for old, new in (("$5", "$6"), ("7 in", "8 in"), ("2024-", "2031-"), ("5 s", "50 s")):
        change(path, old, new)
        assert run_pytest("--nb-test-files").returncode == 1, new
        change(path, new, old)


@pytest.mark.slow
def test_a_cell_that_is_gone_is_dropped_when_the_recording_is_renewed(
    notebook: Path, run_pytest: Pytest
) -> None:
    value = nbformat.read(notebook, as_version=4)
    value.cells = [cell for cell in value.cells if cell.source != SECOND]
    nbformat.write(value, notebook)
    assert run_pytest("--nb-test-files").returncode == 0
    change(notebook, "text: hello", "text: world")
    assert run_pytest("--nb-test-files", "--runcell-record").returncode == 0
    assert [cell["cell"] for cell in recorded(notebook)["cells"]] == ["cell-2"]


@pytest.mark.slow
def test_a_failing_notebook_is_left_as_it_is_when_recording(notebook: Path, run_pytest: Pytest) -> None:
    change(notebook, "print(len(r.files))", "raise RuntimeError('no')")
    before = notebook.read_bytes()
    done = run_pytest("--nb-test-files", "--runcell-record")
    assert done.returncode == 1
    assert notebook.read_bytes() == before


@pytest.mark.slow
def test_what_the_user_has_set_stays(notebook: Path, run_pytest: Pytest, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nnb_diff_ignore =\n    /cells/*/outputs\n    /metadata\n")
    change(notebook, "print(len(r.files))", "print('something else')")
    done = run_pytest("--nb-test-files")
    assert (done.returncode == 1 and "execution_count" in done.stdout + done.stderr) or done.returncode == 0


def test_two_options_that_contradict_each_other(run_pytest: Pytest) -> None:
    done = run_pytest("--runcell-record", "--runcell-replay=strict")
    assert done.returncode == 4
    assert "give one of them" in done.stderr


def test_the_recording_of_a_notebook_can_be_read(notebook: Path) -> None:
    value = recorded(notebook)
    assert value["version"] == 1
    assert "hello" in json.dumps(value)
