"""Front ends that are no JupyterLab: VS Code, Colab, consoles, a terminal, nbclient."""

from __future__ import annotations

import os
import re
import sys
import time

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from .conftest import KEYS
from .kernels import Done, Kernel

pytestmark = pytest.mark.slow

SESSION = "get_ipython().magics_manager.registry['RuncellMagics'].session"
COLAB = "import sys, types\nsys.modules['google.colab'] = types.ModuleType('google.colab')"
WRITE = "[{'tool': 'write', 'input': {'file_path': 'a.txt', 'content': '1'}}]"
SLEEP = "[{'tool': 'bash', 'input': {'command': 'sleep 20'}}]"
RICH = {"text/html", "text/markdown", "text/plain"}


def clean_environment(folder) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if not any(part in name for part in KEYS)}
    return {**env, "IPYTHONDIR": str(folder / "ipython")}


class FrontEnd:
    """Sends requests as one front end does: with what it tells of the cell, and whether it answers `input()`.

    It opens no subshell and answers no comm message, as the other side of a widget would.
    """

    def __init__(self, kernel: Kernel, address: str, *, asks: bool) -> None:
        self.kernel, self._address, self._asks = kernel, address, asks

    def start(self, code: str, cell: str = "1") -> str:
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": self._asks,
            "stop_on_error": True,
        }
        metadata = {"cellId": self._address.format(cell)} if self._address else {}
        message = self.kernel.client.session.msg("execute_request", content, metadata=metadata)
        self.kernel.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def run(self, code: str, cell: str = "1") -> Done:
        return self.kernel.finish(self.start(code, cell))

    def script(self, *responses: str) -> None:
        assert self.run(f"model = ScriptedModel([{', '.join(responses)}])", "model").ok


FRONT_ENDS = {
    # What VS Code tells of a cell is an address, not the id in the file.
    "vscode": ("__vsc_ipynb_file__ = '/w/a.ipynb'", "vscode-notebook-cell:/w/a.ipynb#W{}sZmlsZQ%3D%3D", True),
    "colab": (COLAB, "", True),
    "colab without stdin": (COLAB, "", False),
    "runner": ("", "", False),
}


@pytest.fixture(params=FRONT_ENDS)
def front_end(kernel, request) -> FrontEnd:
    before, address, asks = FRONT_ENDS[request.param]
    front_end = FrontEnd(kernel, address, asks=asks)
    assert front_end.run(before, "before").ok
    return front_end


def test_a_run_leaves_its_static_copy_and_its_record(front_end):
    front_end.script(WRITE, "'one'")
    done = front_end.run("%%runcell -m model --out r\nfirst")
    assert done.ok, done.error
    assert done.text == ""
    (shown,) = done.displays
    assert set(shown) == RICH | {"application/vnd.runcell.turn+json"}
    assert all("one" in shown[kind] and "a.txt" in shown[kind] for kind in RICH)
    assert front_end.kernel.value("r.text") == "'one'"


def test_a_cell_that_runs_again_tells_its_story_once_where_cells_have_names(front_end):
    front_end.script("'one'", "'two'", "'three'")
    for cell in ("1", "2", "1"):
        assert front_end.run("%%runcell -m model\nhi", cell).ok
    request = "len(model.requests[2].messages)"
    named = bool(front_end._address)
    assert front_end.kernel.value(request) == ("1" if named else "5")


def test_a_failing_and_a_wrong_cell_are_one_sentence(front_end):
    front_end.script("ConnectionError('the line is dead')", "'ok'")
    done = front_end.run("%%runcell -m model\nhi")
    assert not done.ok
    assert "the line is dead" in done.error
    assert "the line is dead" in done.displays[0]["text/html"]
    wrong = front_end.run("%%runcell --nonsense\nhi")
    assert "--nonsense" in wrong.error
    assert wrong.displays == []
    assert front_end.run("%%runcell -m model\nhi").ok


def test_an_interrupt_stops_a_run(front_end):
    front_end.script(SLEEP, "'never'")
    request = front_end.start("%%runcell -m model\nhi")
    front_end.kernel.wait_for(request, "display_data")
    front_end.kernel.manager.interrupt_kernel()
    done = front_end.kernel.finish(request)
    assert "stopped by the user" in done.error
    front_end.script("'ok'")
    assert front_end.run("%%runcell -m model\nagain").ok


@pytest.mark.parametrize("option", ["--background", "--quiet", "--fresh"])
def test_an_option_that_needs_more_of_a_front_end_shows_the_answer_once(front_end, option):
    front_end.script("'the answer'")
    request = front_end.start(f"%%runcell -m model {option}\nhi")
    done = front_end.kernel.finish(request)
    assert done.ok, done.error
    if option == "--background" and front_end._asks:  # the cell is over, its run may not be
        front_end.script("'next'")
        assert front_end.run("%%runcell -m model\nnext", "2").ok  # waits for it
        assert front_end.kernel.value(f"len({SESSION}.book.active.turns)") == "2"
    else:
        (shown,) = done.displays
        assert "the answer" in shown["text/plain"]


@pytest.mark.parametrize("command", ["files", "thread show"])
def test_the_browsers_are_readable_without_a_widget(front_end, command):
    front_end.script(WRITE, "'one'")
    assert front_end.run("%%runcell -m model\nfirst").ok
    done = front_end.run(f"%runcell {command}")
    assert done.ok, done.error
    (shown,) = done.displays
    told = "a.txt" if command == "files" else "first"
    assert told in shown["text/html"]
    assert told in shown["text/plain"]


@pytest.mark.parametrize("option", ["", "--quiet", "--background"])
def test_a_console_on_a_kernel_shows_the_answer_as_text(kernel, option):
    console = FrontEnd(kernel, "", asks=True)
    console.script(WRITE, "'the answer'")
    done = console.run(f"%%runcell -m model {option}\nhi")
    assert done.ok, done.error
    assert "the answer" in done.text
    assert "done in" in done.text
    assert done.displays == []  # a console can replace nothing of what it has shown


def test_nbclient_runs_a_notebook_twice(tmp_path, monkeypatch):
    for name, value in clean_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    for name in [name for name in os.environ if any(part in name for part in KEYS)]:
        monkeypatch.delenv(name)
    sources = [
        "%load_ext runcell_nb",
        "%%runcell\nCreate a.txt with the text: hi",
        "%runcell files",
        "%runcell thread show",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    for _ in range(2):
        NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
        nbformat.validate(notebook)
        run, files, thread = (cell.outputs[0].data for cell in notebook.cells[1:])
        assert all("a.txt" in run[kind] for kind in RICH)
        assert "a.txt" in files["text/plain"]
        assert "1 turn" in thread["text/plain"]


def test_nbclient_stops_at_a_failing_cell(tmp_path):
    sources = ["%load_ext runcell_nb", "%%runcell -m local/dmo\nhi"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    with pytest.raises(CellExecutionError, match="local/dmo"):
        NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
class TestTerminal:
    """IPython in a terminal, typed by hand."""

    @pytest.fixture
    def typed(self, tmp_path):
        pexpect = pytest.importorskip("pexpect")
        arguments = ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor"]
        env = {**clean_environment(tmp_path), "TERM": "dumb"}
        child = pexpect.spawn(
            sys.executable, arguments, env=env, cwd=str(tmp_path), encoding="utf-8", timeout=60
        )
        child.expect(r"In \[1\]: ")

        def typed(*lines: str, until: str = r"\n\r?\nIn \[\d+\]: ") -> str:
            for line in lines:
                child.sendline(line)
            child.expect(until)
            return str(child.before)

        typed.child = child
        typed("%load_ext runcell_nb")
        typed("from runcell_nb import ScriptedModel")
        yield typed
        child.close(force=True)

    def test_a_prompt_of_lines_ends_with_blank_ones(self, typed):
        typed(f"model = ScriptedModel([{WRITE}, 'the answer'])")
        shown = typed("%%runcell -m model --out r", "first line", "second line", "", "")
        assert "[write] a.txt" in shown
        assert "the answer" in shown
        assert "first line\\nsecond line" in typed("model.requests[0].messages[0].content[0].text")
        assert "the answer" in typed("r.text")
        assert "1  a.txt" in typed("%runcell files")
        assert "agent the answer" in typed("%runcell thread show")

    def test_a_wrong_cell_and_a_failing_one(self, typed):
        typed("model = ScriptedModel([ConnectionError('the line is dead')])")
        assert "unknown option '--nonsense'" in typed("%%runcell --nonsense", "hi", "", "")
        shown = typed("%%runcell -m model", "hi", "", "")
        assert re.search(r"TurnError.*the line is dead", shown)
        assert "Traceback" not in shown

    def test_control_c_stops_a_run(self, typed):
        typed(f"model = ScriptedModel([{SLEEP}, 'never'])")
        typed("%%runcell -m model", "hi", "", "", until=r"\[bash\] sleep 20")
        time.sleep(0.5)
        typed.child.sendintr()
        typed(until=r"stopped by the user\W+In \[\d+\]: ")
        assert "stopped" in typed("%runcell usage")


@pytest.mark.parametrize(
    ("typed", "state"),
    [
        ("%%runcell", "incomplete"),
        ("%%runcell --out r\nfirst", "incomplete"),
        ("%%runcell\nfirst\n\nsecond", "incomplete"),
        ("%%runcell\nfirst\n\n", "complete"),
        ("%runcell thread list", "complete"),
    ],
)
def test_a_console_waits_for_the_prompt(kernel, typed, state):
    kernel.client.is_complete(typed)
    assert kernel.client.get_shell_msg(timeout=60)["content"]["status"] == state
