"""The magics in a real IPython shell without a kernel, as a terminal has it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell

from runcell_nb import RunResult, ScriptedModel
from runcell_nb.core.gateway import FinishDelta
from runcell_nb.core.usage import RequestUsage


@pytest.fixture
def shell(monkeypatch):
    for name in ("RUNCELL_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "runcell_nb")
    yield shell
    shell.run_line_magic("unload_ext", "runcell_nb")
    shell.history_manager.end_session()


def script(shell, *responses):
    shell.user_ns["model"] = ScriptedModel(responses)
    return shell.user_ns["model"]


def test_loading_says_which_model_answers_and_is_idempotent(shell, capsys):
    hooks = list(shell.input_transformers_cleanup)
    shell.extension_manager.reload_extension("runcell_nb")
    assert (
        capsys.readouterr().out.count(
            "using local/demo (an offline demo, not a language model) because no key is set"
        )
        == 1
    )
    from runcell_nb import load_ipython_extension

    load_ipython_extension(shell)
    assert shell.input_transformers_cleanup == hooks
    assert capsys.readouterr().out == ""


def test_unloading_undoes_it(capsys):
    shell = InteractiveShell()
    hooks = list(shell.input_transformers_cleanup)
    shell.run_line_magic("load_ext", "runcell_nb")
    script(shell, "x")
    assert shell.run_cell("%%runcell -m model\nhi").success
    shell.run_line_magic("unload_ext", "runcell_nb")
    assert shell.input_transformers_cleanup == hooks
    assert not [each for each in shell.configurables if "runcell" in type(each).__module__]
    assert "runcell" not in shell.magics_manager.magics["cell"]
    assert not shell.run_cell("%%runcell\nhi").success
    shell.history_manager.end_session()


def test_a_cell_runs_binds_its_result_and_is_its_value(shell, capsys):
    script(shell, [{"tool": "write", "input": {"file_path": "a.txt", "content": "1"}}], "Done.")
    done = shell.run_cell("%%runcell -m model --out r\nwrite {a} file for $5")
    assert done.success
    assert isinstance(done.result, RunResult)
    assert shell.user_ns["r"] is done.result
    assert [file.path for file in done.result.files] == ["a.txt"]
    assert "Done." in capsys.readouterr().out


def test_cells_share_the_conversation_and_the_files(shell):
    model = script(
        shell,
        [{"tool": "write", "input": {"file_path": "a", "content": "1"}}],
        "ok",
        [{"tool": "read", "input": {"file_path": "a"}}],
        "1",
    )
    shell.run_cell("%%runcell -m model\nfirst")
    shell.run_cell("%%runcell -m model\nsecond")
    assert [m.role for m in model.requests[3].messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool",
    ]
    assert model.requests[3].messages[-1].content[0].content[0].text == "1"


def test_the_prompt_arrives_as_typed(shell):
    prompt = "{1/0} $HOME !ls\n>>> x\n  %%time\n"
    model = script(shell, "ok")
    shell.run_cell(f"%%runcell -m model\n{prompt}\n")
    assert model.requests[0].messages[0].content[0].text == prompt


@pytest.mark.parametrize("outer", ["%%time", "%%capture captured"])
def test_inside_another_magic_it_runs_all_the_same(shell, outer):
    model = script(shell, "ok")
    assert shell.run_cell(f"{outer}\n%%runcell -m model --out r\nhi").success
    assert shell.user_ns["r"].text == "ok"
    assert len(model.requests) == 1


def test_a_nested_run_cell_runs_too(shell):
    script(shell, "ok")
    code = "get_ipython().run_cell('%%runcell -m model --out r\\nhi')"
    assert shell.run_cell(code).success
    assert shell.user_ns["r"].text == "ok"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%runcell -m model\n  \n", "empty"),
        ("%%runcell --nonsense\nhi", "--nonsense"),
        ("%%runcell -m model --in nowhere\nhi", "nowhere"),
        ("%%runcell -m model --tools missing\nhi", "missing"),
        ("%%runcell -m local/dmo\nhi", "local/dmo"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(shell, capsys, cell, said):
    model = script(shell, "ok")
    session = shell.magics_manager.registry["RuncellMagics"].session
    done = shell.run_cell(cell)
    assert not done.success
    assert said in str(done.error_in_exec)
    shown = capsys.readouterr().out
    assert said in shown
    assert "Traceback" not in shown
    assert model.requests == []
    assert session.thread.messages == []
    assert shell.run_cell("%%runcell -m model\nhi").success


def test_functions_of_the_notebook_are_tools(shell):
    shell.run_cell("def double(n: int) -> int:\n    'Double.'\n    return 2 * n")
    model = script(shell, [{"tool": "double", "input": {"n": 21}}], "ok")
    assert shell.run_cell("%%runcell -m model --tools double\nhi").success
    assert model.requests[1].messages[-1].content[0].content[0].text == "42"


def test_inputs_reach_the_sandbox_and_the_model(shell):
    shell.user_ns["table"] = [{"a": 1}]
    model = script(shell, [{"tool": "read", "input": {"file_path": "table.json"}}], "ok")
    assert shell.run_cell("%%runcell -m model --in table\nlook").success
    assert "table.json" in model.requests[0].messages[0].content[0].text
    assert model.requests[1].messages[-1].content[0].content[0].text == '[{"a":1}]'


def test_a_failed_run_fails_the_cell_and_loses_nothing(shell, capsys):
    script(shell, ConnectionError("the line is dead"))
    assert not shell.run_cell("%%runcell -m model\nhi").success
    assert "TurnError" in capsys.readouterr().out
    script(shell, "ok")
    assert shell.run_cell("%%runcell -m model\nhi").success


def test_the_full_traceback_is_there_on_request(shell, capsys):
    shell.run_line_magic("config", "Runcell.full_traceback = True")
    script(shell, ConnectionError("the line is dead"))
    shell.run_cell("%%runcell -m model\nhi")
    assert "Traceback" in capsys.readouterr().out


def test_status_model_and_usage(shell, capsys):
    shell.run_cell("%runcell")
    assert "local/demo" in capsys.readouterr().out
    shell.run_cell("%runcell usage")
    assert "Nothing has run yet." in capsys.readouterr().out
    script(shell, ["ok", FinishDelta("stop", RequestUsage(input_tokens=1234, source="local"))])
    shell.run_cell("%%runcell -m model\nhi")
    capsys.readouterr()
    shell.run_cell("%runcell usage")
    assert "1,234 tokens  local" in capsys.readouterr().out
    shell.run_cell("%config Runcell.model = 'local/demo'")
    shell.run_cell("%runcell model")
    assert "using local/demo" in capsys.readouterr().out


def test_files_are_listed_as_text_in_a_terminal(shell, capsys):
    shell.run_cell("%runcell files")
    assert "The sandbox is empty." in capsys.readouterr().out
    script(shell, [{"tool": "write", "input": {"file_path": "a/b.txt", "content": "12345"}}], "ok")
    shell.run_cell("%%runcell -m model\nhi")
    capsys.readouterr()
    shell.run_cell("%runcell files")
    assert capsys.readouterr().out.split() == ["5", "a/b.txt"]


@pytest.mark.parametrize(
    "line",
    [
        "%runcell modle",
        "%runcell nonsense",
        "%runcell model a b",
        "%runcell files x",
        "%runcell model 'abc",
        "%runcell model abc\\",
        "%runcell model local/dmo",
    ],
)
def test_a_wrong_command_is_one_sentence(shell, line, capsys):
    assert not shell.run_cell(line).success
    (shown,) = capsys.readouterr().out.strip().splitlines()
    assert "InvalidOptionError" in shown


@pytest.mark.parametrize("cell", ["%runcell", "%runcell files", "%runcell usage", "%%runcell\nhi"])
def test_any_error_is_one_sentence(shell, monkeypatch, capsys, cell):
    session = shell.magics_manager.registry["RuncellMagics"].session
    monkeypatch.setattr(session, "spent", property)  # neither a list nor true of anything
    monkeypatch.setattr(session, "sandbox", None)
    monkeypatch.setattr(session, "list_files", None)
    monkeypatch.setattr(session, "rebuilt", None)
    assert not shell.run_cell(cell).success
    (shown,) = capsys.readouterr().out.strip().splitlines()
    assert "TypeError" in shown


@pytest.mark.parametrize("cell", ["%%runcell -m model\nhi", "%%time\n%%runcell -m model\nhi"])
def test_escape_sequences_of_a_provider_do_not_reach_the_terminal(shell, capsys, cell):
    script(shell, ConnectionError("a\x1b]0;title\x07b\x1b[2Jc\x9bd\u202ee"))
    assert not shell.run_cell(cell).success
    shown = capsys.readouterr().out.replace("\x1b[31m", "").replace("\x1b[0m", "")
    assert "TurnError: abc\\u009bd\\u202ee" in shown
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)


def test_the_help_is_a_useful_page(shell, capsys):
    shell.run_cell("%%runcell?")
    shown = capsys.readouterr().out
    for option in ("--model", "--in", "--out", "--tools", "--max-seconds"):
        assert option in shown


def test_loading_imports_neither_the_agent_nor_the_widgets():
    code = (
        "import sys, threading\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "threading.Thread.start = lambda self: None  # the warm-up, which imports them meanwhile\n"
        "shell.run_line_magic('load_ext', 'runcell_nb')\n"
        "print(sorted({'pydantic', 'ipywidgets', 'litellm', 'bashkit'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
