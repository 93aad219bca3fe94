"""Tab in our lines: in a real shell, and through a real kernel as a front end asks."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from IPython.core.completer import provisionalcompleter, rectify_completions
from IPython.core.interactiveshell import InteractiveShell

from runcell_nb.notebook import completion, completion_choices
from runcell_nb.notebook.completion import register_completion, unregister_completion
from runcell_nb.notebook.completion_place import COMMANDS
from runcell_nb.notebook.option_line import OPTIONS
from tests.notebook.kernels import PATIENCE

LONG = [option.flags[-1] for option in OPTIONS]
SETUP = """
import os
from functools import partial
from pydantic import BaseModel
from runcell_nb import ScriptedModel
class Invoice(BaseModel):
    total: int
Rows = list[int]
def count(path: str) -> int: ...
half = partial(count)
rows = [1, 2]
script = ScriptedModel(["x"])
"""
SESSION = SimpleNamespace(
    book=SimpleNamespace(names=["main", "plan b", "a\nb"]),
    shelf={"default": object(), "data": object()},
    snapshots={"snapshot 1": "id"},
)


@pytest.fixture
def shell(monkeypatch, tmp_path):
    for variable in ("RUNCELL_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("OLLAMA_HOST", "LM_STUDIO_BASE_URL", "LLAMAFILE_BASE_URL", "HOSTED_VLLM_BASE_URL"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setattr(completion, "COMPLETION_SECONDS", 30)
    monkeypatch.chdir(tmp_path)
    shell = InteractiveShell()
    shell.run_cell(SETUP)
    register_completion(shell, lambda: SESSION)
    yield shell
    shell.history_manager.end_session()


def completed(shell, code):
    """What the completer proposes where the | is, as the lines that would come of it."""
    at = code.index("|")
    code = code.replace("|", "", 1)
    with provisionalcompleter():
        found = list(rectify_completions(code, shell.Completer.completions(code, at)))
    assert all(code[: each.start] + code[each.start : each.end] == code[:at] for each in found)
    return [code[: each.start] + each.text for each in found]


def words(shell, code):
    """What is proposed for the last word."""
    start = code.index("|")
    return [line[start:] for line in completed(shell, code)]


def test_options(shell):
    assert words(shell, "%%runcell |\nhi") == LONG
    assert completed(shell, "%%runcell --max-r|\nhi") == [
        "%%runcell --max-repairs",
        "%%runcell --max-requests",
    ]
    assert words(shell, "%%runcell --quiet --in a --mo|") == ["del"]


def test_an_option_that_is_given_is_not_proposed_again_unless_it_may_be(shell):
    left = words(shell, "%%runcell -m x --in a --tools b --out c --fresh |")
    assert left == [flag for flag in LONG if flag not in ("--model", "--fresh", "--out")]
    assert words(shell, "%%runcell -m x --mo|") != ["del"]


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("%%runcell -t |\nhi", ["%%runcell -t main", "%%runcell -t 'plan b'"]),
        ("%%runcell --thread=m|", ["%%runcell --thread=main"]),
        ("%%runcell -t pl|", ["%%runcell -t 'plan b'"]),
        ("%%runcell -t 'pl|", ["%%runcell -t 'plan b'"]),
        ("%%runcell -s d|", ["%%runcell -s default", "%%runcell -s data"]),
        ("%%runcell --schema |", ["%%runcell --schema Invoice", "%%runcell --schema Rows"]),
        ("%%runcell --thinking hi|", ["%%runcell --thinking high"]),
        ("%%runcell --replay s|", ["%%runcell --replay strict"]),
        ("%runcell replay au|", ["%runcell replay auto"]),
        ("%runcell replay auto -|", ["%runcell replay auto --timing"]),
        ("%runcell record cl|", ["%runcell record clear"]),
        ("%%runcell --tools co|", ["%%runcell --tools count"]),
        ("%%runcell --tools count,h|", ["%%runcell --tools count,half"]),
        ("%%runcell --tools count h|", ["%%runcell --tools count half"]),
        ("%%runcell --in ro|", ["%%runcell --in rows"]),
        ("%%runcell --in a,ro|", ["%%runcell --in a,rows"]),
        ("%%runcell --in n=len(ro|", ["%%runcell --in n=len(rows"]),
        ("%%runcell --in 'n=1 + ro|", ["%%runcell --in 'n=1 + rows"]),
        ("%%runcell -m scr|", ["%%runcell -m script"]),
        ("%%runcell -m DEMO|", ["%%runcell -m local/demo"]),
        ("\n\n%%runcell -t m|\nhi", ["\n\n%%runcell -t main"]),
        ("%%time\n%%runcell -t m|\nhi", ["%%time\n%%runcell -t main"]),
        ("%runcell thread switch m|", ["%runcell thread switch main"]),
        ("%runcell thread sw|", ["%runcell thread switch"]),
        ("%runcell sandbox delete da|", ["%runcell sandbox delete data"]),
        ("%runcell sandbox restore |", ["%runcell sandbox restore 'snapshot 1'"]),
        ("%runcell sandbox new x ho|", ["%runcell sandbox new x host"]),
        ("a = 1\n  %runcell us|", ["a = 1\n  %runcell usage"]),
        ("x, y = %runcell us|", ["x, y = %runcell usage"]),
    ],
)
def test_what_is_proposed(shell, code, lines):
    found = completed(shell, code)
    schema = "--schema" in code
    assert [line for line in found if not schema or line.endswith(("Invoice", "Rows"))] == lines


def test_commands(shell):
    assert words(shell, "%runcell |") == list(COMMANDS)


def test_variables_are_those_with_a_file_form_and_options_may_follow(shell):
    assert words(shell, "%%runcell --in |")[:2] == ["rows", "script"]
    assert words(shell, "%%runcell --in |")[2:] == LONG


def test_files(shell, tmp_path):
    for path in (
        "data/my file.csv",
        "data/x.csv",
        "data/.hidden",
        "my folder/a",
        "year=1/a",
        "a,b",
        "bad\nname",
    ):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    assert completed(shell, "%%runcell --in da|") == ["%%runcell --in data/"]
    assert completed(shell, "%%runcell --in data/|") == [
        "%%runcell --in 'data/my file.csv'",
        "%%runcell --in data/x.csv",
    ]
    assert completed(shell, "%%runcell --in data/.|") == ["%%runcell --in data/.hidden"]
    assert completed(shell, "%%runcell --in my|") == ["%%runcell --in 'my folder/"]
    assert completed(shell, "%%runcell --in 'my folder/|") == ["%%runcell --in 'my folder/a'"]
    assert completed(shell, "%%runcell --in year|") == ["%%runcell --in ./year=1/"]
    assert not {"a,b", "bad\nname"} & set(words(shell, "%%runcell --in |"))
    assert completed(shell, f"%%runcell --in {tmp_path}/data/x|") == [f"%%runcell --in {tmp_path}/data/x.csv"]


@pytest.mark.parametrize(
    "code",
    [
        "%%runcell\n--mo|",
        "%%runcell -m x\n%runcell mo|",
        "%%runcell\n%%runcell --mo|",
        "%%runcellx --mo|",
        "%%runcell|",
        "%runcell|",
        "%%bash\n%%runcell\n--mo|",
        "x = 1\n%%runcell --mo|",
        "# %%runcell --mo|",
        "%runcell files |",
        "%%runcell --out r|",
        "%%runcell --max-cost |",
        "%%runcell --in n=rows.|",
        "",
    ],
)
def test_nothing_of_ours_elsewhere(shell, code):
    at = code.find("|") if "|" in code else 0
    lines = code.replace("|", "")
    (match,) = shell.Completer.custom_matchers
    line, column = lines[:at].count("\n"), at - (lines[:at].rfind("\n") + 1)
    context = SimpleNamespace(full_text=lines, cursor_line=line, cursor_position=column)
    assert list(match(context)["completions"]) == []


def test_models_whose_key_is_set(shell, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "set")
    monkeypatch.setenv("RUNCELL_MODEL", "mistral/small")
    found = words(shell, "%%runcell -m |")
    assert found[:2] == ["script", "mistral/small"]
    assert [name.split("/")[0] for name in found[2:]] == ["openai", "local"]
    assert words(shell, "%runcell model |") == found


class Ollama(BaseHTTPRequestHandler):
    """As much of a model server as is asked for its names."""

    asked = 0

    def do_GET(self):
        type(self).asked += 1
        self.answer({"models": [{"name": "llama3:latest", "digest": "1"}]})

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.answer({"capabilities": ["completion", "tools"]})

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        pass


@pytest.fixture
def ollama(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ollama)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Ollama.asked = 0
    monkeypatch.setattr(completion_choices, "LOOK_SECONDS", 20)
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_models_of_this_machine_are_asked_once_for_a_while(shell, monkeypatch, ollama):
    monkeypatch.setenv("OLLAMA_HOST", ollama)
    (local,) = [name for name in words(shell, "%%runcell -m |") if "llama3" in name]
    asked = Ollama.asked
    assert asked
    assert local in words(shell, "%%runcell -m |")
    assert Ollama.asked == asked
    monkeypatch.setattr(completion_choices, "KEPT_SECONDS", 0)
    assert local in words(shell, "%%runcell -m |")
    assert Ollama.asked > asked


def test_what_takes_long_is_not_waited_for(shell, monkeypatch):
    held = threading.Event()

    class Hangs:
        @property
        def names(self):
            held.wait(PATIENCE)
            return ["late"]

    register_completion(shell, lambda: SimpleNamespace(book=Hangs()))
    monkeypatch.setattr(completion, "COMPLETION_SECONDS", 0.05)
    (match,) = shell.Completer.custom_matchers

    def asked(code):
        found = match(SimpleNamespace(full_text=code, cursor_line=0, cursor_position=len(code)))
        return [each.text for each in found["completions"]]

    looks = threading.active_count()
    assert asked("%%runcell -t ") == []
    assert asked("%%runcell -t ") == []
    assert threading.active_count() == looks + 1
    assert asked("%%runcell --mo") == ["--model"]  # what needs no look is still there
    held.set()
    monkeypatch.setattr(completion, "COMPLETION_SECONDS", PATIENCE)
    assert asked("%%runcell -t ") == ["late"]


class Hostile:
    """A variable that fails for everything that it is asked."""

    def __getattribute__(self, name):
        raise RuntimeError(name)


@pytest.mark.parametrize("session", [lambda: None, lambda: SimpleNamespace(book=3, shelf=[1]), lambda: 1 / 0])
def test_never_an_exception(shell, session, capsys):
    shell.user_ns["hostile"] = Hostile()
    register_completion(shell, session)
    for code in (
        "-m ",
        "-t ",
        "-s ",
        "--schema ",
        "--in ",
        "--tools ",
        "--in /no/such/",
        "-t '",
        '-t "\\',
        "\\",
    ):
        completed(shell, f"%%runcell {code}|")
        completed(shell, f"%runcell {code}|")
    assert "hostile" in words(shell, "%%runcell --in |")
    assert capsys.readouterr() == ("", "")


def test_registering_twice_is_once_and_can_be_undone(shell):
    register_completion(shell, lambda: None)
    assert len(shell.Completer.custom_matchers) == 1
    unregister_completion(shell)
    unregister_completion(shell)
    assert shell.Completer.custom_matchers == []


def test_through_a_kernel(kernel):
    assert kernel.run(
        "from runcell_nb.notebook.completion import register_completion\n"
        "register_completion(get_ipython(), lambda: None)\n"
        "script = ScriptedModel(['x'])\nrows = [1]"
    ).ok

    def asked(code):
        at = code.index("|")
        code = code.replace("|", "", 1)
        request = kernel.client.complete(code, at)
        while True:
            reply = kernel.client.get_shell_msg(timeout=PATIENCE)
            if reply["parent_header"].get("msg_id") == request:
                content = reply["content"]
                assert content["status"] == "ok"
                return [code[: content["cursor_start"]] + match for match in content["matches"]]

    assert asked("%%runcell --max-c|\nthe prompt") == ["%%runcell --max-cost"]
    assert asked("%%runcell --in ro| --quiet\nthe prompt") == ["%%runcell --in rows"]
    patience = time.monotonic() + PATIENCE
    while (found := asked("%%runcell -m scr|\nhi")) != ["%%runcell -m script"]:  # the first look imports
        assert time.monotonic() < patience, found
    assert asked("%runcell us|") == ["%runcell usage"]
    assert "--max-cost" not in "".join(asked("%%runcell\n--max-c|"))
