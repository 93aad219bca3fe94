"""What a person can mistype, or a stranger can plant, in a cell: one sentence, and nothing has changed."""

from __future__ import annotations

import ast
import os

import pytest

from runcell_nb.core.errors import repr_of
from runcell_nb.notebook.short_error import shortened

from .conftest import KEYS
from .kernels import Kernel

HUGE = "x" * 100_000
SESSION = "get_ipython().magics_manager.registry['RuncellMagics'].session"
SETUP = """
import sys
from runcell_nb import ScriptedModel
model = ScriptedModel(["ok"] * 50)
n, names = 5, ["a"]
class Plain: pass
class Boom:
    def __repr__(self): raise KeyError("repr")
    def to_csv(self, index): sys.exit(3)
    columns = ("a",)
boom = Boom()
def leave(): sys.exit(3)
"""
STATE = (
    f"({SESSION}.thread.messages, {SESSION}.book.active.name, {SESSION}.book.names, {SESSION}.shelf.names, "
    f"{SESSION}.shelf.active, {SESSION}.snapshots, {SESSION}.spent, {SESSION}.settings.model, "
    "len(model.requests), sorted(name for name in list(globals()) if name[0] != '_'))"
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One kernel for all of them: none may change anything."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "empty").mkdir()
    env = {name: value for name, value in os.environ.items() if not any(part in name for part in KEYS)}
    kernel = Kernel({**env, "IPYTHONDIR": str(folder / "ipython")})
    assert kernel.run(f"%cd -q {folder}").ok
    assert kernel.run(f"%load_ext runcell_nb\n{SETUP}").ok
    yield kernel
    kernel.close()


def refused(kernel: Kernel, cell: str, *said: str) -> None:
    """Run a cell that fails with one short sentence and changes nothing."""
    before = kernel.value(STATE)
    done = kernel.run(cell)
    assert not done.ok
    assert all(part in done.error for part in said), done.error
    assert len(done.error) < 2_500
    assert len(done.error) < 1_500 or len(cell) > 1_500
    assert done.error.count("\n") <= 2  # where the middle of a huge one is left out
    assert "Traceback" not in done.error
    assert kernel.value(STATE) == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"-m {HUGE}", "Unknown model"),
        (f"--{HUGE}", "unknown option"),
        (HUGE, "is no option"),
        ("-m 模型", "模型"),
        ("-m \x1b[2Jx", "Unknown model"),
        ("-m openai/gpt-4o", "OPENAI_API_KEY"),
        (f"-t {HUGE}", "no thread"),
        ("-t \u202e", "\\u202e"),
        (f"-s {HUGE}", "no sandbox"),
        ("--schema n", "got 5"),
        ("--schema boom", "<Boom instance at"),
        ("--schema Plain", "not usable"),
        (f"--schema {HUGE}", "no type of that name"),
        ("--tools n", "got 5"),
        ("--tools boom", "<Boom instance at"),
        ("--tools Plain", "the class Plain"),
        ("--tools leave()", "no function of that name"),
        (f"--in {HUGE}", "no variable, file or folder"),
        ("--in 'a\x00b'", "no variable, file or folder"),
        ("--in ~nobody-of-that-name/x", "no variable, file or folder"),
        ("--in empty", "the folder holds no files"),
        ("--in /dev/null", "it is no regular file"),
        ("--in x=leave()", "SystemExit: 3"),
        ("--in boom", "SystemExit: 3"),
        ("--in x=boom.__repr__()", "KeyError"),
        ("--in x=input()", "StdinNotImplementedError"),
        ("--in x=float('nan')", "quote all of it"),
        (f"--in x={'(' * 300}", "is no Python expression"),
        ("--in names names", "'names.json'; give each once"),
        ("--in x=1 x=2", "'x.json'; give each once"),
        ("--out get_ipython", "do not use themselves"),
        ("--out _", "do not use themselves"),
        ("--out In", "do not use themselves"),
        ("--out __builtins__", "do not use themselves"),
        (f"--max-repairs {'9' * 5_000}", "a whole number from 0"),
        ("--max-cost 1e400", "a positive number of US dollars"),
        ("--max-cost 1e-400", "a positive number of US dollars"),
        ("'open", "no closing quotation"),
        ("\u2013model x", "is no option"),
    ],
)
def test_a_bad_cell_is_one_sentence_and_changes_nothing(shared, line, said):
    cell = f"%%runcell {line}\nhi" if line.startswith("-m") else f"%%runcell -m model {line}\nhi"
    refused(shared, cell, said)


@pytest.mark.parametrize("prompt", ["", "\n", "  \n\t\n"])
def test_a_prompt_of_nothing_is_refused(shared, prompt):
    refused(shared, f"%%runcell -m model\n{prompt}", "The prompt is empty")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (HUGE, "unknown command"),
        ("apply", "the command apply is not available in this version"),
        ("replay stric", "got 'stric' (did you mean strict?)"),
        ("replay auto off", "takes at most 1 mode"),
        ("replay --timing", "needs a mode"),
        ("record nothing", "unknown command 'nothing'"),
        ("record on off", "takes no argument"),
        ("modle", "did you mean model?"),
        ("'open", "no closing quotation"),
        (f"model {HUGE}", "Unknown model"),
        ("model names", "Unknown model"),
        ("model a b", "takes one name"),
        ("usage x", "takes no argument, got 'x'"),
        ("files x", "takes no argument"),
        ("diff 1 2", "takes at most 1 number"),
        ("history nowhere", "no thread 'nowhere'"),
        ("thread nothing", "unknown command 'nothing'"),
        ("thread new", "none was given"),
        ("thread new ''", "visible characters"),
        ("thread new main", "'main' already"),
        (f"thread new {HUGE}", "visible characters"),
        ("thread new \x1b[2J", "visible characters"),
        ("thread new \u200b", "visible characters"),
        (f"thread switch {HUGE}", "no thread"),
        ("thread rename", "none was given"),
        ("thread rename a b c", "takes 1 to 2 names"),
        ("thread delete main", "the active one"),
        ("thread show nowhere", "no thread 'nowhere'"),
        ("sandbox new", "takes NAME"),
        ("sandbox new a nonsense", "'nonsense'"),
        (f"sandbox new a {HUGE}", "of type 'xxx"),
        ("sandbox new a host", "isolation=external"),
        ("sandbox new a host --root", "--root needs a value"),
        ("sandbox new a host --root=", "--root needs a value"),
        ("sandbox new a host --root --network", "--root needs a value"),
        ("sandbox new a --root=/tmp", "root_dir"),
        ("sandbox new a --nonsense", "unknown option '--nonsense'"),
        ("sandbox new ''", "visible characters"),
        ("sandbox switch nowhere", "no sandbox 'nowhere'"),
        ("sandbox restore", "There is no snapshot yet"),
        ("sandbox restore nowhere", "There is no snapshot yet"),
        ("sandbox snapshot ''", "A snapshot's name"),
        (f"sandbox snapshot {HUGE}", "A snapshot's name"),
        ("sandbox snapshot \x1b[2J", "A snapshot's name"),
        ("sandbox delete main", "the active one"),
        ("export", "none was given"),
        ("export a.txt", "a new .py file"),
        ("export a.py", "nothing has run yet"),
    ],
)
def test_a_bad_command_is_one_sentence_and_changes_nothing(shared, line, said):
    refused(shared, f"%runcell {line}", said)


def test_after_all_of_that_a_cell_runs(shared):
    done = shared.run("%%runcell -m model --out answer --in 'x={(1, 2): \"\\u202e\"}'\nh\u00ef \x00 \u200b")
    assert done.ok, done.error
    assert shared.value("answer.text") == "'ok'"


def test_a_script_of_hostile_prompts_and_names_is_python(kernel, tmp_path):
    assert kernel.run("model = ScriptedModel(['ok'] * 9)\nx = 'a'").ok
    for prompt in ("'''\"\"\"\\", "{1/0} \x00\x1b[2J", "\u202e\u2028x = 1\r\nimport os", "a" * 10_000):
        done = kernel.run(f"%%runcell -m model --in x\n{prompt}")
        assert done.ok, done.error
    assert kernel.run("%runcell thread new 'a\"b #'").ok
    assert kernel.run("%%runcell -m model -t 'a\"b #'\nhi").ok
    assert kernel.run(f"%runcell export {tmp_path}/script.py").ok
    tree = ast.parse((tmp_path / "script.py").read_text(encoding="utf-8"))
    imported = [node.names[0].name for node in ast.walk(tree) if isinstance(node, ast.Import)]
    assert imported == ["asyncio"]


def test_the_middle_of_a_huge_message_is_left_out():
    (first, middle, last) = shortened(ValueError(f"{HUGE}; do this instead."))._render_traceback_()
    assert first.endswith("xxx") and last.endswith("; do this instead.")
    assert middle == "… 98,518 characters left out …"


def test_the_repr_of_anything_is_short_and_never_raises():
    class Boom:
        def __repr__(self):
            raise KeyError("repr")

    assert repr_of(5) == "5"
    assert repr_of(Boom()).startswith("<Boom instance at")
    assert max(len(repr_of(value)) for value in (HUGE, [HUGE] * 100, list(range(10**6)))) < 2_000
