"""`%%runcell` in a real kernel: display, interrupt, and what a saved notebook keeps."""

from __future__ import annotations

import time

import pytest


def script(kernel, responses: str) -> None:
    assert kernel.run(f"model = ScriptedModel({responses})").ok


def test_the_demo_answers_and_the_output_is_a_static_copy(kernel):
    done = kernel.run("%%runcell --out r\nCreate hello.txt with the text: hello there")
    assert done.ok, done.error
    (shown,) = done.displays
    assert set(shown) >= {"text/html", "text/markdown", "text/plain"}
    assert not any("widget" in kind for kind in shown)
    for kind in ("text/html", "text/markdown", "text/plain"):
        assert "local/demo" in shown[kind]
        assert "hello.txt" in shown[kind]
    assert "<script" not in shown["text/html"]
    assert kernel.value("[f.path for f in r.files]") == "['hello.txt']"


def test_the_result_is_the_cells_value_and_shown_once(kernel):
    script(kernel, "['one']")
    done = kernel.run("%%runcell -m model\nhi")
    assert [m["msg_type"] for m in done.messages].count("execute_result") == 0
    assert kernel.value("_.text") == "'one'"
    assert "one" in kernel.run("_").displays[0]["text/plain"]


def test_no_widget_model_is_left_behind(kernel):
    script(kernel, "['one', 'two']")
    for _ in range(2):
        assert kernel.run("%%runcell -m model\nhi").ok
    assert kernel.run("import ipywidgets").ok
    kept = "list(ipywidgets.widgets.widget._instances.values())"
    assert "RunView" not in kernel.value(kept)


def test_a_failing_run_is_a_failing_cell_with_one_sentence(kernel):
    script(kernel, "[ConnectionError('the line is dead')]")
    done = kernel.run("%%runcell -m model\nhi")
    assert not done.ok
    assert "the line is dead" in done.error
    assert done.error.count("\n") <= 2
    assert "the line is dead" in done.displays[0]["text/html"]
    script(kernel, "['ok']")
    assert kernel.run("%%runcell -m model\nhi").ok


FAULTS = {
    "static copy": "runcell_nb.notebook.cell_view.static_bundle = broken",
    "widget": "runcell_nb.notebook.run_view.RunView.feed = broken",
    "end of the widget": "runcell_nb.notebook.run_view.RunView.finish = broken",
    "browser": "runcell_nb.notebook.file_browser.FileBrowser.feed = broken",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_display_does_not_fail_a_good_run(kernel, fault):
    assert kernel.run("%runcell files").ok
    assert kernel.run(
        f"import runcell_nb.notebook.session\ndef broken(*_): raise KeyError(1)\n{FAULTS[fault]}"
    ).ok
    script(kernel, "[[{'tool': 'ls', 'input': {}}], 'all is well']")
    done = kernel.run("%%runcell -m model --out r\nhi")
    assert done.ok, done.error
    assert done.text.splitlines() == ["runcell: the display is incomplete (KeyError: 1); the run goes on."]
    assert kernel.value("r.text") == "'all is well'"
    assert any("all is well" in str(display) for display in done.displays)


def test_without_a_widget_the_run_does_not_start(kernel):
    session = "get_ipython().magics_manager.registry['RuncellMagics'].session"
    assert kernel.run(f"{session}\nfrom runcell_nb.notebook import cell_view\ncell_view.RunView = None").ok
    script(kernel, "['never']")
    assert not kernel.run("%%runcell -m model\nhi").ok
    assert kernel.value("model.requests") == "[]"


def test_there_is_one_file_browser_at_a_time(kernel):
    for _ in range(5):
        assert kernel.run("%runcell files").ok
    assert kernel.run("import ipywidgets").ok
    kept = kernel.value("[type(w).__name__ for w in ipywidgets.widgets.widget._instances.values()]")
    assert kept.count("FileBrowser") == 1


@pytest.mark.parametrize("outer", ["", "%%time\n"])
def test_a_file_browser_follows_a_run_wherever_it_runs(kernel, outer):
    assert kernel.run("import asyncio\nasyncio.get_running_loop().set_debug(True)").ok
    assert kernel.run("%runcell files").ok
    script(kernel, "[[{'tool': 'write', 'input': {'file_path': 'a.txt', 'content': '1'}}], 'ok']")
    done = kernel.run(f"{outer}%%runcell -m model\nhi")
    assert done.ok, done.error
    assert "incomplete" not in done.text
    session = "get_ipython().magics_manager.registry['RuncellMagics'].session"
    listed = f"{session}._browser._listing.entries"
    waiting = f"for _ in range(500):\n    if {listed}: break\n    await asyncio.sleep(0.01)"
    waited = kernel.run(waiting)
    assert waited.ok, waited.error
    assert kernel.value(f"list({listed})") == "['a.txt']"


SLOW_TABLE = """
import threading
class Slow:
    columns, dtypes, begun = ("a",), {"a": "int64"}, threading.Event()
    def __len__(self): return 1
    def to_csv(self, index): print("reading", flush=True); threading.Event().wait(60)
slow = Slow()
"""


def test_an_interrupt_ends_the_reading_of_inputs(kernel):
    assert kernel.run(SLOW_TABLE).ok
    script(kernel, "['ok']")
    request = kernel.start("%%runcell -m model --in slow\nhi")
    kernel.wait_for(request, "stream")
    kernel.manager.interrupt_kernel()
    done = kernel.finish(request)
    assert "stopped by the user" in done.error
    assert kernel.value("model.requests") == "[]"
    assert kernel.run("%%runcell -m model\nagain").ok


@pytest.mark.parametrize("outer", ["", "%%time\n"])
def test_an_interrupt_stops_everything_and_the_next_prompt_works(kernel, outer):
    script(kernel, "[[{'tool': 'bash', 'input': {'command': 'touch begun; sleep 3; touch late'}}], 'never']")
    session = "get_ipython().magics_manager.registry['RuncellMagics'].session"
    request = kernel.start(f"{outer}%%runcell -m model\nhi")
    kernel.wait_for(request, "display_data")
    time.sleep(1)
    kernel.manager.interrupt_kernel()
    kernel.manager.interrupt_kernel()  # a second one does nothing more
    done = kernel.finish(request)
    assert not done.ok
    assert "TurnError" in done.error
    assert "stopped by the user" in done.error
    assert kernel.value(f"{session}.thread.messages") == "[]"
    assert kernel.value(f"{session}.spent[-1].state") == "'stopped'"
    time.sleep(3)
    listed = kernel.run("%runcell")
    assert "1 file" in listed.text, "the command went on after the interrupt"
    script(kernel, "[[{'tool': 'ls', 'input': {}}], 'fine']")
    assert kernel.run("%%runcell -m model\nagain").ok


def test_the_interrupt_of_other_cells_is_as_ever(kernel):
    script(kernel, "['ok']")
    assert kernel.run("%%runcell -m model\nhi").ok
    request = kernel.start("import time\ntime.sleep(30)")
    kernel.wait_for(request, "execute_input")
    time.sleep(0.3)
    kernel.manager.interrupt_kernel()
    assert "KeyboardInterrupt" in kernel.finish(request).error


def test_max_seconds_stops_a_run(kernel):
    script(kernel, "[[{'tool': 'bash', 'input': {'command': 'sleep 30'}}], 'never']")
    done = kernel.run("%%runcell -m model --max-seconds 0.5\nhi")
    assert "max_seconds=0.5" in done.error


def test_user_callbacks_and_other_tasks_of_the_loop_go_on_during_a_run(kernel):
    assert kernel.run(
        "import asyncio\nticks = []\n"
        "async def tick():\n    while True:\n        ticks.append(1); await asyncio.sleep(0.02)\n"
        "ticking = asyncio.ensure_future(tick())"
    ).ok
    script(kernel, "[[{'tool': 'bash', 'input': {'command': 'sleep 1'}}], 'ok']")
    assert kernel.run("before = len(ticks)").ok
    assert kernel.run("%%runcell -m model\nhi").ok
    assert int(kernel.value("len(ticks) - before")) > 20
    assert kernel.run("ticking.cancel()").ok
