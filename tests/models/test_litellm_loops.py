"""One process with several event loops, from its first import of litellm on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

from runcell_nb.core.gateway import FinishDelta
from runcell_nb.models.litellm_import import load, preload

from .gateway_calls import MODELS, deltas_of, request_to, stream_of
from .wire_servers import WireServer, anthropic_stream, openai_stream

ROOT = Path(__file__).parents[2]

SCRIPT = """
import asyncio, gc, os, sys, threading

class Watch:
    thread = None
    def find_spec(self, name, path=None, target=None):
        if name == "litellm":
            Watch.thread = threading.current_thread()

sys.meta_path.insert(0, Watch())
from runcell_nb.models.litellm_gateway import LiteLLMGateway
from tests.models.gateway_calls import MODELS, deltas_of, request_to
from tests.models.test_litellm_loops import both_formats
from llmock.testing import LLMockServer

assert Watch.thread is None and "litellm" not in sys.modules
for _ in range(2):
    asyncio.run(both_formats())
with LLMockServer() as server:  # it outlives the loops, so that only the client can close connections
    for provider in sorted(MODELS) * 2:
        asyncio.run(deltas_of(request_to(MODELS[provider], base_url=server.base_url(provider))))
assert Watch.thread is not threading.main_thread()
assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
assert os.environ["LITELLM_MODE"] == "PRODUCTION"
sys.modules["litellm"].in_memory_llm_clients_cache.cache_dict.clear()  # what it holds would warn too late
gc.collect()
print("done")
"""


async def both_formats() -> None:
    """Answers, a refusal and a stream left half-way, in both formats."""
    block = [{"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi."}]
    refusal = (401, {"content-type": "application/json"}, b'{"error": {"message": "No"}}')
    await _uses(MODELS["anthropic"], [anthropic_stream(block), refusal, [*anthropic_stream(block)[:3], 60.0]])
    text = openai_stream(
        {"content": "Hi."}, usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    )
    await _uses(MODELS["openai"], [text, refusal, [text[0], 60.0]])


async def _uses(model: str, scripts: list[object]) -> None:
    async with WireServer(scripts) as server:
        request = request_to(model, base_url=server.url + ("/v1" if "gpt" in model else ""))
        assert isinstance((await deltas_of(request))[-1], FinishDelta)
        try:
            await deltas_of(request)
        except Exception as error:
            assert "401" in str(error)
        stream = stream_of(request)
        await anext(stream)
        await stream.aclose()


def test_several_loops_one_after_the_other_leave_nothing_behind() -> None:
    loud = ["-W", "always::ResourceWarning", "-W", "always::RuntimeWarning"]
    done = subprocess.run(
        [sys.executable, *loud, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_two_loops_at_once() -> None:
    preload().result()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(both_formats())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


async def test_a_cancelled_wait_does_not_cancel_the_import() -> None:
    waiting = asyncio.ensure_future(load())
    await asyncio.sleep(0)
    waiting.cancel()
    assert (await load()).__name__ == "litellm"
