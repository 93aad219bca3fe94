"""What goes wrong with a real model, in a real kernel: one sentence, nothing lost, the next cell works.

The model is litellm over real HTTP; the provider is a local mock server that speaks its wire format.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.notebook.conftest import KEYS
from tests.notebook.kernels import Kernel

KEY = "wQ7tYk2ZrB9mXc4HfL0sVd8NpJ3gTa6Ue1Ri5Ko"  # random, and like no provider's own keys
MODELS = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-sonnet-4-5"}


class MockProvider:
    """The mock server and how to make it misbehave."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "llmock.cli", "serve", "--port", str(port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait()

    def _wait(self) -> None:
        for _ in range(300):
            try:
                httpx.get(f"{self.url}/_llmock/scenario")
                return
            except httpx.TransportError:
                time.sleep(0.1)
        raise RuntimeError("the mock provider did not start")

    def plan(self, *behaviors: dict) -> None:
        httpx.post(f"{self.url}/_llmock/reset").raise_for_status()
        httpx.post(f"{self.url}/_llmock/scenario", json={"behaviors": behaviors}).raise_for_status()

    def verdict(self) -> dict:
        return httpx.get(f"{self.url}/_llmock/verdict").json()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


@pytest.fixture(scope="module")
def provider() -> Iterator[MockProvider]:
    provider = MockProvider()
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def shared_kernel(provider, tmp_path_factory) -> Iterator[Kernel]:
    """One kernel for the module: litellm takes seconds to import."""
    env = {name: value for name, value in os.environ.items() if not any(part in name for part in KEYS)}
    env |= {
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{provider.url}/v1",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": f"{provider.url}/anthropic",
        "IPYTHONDIR": str(tmp_path_factory.mktemp("ipython")),
    }
    kernel = Kernel(env)
    assert kernel.run("%load_ext runcell_nb").ok
    yield kernel
    kernel.close()


def answered(kernel, provider, model, text="fine") -> None:
    provider.plan({"type": "reply", "text": text})
    done = kernel.run(f"%%runcell -m {model}\nhi")
    assert done.ok, done.error
    assert text in done.displays[0]["text/plain"]


FAULTS = {
    "401": ([{"type": "fail", "status": 401}], "key was not accepted"),
    "429 beyond patience": ([{"type": "fail", "status": 429, "retry_after": 300}], "300 s"),
    "500 for good": ([{"type": "fail", "status": 500, "times": 9}], "500"),
    "cut in the middle": (
        [
            {"type": "reply", "text": "one two three four five six seven"},
            {"type": "stream_fault", "kind": "truncate", "after_chunks": 5},
        ],
        "broke off",
    ),
    "dropped in the middle": (
        [
            {"type": "reply", "text": "one two three four five six seven"},
            {"type": "stream_fault", "kind": "disconnect", "after_chunks": 5},
        ],
        "broke off its response",
    ),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_sentence_and_the_next_cell_works(shared_kernel, provider, model, fault):
    behaviors, said = FAULTS[fault]
    session = "get_ipython().magics_manager.registry['RuncellMagics'].session"
    before = shared_kernel.value(f"len({session}.thread.messages)")
    provider.plan(*behaviors)
    done = shared_kernel.run(f"%%runcell -m {model}\nhi")
    assert not done.ok
    assert said in done.error
    assert model in done.error
    assert len(done.error.splitlines()) <= 2
    assert said in done.displays[0]["text/html"]
    assert KEY not in str(done.messages)
    assert shared_kernel.value(f"len({session}.thread.messages)") == before
    answered(shared_kernel, provider, model)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_rate_limit_is_waited_for_as_told(shared_kernel, provider, model):
    provider.plan(
        {"type": "fail", "status": 429, "retry_after": 1}, {"type": "reply", "text": "after the wait"}
    )
    done = shared_kernel.run(f"%%runcell -m {model}\nhi")
    assert done.ok, done.error
    assert "after the wait" in done.displays[0]["text/plain"]
    verdict = provider.verdict()
    assert not [finding for finding in verdict["findings"] if finding["severity"] == "error"], verdict


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_tool_calls_of_one_response_and_over_several_requests(shared_kernel, provider, model):
    calls = [
        {"name": "write", "arguments": {"file_path": "a.txt", "content": "x\n"}},
        {"name": "write", "arguments": {"file_path": "b.txt", "content": "y\n"}},
    ]
    provider.plan(
        {"type": "reply", "tool_calls": calls},
        {"type": "reply", "tool_calls": [{"name": "bash", "arguments": {"command": "cat a.txt b.txt"}}]},
        {"type": "reply", "text": "All done."},
    )
    done = shared_kernel.run(f"%%runcell -m {model} --out r\nhi")
    assert done.ok, done.error
    assert shared_kernel.value("[f.path for f in r.files]") == "['a.txt', 'b.txt']"
    assert "x\ny" in done.displays[0]["text/html"]
    assert "$" in done.displays[0]["text/plain"]
    assert shared_kernel.run("%%runcell -m local/demo\ndelete a.txt and delete b.txt").ok


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_tool_call_with_broken_arguments_goes_back_to_the_model(shared_kernel, provider, model):
    provider.plan(
        {"type": "reply", "tool_calls": [{"name": "ls", "arguments": {}}]},
        {"type": "tool_fault", "kind": "malformed_arguments"},
        {"type": "reply", "text": "I see."},
    )
    done = shared_kernel.run(f"%%runcell -m {model}\nhi")
    assert done.ok, done.error
    assert "not a JSON object" in done.displays[0]["text/html"]


@pytest.mark.parametrize(
    ("model", "said"),
    [("nowhere/x", 'Unknown model "nowhere/x"'), ("gemini/gemini-2.5-pro", "GEMINI_API_KEY")],
)
def test_an_unknown_model_and_a_missing_key_say_what_to_do(shared_kernel, model, said):
    done = shared_kernel.run(f"%%runcell -m {model}\nhi")
    assert not done.ok
    assert said in done.error
    changed = shared_kernel.run(f"%runcell model {model}")
    assert not changed.ok
    assert said in changed.error
    assert "anthropic/" in shared_kernel.run("%runcell model").text
