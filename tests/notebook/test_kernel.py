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
    if not outer:
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
