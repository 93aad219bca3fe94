from __future__ import annotations

import subprocess
import sys

import pytest

from runcell_nb import InvalidOptionError
from runcell_nb.notebook.export import export_script, script_of


def run(path):
    return subprocess.run(
        [sys.executable, str(path)], cwd=path.parent, capture_output=True, text=True, check=False, timeout=120
    )


def test_the_script_does_the_runs_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    cells = [
        ('create a.txt with the text: "it\'s \\ {1} """ $HOME"', {"model": "local/demo", "out": "made"}),
        ("Show the first line of a.txt.\n", {"model": "local/demo", "max_seconds": 50.0, "quiet": True}),
        (
            "How many lines does in.txt have?",
            {"model": "local/demo", "inputs": ("in.txt",), "max_repairs": 0},
        ),
        ("How many lines does a.txt have?", {"model": "local/demo", "thread": "plan b", "out": "stack"}),
        ("How many lines does a.txt have?", {"model": "local/demo", "fresh": True}),
    ]
    assert export_script(cells, "runs.py") == "Wrote 5 runs to runs.py."
    done = run(tmp_path / "runs.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert 'it\'s \\ {1} """ $HOME' in done.stdout
    assert done.stdout.count("in.txt has 2 lines") == 1
    assert done.stdout.count("a.txt has 1 line") == 1  # the fresh sandbox has none


def test_what_only_the_notebook_has_is_named():
    script = script_of(
        [
            (
                "a\nb",
                {"model": "gateway", "tools": ("count", "look"), "schema": "Invoice", "thinking": "high"},
            ),
            ("c", {"model": "gateway", "inputs": ("df", "top=df.head()")}),
        ]
    )
    compile(script, "runs.py", "exec")
    assert "# TODO: import or define what the notebook had: gateway, count, look, Invoice\n" in script
    assert "create_agent(gateway, tools={'count': count, 'look': look}, thinking_level='high')" in script
    assert "agent_2 = create_agent(gateway)" in script
    assert "schema=Invoice," in script
    assert "print(result.data)" in script
    for word in ("df", "top=df.head()"):
        assert f"# TODO: what --in {word!r} was" in script


@pytest.mark.parametrize(
    "text", ["'''\"\"\"\\", "a\r\nb\x0bc\u2028d", "\ud800 \u202e", "{x}\n\n\n", "\\N{DASH}\\x41"]
)
def test_a_prompt_arrives_byte_for_byte(text):
    asked = []

    class Agent:
        async def run(self, prompt, **_options):
            asked.append(prompt)

    script = script_of([(text, {"model": "local/demo"})])
    script.encode()
    names = {"__name__": "script"}
    exec(compile(script, "runs.py", "exec"), names)
    names.update(create_agent=lambda _: Agent(), print=lambda _: None)
    coroutine = names["main"]()
    with pytest.raises(AttributeError):  # the run above has no result
        import asyncio

        asyncio.run(coroutine)
    assert asked == [text]


def test_limits_and_the_model_of_now(monkeypatch):
    monkeypatch.setenv("RUNCELL_MODEL", "mistral/small")
    script = script_of([("x", {"max_cost": 0.5, "max_tokens": 9, "max_requests": None, "fresh": False})])
    assert "agent = create_agent('mistral/small')" in script
    assert "limits=RunLimits(max_cost_usd=0.5, max_total_tokens=9)," in script


def test_a_key_in_a_prompt_is_masked(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "this-is-the-whole-key-of-mine")
    assert "the-whole-key" not in script_of([("use this-is-the-whole-key-of-mine", {"model": "local/demo"})])


@pytest.mark.parametrize(
    ("name", "cells", "said"),
    [
        ("there.py", 1, "'there.py' exists already; give a name that is free"),
        ("runs.txt", 1, "takes the name of a new .py file, got 'runs.txt'"),
        ("runs.py", 0, "nothing has run yet"),
        ("no/such/folder.py", 1, "'no/such/folder.py' cannot be written"),
        ("a\0.py", 1, "cannot be written"),
    ],
)
def test_nothing_is_written_over_and_every_refusal_is_one_sentence(tmp_path, monkeypatch, name, cells, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.py").write_text("mine")
    with pytest.raises(InvalidOptionError, match=said):
        export_script([("x", {"model": "local/demo"})] * cells, name)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("there.py", "mine")]
