"""The fixtures in a user's own test folder."""

from __future__ import annotations

from pathlib import Path

import pytest

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


MANY = """
import pytest
from runcell_nb import ScriptedModel, create_agent

def say(gateway, prompt):
    return create_agent(gateway).run_sync(prompt).text

class One(ScriptedModel):
    name = "live/one"
    async def stream(self, request):
        open("asked.txt", "a").write("asked\\n")
        async for delta in super().stream(request):
            yield delta

class Two(One):
    name = "live/two"

class TestA:
    def test_same(self, runcell_recording):
        assert say(runcell_recording(One(["a"])), "A") == "a"

class TestB:
    def test_same(self, runcell_recording):
        assert say(runcell_recording(One(["b"])), "B") == "b"

@pytest.mark.parametrize("word", ["a b", "a/b", "x" * 200 + "1", "x" * 200 + "2"])
def test_words(runcell_recording, word):
    assert say(runcell_recording(One([word])), word) == word

def test_two_models_both_made_first(runcell_recording):
    one, two = runcell_recording(One(["1"])), runcell_recording(Two(["2"]))
    assert (say(one, "q"), say(two, "q")) == ("1", "2")

def test_the_same_asked_twice(runcell_recording):
    assert say(runcell_recording(One(["1"])), "q") == "1"
    assert say(runcell_recording(One(["2"])), "q") == "2"
"""


def test_no_test_takes_what_another_recorded(tmp_path: Path, run_pytest: Pytest) -> None:
    (tmp_path / "test_agent.py").write_text(MANY)
    recorded = run_pytest("--runcell-record")
    assert recorded.returncode == 0, recorded.stdout
    names = {path.name for path in (tmp_path / "recordings").iterdir()}
    assert len(names) == 8
    assert "test_agent.TestA.test_same.runcell.json" in names
    replayed = run_pytest()
    assert replayed.returncode == 0, replayed.stdout
    assert asked(tmp_path) == 10


def test_strict_asks_nothing_whatever_else_is_set(tmp_path: Path, run_pytest: Pytest) -> None:
    write(tmp_path)
    strict = run_pytest(RUNCELL_REPLAY="strict", RUNCELL_RECORD="1")
    assert strict.returncode == 1 and "There is no recording to read" in strict.stdout
    assert asked(tmp_path) == 0 and not (tmp_path / "recordings").exists()
    unknown = run_pytest(RUNCELL_REPLAY="strickt")
    assert "RUNCELL_REPLAY is strict, auto or off, got 'strickt'." in unknown.stdout
    assert asked(tmp_path) == 0
    assert run_pytest(RUNCELL_REPLAY="off", RUNCELL_RECORD="0").returncode == 0
    assert asked(tmp_path) == 2 and not (tmp_path / "recordings").exists()


ASYNC = """
import asyncio

from runcell_nb import ScriptedModel, create_agent
from runcell_nb.testing import assert_files_changed, observe

SCRIPT = [[{"tool": "bash", "input": {"command": "cp a.txt b.txt"}}], "Done."]

async def work(sandbox):
    await sandbox.write_file("a.txt", "x")
    run = await observe(create_agent(ScriptedModel(SCRIPT)), "go", sandbox=sandbox)
    assert_files_changed(run, {"b.txt": {"text": "x"}})

def test_on_a_loop_of_its_own(runcell_sandbox):
    asyncio.run(work(runcell_sandbox))

def test_destroyed_on_another_loop(runcell_sandbox):
    asyncio.run(runcell_sandbox.destroy())
"""

WITH_PLUGIN = """
async def test_with_a_plugin(runcell_sandbox):
    await work(runcell_sandbox)
"""


def test_the_sandbox_works_on_any_loop(tmp_path: Path, run_pytest: Pytest) -> None:
    (tmp_path / "test_agent.py").write_text(ASYNC)
    without = run_pytest("-p", "no:asyncio")
    assert "2 passed" in without.stdout, without.stdout
    (tmp_path / "test_agent.py").write_text(ASYNC + WITH_PLUGIN)
    done = run_pytest("-o", "asyncio_mode=auto")
    assert "3 passed" in done.stdout, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", ["import pytest; pytest.skip('not today')", "import pytest; pytest.xfail('known')"]
)
def test_a_test_that_does_not_pass_leaves_its_recording(
    tmp_path: Path, run_pytest: Pytest, more: str
) -> None:
    write(tmp_path)
    assert run_pytest("--runcell-record").returncode == 0
    path = tmp_path / "recordings" / "test_agent.test_it.runcell.json"
    before = path.read_bytes()
    source = (tmp_path / "test_agent.py").read_text()
    (tmp_path / "test_agent.py").write_text(
        source.replace("    agent = create", f"    {more}\n    agent = create")
    )
    run_pytest("--runcell-record")
    assert path.read_bytes() == before
