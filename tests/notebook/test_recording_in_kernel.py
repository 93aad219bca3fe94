"""Cells that are recorded and replayed, in real kernels whose front end tells cell ids."""

from __future__ import annotations

import json
from pathlib import Path

from .recorded_cells import SESSION, MakeKernel, answered, ask, saved, shown


def test_recorded_replayed_and_never_asked_again(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel()
    assert "recorded from now on" in kernel.run("%runcell record").text
    assert "$0.2500" in shown(ask(kernel))
    assert ask(kernel, "and then", "cell-b").ok
    assert "2 requests recorded in the notebook" in kernel.run("%runcell replay").text
    assert kernel.run("%runcell replay strict").ok
    replayed = ask(kernel)
    assert "$0 (replayed)" in shown(replayed) and "one" in shown(replayed)
    assert kernel.value("len(asked)") == "2"
    path = tmp_path / "a.ipynb"
    saved(kernel, path)
    fresh = make_kernel(RUNCELL_REPLAY="strict", RUNCELL_NOTEBOOK=str(path))
    assert "$0 (replayed)" in shown(ask(fresh))
    assert "$0 (replayed)" in shown(ask(fresh, "and then", "cell-b"))
    assert fresh.value("len(asked)") == "0"


def test_a_strict_replay_that_differs_changes_nothing(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record\n%runcell replay strict")
    assert "Nothing is recorded of this notebook" in ask(kernel).error
    kernel.run("%runcell replay off")
    assert ask(kernel).ok
    kernel.run("%runcell replay strict")
    done = ask(kernel, "go away")
    assert "-go" in done.error and "+go away" in done.error and "%runcell record" in done.error
    assert kernel.value(f"[m.content for m in {SESSION}.thread.messages]") == "['go', 'one']"
    assert kernel.value("len(asked)") == "1"


def test_auto_asks_what_changed_and_records_it(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record\n%runcell replay auto")
    ask(kernel)
    assert "$0 (replayed)" in shown(ask(kernel))
    changed = ask(kernel, "go on")
    assert "$0.2500" in shown(changed) and "Live: the prompt changed since it was recorded." in shown(changed)
    assert "$0 (replayed)" in shown(ask(kernel, "go on"))
    kernel.run(f"from runcell_nb.core.sync_bridge import run_blocking\nasync def put():\n"
               f"    await (await {SESSION}.sandbox()).write_file('data.csv', 'x')\nawait put()")  # fmt: skip
    ask(kernel, "now", "cell-b")
    kernel.run(
        f"async def put():\n    await (await {SESSION}.sandbox()).write_file('data.csv', 'y')\nawait put()"
    )
    kernel.run(f"{SESSION}.book.active.rewind(1)")
    assert "data.csv&#x27; changed since it was recorded." in shown(ask(kernel, "now", "cell-b"))


def test_a_variable_that_changed_is_a_file_that_changed(make_kernel: MakeKernel) -> None:
    options = "-m live --in data"
    kernel = make_kernel()
    kernel.run("%runcell record\n%runcell replay auto\ndata = 'abc'")
    assert ask(kernel, options=options).ok
    assert "$0 (replayed)" in shown(ask(kernel, options=options))
    kernel.run("data = 'xyz'")  # as long, so that the prompt is the same
    assert "data.txt&#x27; changed since it was recorded." in shown(ask(kernel, options=options))
    kernel.run("data = 'uvw'\n%runcell replay strict")
    failed = ask(kernel, "go on", options=options)
    assert "files: 'data.txt' changed since it was recorded" in failed.error and "+go on" in failed.error


def test_a_run_that_fails_leaves_the_recording(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record")
    ask(kernel)
    kernel.run("live.answer = None")
    assert "the model is away" in ask(kernel, "go").error
    kernel.run("%runcell replay strict")
    assert "$0 (replayed)" in shown(ask(kernel))


def test_the_option_of_a_cell_and_a_variable_that_it_cannot_loosen(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record")
    ask(kernel)
    assert "$0 (replayed)" in shown(ask(kernel, options="-m live --replay strict"))
    assert "got 'stric' (did you mean strict?)" in ask(kernel, options="-m live --replay stric").error
    kernel.run("os.environ['RUNCELL_REPLAY'] = 'strict'")
    told = ask(kernel, options="-m live --replay off")
    assert "the replay stays strict, not off" in told.text and "$0 (replayed)" in shown(told)


def test_functions_of_the_notebook_run_in_a_replay_only_when_somebody_trusts_it(
    make_kernel: MakeKernel, tmp_path: Path
) -> None:
    options = "-m live --tools stock"
    kernel = make_kernel()
    kernel.run("%runcell record")
    assert ask(kernel, options=options).ok
    kernel.run("%runcell replay strict")
    assert ask(kernel, options=options).ok  # this kernel has recorded it itself
    path = tmp_path / "a.ipynb"
    saved(kernel, path)
    fresh = make_kernel(RUNCELL_REPLAY="strict", RUNCELL_NOTEBOOK=str(path))
    declined = answered(fresh, "n", options)
    assert "declined" in declined.error and 'stock({"item": "nuts"})' in declined.text
    assert "declined" in ask(fresh, options=options).error  # asked once
    assert fresh.value("called") == "[]"
    nobody = make_kernel(RUNCELL_REPLAY="strict", RUNCELL_NOTEBOOK=str(path))
    done = nobody.run(f"%%runcell {options}\ngo")  # without stdin
    assert "there is nobody to ask" in done.error and "RUNCELL_TRUST_RECORDING=1" in done.error
    nobody.run("os.environ['RUNCELL_TRUST_RECORDING'] = '1'")
    assert "$0 (replayed)" in shown(ask(nobody, options=options))
    assert nobody.value("called") == "['nuts']"


def test_the_recorded_model_answers_where_nobody_has_chosen_one(
    make_kernel: MakeKernel, tmp_path: Path
) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record")
    ask(kernel)
    path = tmp_path / "a.ipynb"
    saved(kernel, path)
    fresh = make_kernel(RUNCELL_REPLAY="strict", RUNCELL_NOTEBOOK=str(path))
    done = ask(fresh, options="")
    assert "live/model" in shown(done) and "$0 (replayed)" in shown(done)


def test_a_file_beside_the_notebook_and_clear(make_kernel: MakeKernel, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text('{"cells": [{"cell_type": "code", "id": "cell-a", "source": ""}], "metadata": {}}')
    kernel = make_kernel(RUNCELL_NOTEBOOK=str(path))
    kernel.run("%runcell record file")
    assert ask(kernel).ok
    beside = tmp_path / "a.runcell.json"
    assert "beside the notebook" in kernel.run("%runcell record file").text and beside.exists()
    assert json.loads(beside.read_text())["cells"][0]["cell"] == "cell-a"
    fresh = make_kernel(RUNCELL_NOTEBOOK=str(path), RUNCELL_REPLAY="strict")
    assert "$0 (replayed)" in shown(ask(fresh))
    assert "a.runcell.json.old" in kernel.run("%runcell record clear").text
    assert not beside.exists()
    assert "nothing is recorded" in kernel.run("%runcell replay").text


def test_a_damaged_file_is_never_overwritten(make_kernel: MakeKernel, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text('{"cells": [{"cell_type": "code", "id": "cell-a", "source": ""}], "metadata": {}}')
    beside = tmp_path / "a.runcell.json"
    beside.write_text('{"version": 1, "requests": [')
    kernel = make_kernel(RUNCELL_NOTEBOOK=str(path))
    kernel.run("%runcell record")
    done = ask(kernel)
    assert "is damaged" in done.error and "%runcell record clear" in done.error
    assert beside.read_text() == '{"version": 1, "requests": ['
    kernel.run("%runcell record clear")
    assert ask(kernel).ok
    assert (tmp_path / "a.runcell.json.old").read_text() == '{"version": 1, "requests": ['


def test_a_script_is_left_alone(make_kernel: MakeKernel) -> None:
    kernel = make_kernel(RUNCELL_REPLAY="strict")
    kernel.run("from runcell_nb import ScriptedModel\nm = ScriptedModel(['hi'])")
    assert "hi" in shown(ask(kernel, options="-m m"))


def test_a_stranger_s_recording_without_cells_asks_too(make_kernel: MakeKernel, tmp_path: Path) -> None:
    options = "-m live --tools stock"
    kernel = make_kernel()
    kernel.run("%runcell record")
    assert ask(kernel, options=options).ok
    path = tmp_path / "a.ipynb"
    saved(kernel, path)
    notebook = json.loads(path.read_text())
    del notebook["metadata"]["runcell"]["recordings"]["cells"][:]
    path.write_text(json.dumps(notebook))
    fresh = make_kernel(RUNCELL_REPLAY="strict", RUNCELL_NOTEBOOK=str(path))
    assert "declined" in answered(fresh, "n", options).error
    assert fresh.value("called") == "[]"


def test_a_recording_that_the_page_tells_late_is_not_lost(make_kernel: MakeKernel, tmp_path: Path) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record")
    assert ask(kernel).ok
    state = kernel.run(f"import json; print(json.dumps({SESSION}._keeping.memory._widget().state))").text
    late = make_kernel()
    late.run("%runcell record")
    late.run(f"{SESSION}._keeping.memory._held(json.loads({state!r}))".replace("json", "__import__('json')"))
    assert ask(late, "another", "cell-b").ok
    value = late.run(f"import json; print(json.dumps({SESSION}._keeping.memory.recordings))").text
    assert [cell["cell"] for cell in json.loads(value)["cells"]] == ["cell-a", "cell-b"]


def test_a_recording_that_is_too_big_and_has_no_place_is_a_sentence(make_kernel: MakeKernel) -> None:
    kernel = make_kernel()
    kernel.run("%runcell record")
    assert ask(kernel).ok
    kernel.run(f"live.answer = 'x' * 5_000_000\nbefore = {SESSION}._keeping.memory.recordings")
    assert "The recording is too big for the notebook" in shown(ask(kernel, "more", "cell-b"))
    assert kernel.value(f"{SESSION}._keeping.memory.recordings == before") == "True"
