"""What a recording does when something changed, failed, is damaged, or comes from somebody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .kernels import Kernel
from .recorded_cells import SESSION, STOCK, MakeKernel, answered, ask, saved, shown

WITH_STOCK = "-m live --tools stock"
TOLD = f"[m.content for m in {SESSION}.thread.messages]"
EMPTY = '{"cells": [{"cell_type": "code", "id": "cell-a", "source": ""}], "metadata": {}}'


def recorded(kernel: Kernel, path: Path, options: str = "-m live") -> dict[str, Any]:
    """Record a cell, save its notebook, and return the recording in it."""
    kernel.run("%runcell record")
    done = ask(kernel, options=options)
    assert done.ok, done.error
    saved(kernel, path)
    return dict(json.loads(path.read_text())["metadata"]["runcell"]["recordings"])


def put(path: Path, recording: Any) -> None:
    """Give a saved notebook another recording."""
    notebook = json.loads(path.read_text())
    notebook["metadata"]["runcell"]["recordings"] = recording
    path.write_text(json.dumps(notebook))


def kept(kernel: Kernel) -> Any:
    """Return the recording with which the notebook would be saved."""
    return json.loads(
        kernel.run(f"import json\nprint(json.dumps({SESSION}._keeping.memory.recordings))").text
    )


def test_a_tool_that_changed(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record")
    assert ask(kernel, options=WITH_STOCK).ok
    kernel.run("%runcell replay strict\n" + STOCK.replace("Count.", "Count all."))
    failed = ask(kernel, options=WITH_STOCK)
    assert "'stock'" in failed.error and "description" in failed.error and "Count all." in failed.error
    assert "stock" in ask(kernel).error  # it has no tools any more
    kernel.run("%runcell replay auto")
    assert "Live: the tools changed since it was recorded." in shown(ask(kernel))


def test_a_model_that_changed(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record\nother = Live()\nother.name = 'live/other'")
    assert ask(kernel).ok
    kernel.run("%runcell replay strict")
    failed = ask(kernel, options="-m other")
    assert "live/model" in failed.error and "live/other" in failed.error
    kernel.run("%runcell replay auto")
    assert "Live: the model changed from live/model" in shown(ask(kernel, options="-m other"))
    assert kernel.value("len(asked)") == "2"


def test_steps_that_are_never_asked_fail_the_cell_in_strict(make_kernel: MakeKernel, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    kernel = make_kernel()
    kernel.run("%runcell record")
    assert ask(kernel, "the other", "cell-b").ok
    recording = recorded(kernel, path)
    first, second = recording["cells"]
    second["steps"] += first["steps"]
    put(path, recording)
    fresh = make_kernel(RUNCELL_REPLAY="strict", JPY_SESSION_NAME=str(path))
    failed = ask(fresh)
    assert "1 recorded request was never asked" in failed.error and "%runcell record" in failed.error
    assert fresh.value(TOLD) == repr(["the other", "one", "go", "one"])  # as the notebook has it
    assert "$0 (replayed)" in shown(ask(fresh, "the other", "cell-b"))


def test_a_cell_that_failed_by_itself_fails_again_without_asking(make_kernel: MakeKernel) -> None:
    options = WITH_STOCK + " --max-requests 1"
    kernel = make_kernel()
    kernel.run("%runcell record")
    first = ask(kernel, options=options)
    assert "max_requests" in first.error
    kernel.run("%runcell replay strict")
    again = ask(kernel, options=options)
    assert again.error.splitlines()[-1] == first.error.splitlines()[-1]
    assert kernel.value("len(asked)") == "1"


def test_a_run_that_was_stopped_leaves_the_recording(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record")
    assert ask(kernel).ok
    before = kept(kernel)
    kernel.run(
        "class Slow(Live):\n"
        "    async def stream(self, request):\n"
        "        yield TextDelta('slowly')\n"
        "        print('begun', flush=True)\n"
        "        await __import__('asyncio').sleep(60)\n"
        "slow = Slow()"
    )
    request = kernel.start("%%runcell -m slow\nother")
    kernel.wait_for(request, "stream")
    kernel.manager.interrupt_kernel()
    assert "stopped by the user" in kernel.finish(request).error
    assert kept(kernel) == before
    kernel.run("%runcell replay strict")
    assert "$0 (replayed)" in shown(ask(kernel))


def test_the_person_says_yes_once(make_kernel: MakeKernel, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    recorded(make_kernel(), path, WITH_STOCK)
    fresh = make_kernel(RUNCELL_REPLAY="strict", RUNCELL_NOTEBOOK=str(path))
    done = answered(fresh, "y", WITH_STOCK)
    assert "$0 (replayed)" in shown(done), done.error
    assert 'stock({"item": "nuts"})' in done.text
    assert "$0 (replayed)" in shown(ask(fresh, options=WITH_STOCK))  # would hang if it asked again
    assert fresh.value("called") == "['nuts', 'nuts']"


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_a_tool_whose_results_are_recorded_does_not_run_and_nobody_is_asked(
    make_kernel: MakeKernel, tmp_path: Path, mode: str
) -> None:
    keeping = "from runcell_nb import tool\nstock = tool(record=True)(stock)"
    path = tmp_path / "a.ipynb"
    kernel = make_kernel()
    kernel.run(keeping)
    recorded(kernel, path, WITH_STOCK)
    fresh = make_kernel(RUNCELL_REPLAY=mode, RUNCELL_NOTEBOOK=str(path))
    fresh.run(keeping)
    done = ask(fresh, options=WITH_STOCK)  # would hang if it asked
    assert "$0 (replayed)" in shown(done), done.error
    assert fresh.value("called") == "[]"


def test_what_runs_live_anyway_asks_nobody(make_kernel: MakeKernel, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    recorded(make_kernel(), path, WITH_STOCK)
    fresh = make_kernel(RUNCELL_REPLAY="auto", RUNCELL_NOTEBOOK=str(path))
    done = ask(fresh, "go on", options=WITH_STOCK)
    assert "Live: the prompt changed since it was recorded." in shown(done), done.error
    assert fresh.value("called") == "['nuts']"


def test_a_recording_moves_beside_the_notebook_and_back(make_kernel: MakeKernel, tmp_path: Path) -> None:
    path, beside = tmp_path / "a.ipynb", tmp_path / "a.runcell.json"
    path.write_text(EMPTY)
    kernel = make_kernel(RUNCELL_NOTEBOOK=str(path))
    kernel.run("%runcell record")
    assert ask(kernel).ok
    assert kept(kernel)["cells"] and not beside.exists()
    kernel.run("live.answer = 'word ' * 60_000")
    grown = ask(kernel, "more", "cell-b")
    assert "The recording is in a.runcell.json, beside the notebook." in shown(grown)
    assert kept(kernel) is None and len(json.loads(beside.read_text())["cells"]) == 2
    assert "recorded in a.runcell.json" in kernel.run("%runcell replay").text
    assert "the recording is in the notebook" in kernel.run("%runcell record notebook").text
    assert len(kept(kernel)["cells"]) == 2
    assert "recorded in the notebook" in kernel.run("%runcell replay").text
    assert "a.runcell.json.old" in kernel.run("%runcell record clear").text
    assert kept(kernel) is None and not beside.exists()  # or the next kernel would find it


def test_a_notebook_that_is_too_big_although_its_place_is_known(
    make_kernel: MakeKernel, tmp_path: Path
) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(EMPTY)
    kernel = make_kernel(RUNCELL_NOTEBOOK=str(path))
    kernel.run("%runcell record notebook\nlive.answer = 'x' * 5_000_000")
    assert "%runcell record file" in shown(ask(kernel))
    assert "beside the notebook" in kernel.run("%runcell record file").text
    assert len(json.loads((tmp_path / "a.runcell.json").read_text())["cells"]) == 1


def test_the_demo_is_recorded_by_its_name(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record")
    prompt = "Create hello.txt with the text: hello"
    assert ask(kernel, prompt, options="-m local/demo").ok
    kernel.run("%runcell replay strict")
    assert "local/demo" in kernel.run("%runcell replay").text
    assert "$0 (replayed)" in shown(ask(kernel, prompt, options="-m local/demo"))
    assert "hello.txt" in kernel.run(f"print(await {SESSION}.list_files())").text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"version": 1, "requests": []}, "damaged"),
        ({"version": 99, "anything": "of tomorrow"}, "version 99"),
    ],
)
def test_what_cannot_be_read_in_a_notebook_stays_there(
    make_kernel: MakeKernel, tmp_path: Path, value: dict[str, Any], said: str
) -> None:
    path = tmp_path / "a.ipynb"
    recorded(make_kernel(), path)
    put(path, value)
    fresh = make_kernel(RUNCELL_NOTEBOOK=str(path))
    assert ask(fresh).ok  # nobody asked for it
    assert kept(fresh) == value
    for command in ("%runcell replay strict", "%runcell replay auto", "%runcell replay off\n%runcell record"):
        fresh.run(command)
        failed = ask(fresh)
        assert said in failed.error and "%runcell record clear" in failed.error
    assert said in fresh.run("%runcell replay").text
    assert kept(fresh) == value
    fresh.run("%runcell record clear")
    assert ask(fresh).ok
    assert kept(fresh)["cells"]


def test_a_test_that_records_anew_replaces_what_is_damaged(make_kernel: MakeKernel, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    recorded(make_kernel(), path)
    put(path, {"version": 1, "requests": []})
    fresh = make_kernel(RUNCELL_NOTEBOOK=str(path), RUNCELL_RECORD="1", RUNCELL_REPLAY="off")
    assert ask(fresh).ok
    assert kept(fresh)["cells"]


def test_words_of_the_commands(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    assert "nothing is recorded; %runcell record starts it." in kernel.run("%runcell replay").text
    assert "got 'atuo' (did you mean auto?)" in kernel.run("%runcell replay atuo").error
    assert "needs a mode" in kernel.run("%runcell replay --timing").error
    assert "clear" in kernel.run("%runcell record cler").error
    assert kernel.run("%runcell record on off").error
    timed = kernel.run("%runcell replay auto --timing").text
    assert "with the time that the model took" in timed
    assert "with the time" not in kernel.run("%runcell replay auto").text
    assert "nothing is recorded from now on" in kernel.run("%runcell record off").text
    kernel.run("%runcell replay strict")
    assert "nothing is asked, so nothing is recorded" in kernel.run("%runcell record").text


def test_nothing_is_recorded_before_and_after(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    assert ask(kernel).ok
    assert kept(kernel) is None
    kernel.run("%runcell record")
    assert ask(kernel).ok
    before = kept(kernel)
    kernel.run("%runcell record off")
    assert ask(kernel, "another", "cell-b").ok
    assert kept(kernel) == before
    assert [cell["cell"] for cell in before["cells"]] == ["cell-a"]


def test_a_cell_that_was_recorded_by_its_place_is_recorded_once(
    make_kernel: MakeKernel, tmp_path: Path
) -> None:
    path = tmp_path / "a.ipynb"
    recording = recorded(make_kernel(), path)
    recording["cells"][0]["cell"] = "#2"
    put(path, recording)
    fresh = make_kernel(RUNCELL_NOTEBOOK=str(path))
    fresh.run("%runcell record\n%runcell replay auto")
    assert "$0 (replayed)" in shown(ask(fresh))
    assert "$0 (replayed)" in shown(ask(fresh)), "the cell has taken what was recorded by its place"
    fresh.run("%runcell replay off\nlive.answer = 'two'")
    assert ask(fresh).ok
    assert [cell["cell"] for cell in kept(fresh)["cells"]] == ["cell-a"]


def test_a_run_in_the_background_is_replayed(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record")
    assert ask(kernel, options="-m live --background --out r").ok
    assert ask(kernel, "then", "cell-b").ok
    kernel.run("%runcell replay strict")
    assert ask(kernel, options="-m live --background --out r").ok
    assert "$0 (replayed)" in shown(ask(kernel, "then", "cell-b"))
    assert kernel.value("(r.text, len(asked))") == "('one', 2)"
