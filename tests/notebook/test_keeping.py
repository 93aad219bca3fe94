"""Threads that stay: a real kernel, cells with ids, and what a runner without a browser keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from runcell_nb.notebook.notebook_state import merged
from runcell_nb.notebook.turn_record import TURN_MIME, threads_from_outputs

from .kernels import Done, Kernel

SETUP = """
%load_ext runcell_nb
from runcell_nb import ScriptedModel
"""


def run_cell(kernel: Kernel, code: str, cell_id: str) -> Done:
    """Run a cell as a front end that tells its id."""
    client = kernel.client
    content = {"code": code, "silent": False, "store_history": True, "allow_stdin": True}
    content |= {"user_expressions": {}, "stop_on_error": True}
    message = client.session.msg("execute_request", content)
    message["metadata"]["cellId"] = cell_id
    client.shell_channel.send(message)
    return kernel.finish(message["header"]["msg_id"])


def kernel_at(path: Path | None = None) -> Kernel:
    import os

    env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    if path is not None:
        env["JPY_SESSION_NAME"] = str(path)
    kernel = Kernel(env)
    assert kernel.run(SETUP).ok
    return kernel


def cell(*responses: Any, prompt: str = "go", options: str = "") -> str:
    return f"%%runcell -m m {options}\n{prompt}"


def script(kernel: Kernel, *responses: Any) -> None:
    assert kernel.run(f"m = ScriptedModel({list(responses)!r})").ok


WRITE = [{"tool": "write", "input": {"file_path": "a.txt", "content": "kept"}}]


def test_a_turn_belongs_to_its_cell_and_its_record_stands_in_its_output():
    kernel = kernel_at()
    try:
        script(kernel, "one")
        first = run_cell(kernel, cell(prompt="first"), "cell-a")
        assert first.ok, first.error
        script(kernel, "two")
        second = run_cell(kernel, cell(prompt="second"), "cell-b")
        script(kernel, "one again")
        third = run_cell(kernel, cell(prompt="first, better"), "cell-a")
        assert third.ok, third.error
        session = "get_ipython().magics_manager.registry['RuncellMagics'].session"
        told = kernel.value(f"[m.content for m in {session}.thread.messages]")
        assert told == repr(["first, better", "one again"])
        assert kernel.value(f"{session}.book.names") == "['main', 'main fork 1']"
        record = first.displays[0][TURN_MIME]
        assert (record["name"], record["turn"]["cell"]) == ("main", "cell-a")
        outputs = [{"outputs": [{"data": shown} for shown in done.displays]} for done in (first, second)]
        state = threads_from_outputs(outputs)
        assert [message["content"] for message in state["threads"]["main"]["messages"]] == [
            "first", "one", "second", "two"
        ]  # fmt: skip
    finally:
        kernel.close()


def test_a_runner_without_a_browser_keeps_the_thread_and_another_kernel_takes_it_up(tmp_path: Path):
    path = tmp_path / "work.ipynb"
    cells = [SETUP + f"m = ScriptedModel([{WRITE!r}, 'one'])", cell(prompt="first")]
    notebook = new_notebook(cells=[new_code_cell(source) for source in cells])
    NotebookClient(notebook, timeout=120).execute()
    state = kept_by_widgets(notebook)
    assert state["threads"]["main"]["messages"][1]["content"] == "one"
    notebook.metadata["runcell"] = state
    nbformat.write(notebook, path)
    assert path.stat().st_size < 60_000
    kernel = kernel_at(path)
    try:
        new = notebook.cells[1]["id"]
        script(kernel, "two")
        done = run_cell(kernel, cell(prompt="and then?"), "another-cell")
        assert done.ok, done.error
        session = "get_ipython().magics_manager.registry['RuncellMagics'].session"
        assert kernel.value(f"len({session}.thread.messages)") == "2", "a cell that is not in the file"
    finally:
        kernel.close()
    kernel = kernel_at(path)
    try:
        script(kernel, "two")
        done = run_cell(kernel, cell(prompt="again"), new)
        assert done.ok, done.error
        assert kernel.value(f"[m.content for m in {session}.thread.messages]") == repr(["again", "two"])
        script(kernel, [{"tool": "bash", "input": {"command": "ls"}}], "three")
        done = run_cell(kernel, cell(prompt="what is there?"), "another-cell")
        assert done.ok, done.error
        assert kernel.value(f"len({session}.thread.messages)") == "4"
    finally:
        kernel.close()


def kept_by_widgets(notebook: Any) -> dict[str, Any]:
    states = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"].values()
    found: dict[str, Any] = {}
    for held in states:
        state = held["state"].get("state")
        if isinstance(state, dict) and "threads" in state:
            found = merged(found, state)
    return json.loads(json.dumps(found))


def test_a_run_in_the_background_returns_at_once_and_the_next_cell_waits_for_it():
    kernel = kernel_at()
    try:
        slowly = [{"tool": "bash", "input": {"command": "sleep 1; echo x > made.txt"}}]
        script(kernel, slowly, "slow", "quick")
        first = run_cell(kernel, cell(prompt="slowly", options="--background --out r"), "a")
        assert first.ok, first.error
        assert kernel.value("type(r).__name__") == "'AgentRun'"
        second = run_cell(kernel, cell(prompt="then"), "b")
        assert second.ok, second.error
        assert kernel.value("(type(r).__name__, r.text)") == repr(("RunResult", "slow"))
        session = "get_ipython().magics_manager.registry['RuncellMagics'].session"
        told = kernel.value(f"[m.content for m in {session}.thread.messages]")
        assert told == repr(["slowly", "slow", "then", "quick"])
    finally:
        kernel.close()


def test_a_quiet_cell_shows_the_answer_and_no_steps():
    kernel = kernel_at()
    try:
        script(kernel, WRITE, "It is done.")
        done = run_cell(kernel, cell(options="--quiet"), "a")
        assert done.ok, done.error
        (shown,) = done.displays
        assert "It is done." in shown["text/html"]
        assert "tool call" not in shown["text/html"]
    finally:
        kernel.close()


def test_a_notebook_does_not_read_its_own_state_back_in_the_middle(tmp_path: Path):
    path = tmp_path / "new.ipynb"
    nbformat.write(new_notebook(), path)
    kernel = kernel_at(path)
    session = "get_ipython().magics_manager.registry['RuncellMagics'].session"
    try:
        script(kernel, WRITE, "one")
        assert run_cell(kernel, cell(prompt="first"), "cell-a").ok  # not in the file yet
        dump = f"import json\nprint(json.dumps({session}._keeping._memory._kept))"
        kept = json.loads(kernel.run(dump).text)
        saved = new_notebook(cells=[new_code_cell("x"), new_code_cell("y")], metadata={"runcell": kept})
        saved.cells[0].id, saved.cells[1].id = "cell-a", "cell-b"
        nbformat.write(saved, path)
        kernel.run(f"await (await {session}.sandbox()).write_file('uploaded.csv', 'mine')")
        script(kernel, "two")
        done = run_cell(kernel, cell(prompt="second"), "cell-b")
        assert done.ok, done.error
        files = kernel.run(f"print([f.path for f in await {session}.list_files()])").text
        assert files.strip() == "['a.txt', 'uploaded.csv']"
        assert kernel.value(f"{session}.thread.messages[2].content") == "'second'"
    finally:
        kernel.close()


def test_a_nested_cell_does_not_wait_for_a_run_in_the_background():
    kernel = kernel_at()
    try:
        script(kernel, [{"tool": "bash", "input": {"command": "sleep 3"}}], "slow", "quick")
        assert run_cell(kernel, cell(options="--background"), "a").ok
        nested = run_cell(kernel, "%%time\n" + cell(), "b")
        assert "in the background" in nested.error
        script(kernel, "in the foreground")
        assert run_cell(kernel, "%%time\n%%runcell -m m --background -t main\ngo", "c").ok is False
        after = run_cell(kernel, cell(), "d")
        assert after.ok, after.error
    finally:
        kernel.close()
