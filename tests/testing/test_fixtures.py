"""The fixtures in a user's own test folder."""

from __future__ import annotations

from pathlib import Path

from .folders import Pytest

TEST = '''
from runcell_nb import ScriptedModel, create_agent
from runcell_nb.testing import assert_files_changed, observe_sync

class Live(ScriptedModel):
    """Stands for a model that costs money: it may only be asked while recording."""
    name = "live/model"
    async def stream(self, request):
        open("asked.txt", "a").write("asked\\n")
        async for delta in super().stream(request):
            yield delta

SCRIPT = [[{{"tool": "write", "input": {{"file_path": "a.txt", "content": "x"}}}}], "Done."]

def test_it(runcell_recording, runcell_sandbox):
    agent = create_agent(runcell_recording(Live(SCRIPT)))
    run = observe_sync(agent, "{prompt}", sandbox=runcell_sandbox)
    assert_files_changed(run, {{"a.txt": "create"}})
    {more}

def test_script(runcell_model):
    assert create_agent(runcell_model(["hi"])).run_sync("x").text == "hi"
'''


def write(folder: Path, prompt: str = "go", more: str = "pass") -> None:
    (folder / "test_agent.py").write_text(TEST.format(prompt=prompt, more=more))


def asked(folder: Path) -> int:
    path = folder / "asked.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_recorded_once_and_replayed(tmp_path: Path, run_pytest: Pytest) -> None:
    write(tmp_path)
    without = run_pytest()
    assert "There is no recording to read" in without.stdout and asked(tmp_path) == 0
    assert run_pytest("--runcell-record").returncode == 0
    path = tmp_path / "recordings" / "test_agent.test_it.runcell.json"
    before = path.read_bytes()
    assert asked(tmp_path) == 2
    done = run_pytest()
    assert done.returncode == 0, done.stdout
    assert asked(tmp_path) == 2 and path.read_bytes() == before
    write(tmp_path, prompt="go on")
    changed = run_pytest()
    assert changed.returncode == 1
    assert "-go" in changed.stdout and "+go on" in changed.stdout
    assert run_pytest("--runcell-record").returncode == 0
    assert run_pytest().returncode == 0


def test_a_test_that_fails_keeps_its_recording_and_unasked_steps_fail(
    tmp_path: Path, run_pytest: Pytest
) -> None:
    write(tmp_path, more='observe_sync(agent, "more", sandbox=runcell_sandbox)')
    (tmp_path / "test_agent.py").write_text(
        (tmp_path / "test_agent.py").read_text().replace('"Done."]', '"Done.", "More."]')
    )
    assert run_pytest("--runcell-record").returncode == 0
    path = tmp_path / "recordings" / "test_agent.test_it.runcell.json"
    before = path.read_bytes()
    write(tmp_path, more="assert False")
    assert run_pytest("--runcell-record").returncode == 1
    assert path.read_bytes() == before
    write(tmp_path)
    done = run_pytest()
    assert done.returncode == 1
    assert "1 recorded request was never asked" in done.stdout
