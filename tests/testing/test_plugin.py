"""The plug-in in the pytest runs of others: light, and out of the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from runcell_nb.testing import promote
from runcell_nb.testing.normal_outputs import TURN_MIME, adopt, normal_output, normal_run, normal_text

from .folders import Pytest, environment, run_pytest_in, write_notebook

HEAVY = ("litellm", "IPython", "ipywidgets", "nbformat", "bashkit", "pydantic", "runcell_nb.core.agent")


def test_it_loads_nothing_heavy() -> None:
    code = f"import sys, runcell_nb.testing.plugin; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_works_where_pytest_notebook_is_not(tmp_path: Path, run_pytest: Pytest) -> None:
    (tmp_path / "test_it.py").write_text(
        "import os\ndef test_it(runcell_model):\n"
        "    assert os.environ['RUNCELL_REPLAY'] == 'strict'\n"
        "    assert os.environ['RUNCELL_TRUST_RECORDING'] == '1'\n"
    )
    done = run_pytest("-p", "no:nb_regression")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "env", "mode"),
    [
        ((), {}, "strict"),
        ((), {"RUNCELL_REPLAY": "auto"}, "auto"),
        (("--runcell-replay=off",), {"RUNCELL_REPLAY": "auto"}, "off"),
        (("--runcell-record",), {"RUNCELL_REPLAY": "strict"}, "off"),
    ],
)
def test_what_says_the_mode(tmp_path: Path, run_pytest: Pytest, arguments, env, mode: str) -> None:
    (tmp_path / "test_it.py").write_text(
        f"import os\ndef test_it():\n    assert os.environ['RUNCELL_REPLAY'] == {mode!r}\n"
    )
    done = run_pytest(*arguments, **env)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_fixture_of_pytest_notebook(tmp_path: Path, run_pytest: Pytest) -> None:
    (tmp_path / "books").mkdir()
    path = tmp_path / "books" / "story.ipynb"
    write_notebook(path, "%load_ext runcell_nb", "%%runcell\nCreate hello.txt with the text: hello")
    assert run_pytest_in(path.parent, "--nb-test-files", "--runcell-record").returncode == 0
    (tmp_path / "test_it.py").write_text(
        f"def test_it(nb_regression):\n    nb_regression.check({str(path)!r})\n"
    )
    before = path.read_bytes()
    assert run_pytest("test_it.py").returncode == 0
    assert path.read_bytes() == before
    kept = nbformat.read(path, as_version=4)
    del kept.metadata["runcell"]["recordings"]
    nbformat.write(kept, path)
    assert "Nothing is recorded of this notebook" in run_pytest("test_it.py").stdout


def notebook(*outputs, metadata=None):
    cell = new_code_cell("x", outputs=list(outputs))
    return new_notebook(cells=[cell], metadata=metadata or {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("runcell: using a/b because A_KEY is set\nhi", "hi"),
        ("model    using a/b because A_KEY is set; change with %runcell model\nhi", "hi"),
        (
            "the recording is in a file beside the notebook; what the model answers is recorded …\n",
            "",
        ),
        (
            "2 requests recorded in the notebook:\n",
            "2 requests recorded in the notebook; 2 were replayed in this kernel:\n",
        ),
        ("RunResult(session_id='abc')", "RunResult(session_id='def')"),
        ("cost_usd=0.0012, cost_measured=True", "cost_usd=0.0, cost_measured=False"),
        ("   1  1,234 tokens  local        done", "   1     99 tokens  $0 (replayed) done"),
        ("1,234 tokens, ~<$0.0001\n", "9 tokens, $0.0123 + unpriced\n"),
    ],
)
def test_what_varies_in_what_commands_say(one: str, other: str) -> None:
    assert normal_text(one) == normal_text(other)


RUN = "a/b · thread main · turn 1 · {}\n\nWrote it.\n\nbash date ({})"
PAGE = (
    "<div><b>a/b</b> · turn 1 · {} · <b>{}</b></div>"
    '<details style="x"><summary style="y">{}</summary>{}</details>'
)


def paragraph(text: str) -> str:
    return f'<p style="z">{text}</p>'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            RUN.format("done in 0.7 s · 1.2k in · 26 out · local", "exit 0 · 0.1 s"),
            RUN.format("done in 2 min 05 s · 900 in · 3 out · $0 (replayed)", "exit 0 · 1 min 02 s"),
        ),
        (
            RUN.format("done in 0.7 s", "2026-11-30T22:14:10Z"),
            RUN.format("done in 0.7 s", "2026-12-01T01:00:00Z"),
        ),
        (
            PAGE.format(
                "done in 0.7 s · 1.2k in · 26 out",
                "~&lt;$0.0001",
                "1 tool call",
                paragraph("Live: x since it was recorded."),
            ),
            PAGE.format("done in 0.0 s · 1.2k in · 26 out", "$0 (replayed)", "1 tool call", ""),
        ),
        (
            PAGE.format(
                "done in 0.7 s", "$0.01", "2 steps", paragraph("Trying again in 2 s: busy") + "thinking"
            ),
            PAGE.format("done in 0.0 s", "$0 (replayed)", "1 step", "thinking"),
        ),
    ],
)
def test_what_varies_in_the_view_of_a_run(one: str, other: str) -> None:
    assert normal_run(one) == normal_run(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Wrote it.", "Wrote two."),
        ("done in", "failed after"),
        ("turn 1", "turn 2"),
        ("Wrote it.", "It is $5."),
    ],
)
def test_what_does_not_vary_in_the_view_of_a_run(one: str, other: str) -> None:
    run = RUN.format("done in 0.7 s · 1.2k in · 26 out · local", "exit 0 · 0.1 s")
    assert one in run and normal_run(run) != normal_run(run.replace(one, other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("total $5", "total $6"),
        ("7 in stock, 2 out", "8 in stock, 3 out"),
        ("due 2024-01-01 10:00", "due 2031-01-01 10:00"),
        ("took 5 s", "took 50 s"),
        ("12 tokens", "13 tokens"),
        ("a  b", "a b"),
        ("0b1e0f6c-8f7c-4b0a-9d55-0d6d6c5f0a01", "1b1e0f6c-8f7c-4b0a-9d55-0d6d6c5f0a01"),
        ("local time", "unpriced time"),
    ],
)
def test_what_the_code_of_a_notebook_shows_is_compared_as_it_is(one: str, other: str) -> None:
    outputs = [
        lambda text: new_output("stream", text=text),
        lambda text: new_output("execute_result", data={"text/plain": text, "text/html": f"<p>{text}</p>"}),
        lambda text: new_output("error", ename="ValueError", evalue=text),
    ]
    for made in outputs:
        assert normal_output(made(one)) != normal_output(made(other))


def test_saved_outputs_are_taken_over_one_by_one() -> None:
    def shown(seconds: float, text: str):
        data = {"text/plain": f"done in {seconds} s · {text}", TURN_MIME: {"id": seconds}}
        return new_output("display_data", data=data)

    saved = notebook(shown(1.5, "a"), new_output("stream", text="one\n"))
    fresh = notebook(shown(2.5, "a"), new_output("stream", text="two\n"))
    adopt(fresh, saved)
    first, second = fresh.cells[0].outputs
    assert first == saved.cells[0].outputs[0]
    assert second.text == "two\n"


def test_promotion_keeps_what_the_kernel_did_not_and_widgets_of_others() -> None:
    ours = {"model_name": "AnyModel", "state": {"_anywidget_id": "runcell_nb.notebook.keeper.MetadataKeeper"}}
    newer = {**ours, "state": {**ours["state"], "state": {"version": 1, "threads": {}, "revision": 5}}}
    older = {**ours, "state": {**ours["state"], "state": {"version": 1, "threads": {"a": 1}, "revision": 4}}}
    slider = {"model_name": "IntSliderModel", "state": {"value": 3}}
    mime = "application/vnd.jupyter.widget-state+json"
    models = {"k1": older, "k2": newer, "s": slider}
    view = "application/vnd.jupyter.widget-view+json"
    made = notebook(
        new_output("display_data", data={view: {"model_id": "k1"}, "text/plain": "static"}),
        new_output("display_data", data={view: {"model_id": "s"}, "text/plain": "slider"}),
        metadata={
            "runcell": {"version": 1, "recordings": {"version": 1}},
            "widgets": {mime: {"state": models}},
        },
    )
    assert promote(made)
    assert made.metadata["runcell"] == {
        "version": 1,
        "threads": {},
        "revision": 5,
        "recordings": {"version": 1},
    }
    assert list(made.metadata["widgets"][mime]["state"]) == ["s"]
    assert [view in output.data for output in made.cells[0].outputs] == [False, True]
    assert not promote(notebook())


def test_a_folder_s_own_environment_is_left_alone(run_pytest: Pytest, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import os, atexit\natexit.register(lambda: print('left', os.environ.get('RUNCELL_REPLAY')))\n"
    )
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    assert "left None" in run_pytest("-s").stdout
    assert "RUNCELL_REPLAY" not in environment()
