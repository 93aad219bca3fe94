"""CPU time of a run of 200 requests: replayed, and the same requests through bare litellm.

A tool of the host is called 199 times, then the model answers. Bare litellm sends the same requests to a
local server, in a loop as one writes it by hand. Also printed is what recording adds to a run, and the
size of the recording.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

REQUESTS, PIECES, ROUNDS = 200, 10, 3
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_MODE="PRODUCTION", OPENAI_API_KEY="sk-local")


async def bare() -> None:
    """The loop that one writes by hand on litellm."""
    import litellm

    from tests.benchmarks.overhead import TOOLS

    messages: list[dict[str, object]] = [{"role": "user", "content": "go"}]
    for number in range(REQUESTS):
        stream = await litellm.acompletion(
            model="openai/gpt-4o",
            messages=messages,
            tools=TOOLS,
            stream=True,
            stream_options={"include_usage": True},
            api_base=os.environ["OPENAI_BASE_URL"],
            api_key=os.environ["OPENAI_API_KEY"],
            num_retries=0,
        )
        text, calls = [], []
        async for chunk in stream:
            if chunk.choices:
                text.append(chunk.choices[0].delta.content or "")
                calls += chunk.choices[0].delta.tool_calls or []
        assert bool(calls) is (number < REQUESTS - 1)
        kept = [{"id": call.id, "type": "function", "function": call.function.model_dump()} for call in calls]
        messages.append({"role": "assistant", "content": "".join(text), "tool_calls": kept})
        for call in calls:
            json.loads(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "ok"})


async def run(gateway: object) -> None:
    """The run through the agent."""
    from runcell_nb import create_agent

    async def lookup(key: int) -> str:
        """Look up."""
        return "ok"

    result = await create_agent(gateway, tools=[lookup]).run("go")
    assert result.text.count("word0") == REQUESTS


async def timed(ways: dict[str, object]) -> dict[str, float]:
    """Take turns and return the medians in seconds."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS + 1):
        for name, way in ways.items():
            started = time.process_time()
            await way()
            times[name].append(time.process_time() - started)
    return {name: statistics.median(values[1:]) for name, values in times.items()}


async def measure() -> None:
    """Record once, then take turns."""
    from runcell_nb import RecordingGateway, ReplayGateway
    from runcell_nb.models.recording import Recording

    recorder = RecordingGateway("openai/gpt-4o")
    await run(recorder)
    text = json.dumps(recorder.recording.to_dict(), sort_keys=True, indent=1)
    medians = await timed(
        {
            "bare litellm": bare,
            "live run": lambda: run("openai/gpt-4o"),
            "recorded run": lambda: run(RecordingGateway("openai/gpt-4o")),
            "replayed run": lambda: run(ReplayGateway(recorder.recording)),
            "read and replayed": lambda: run(ReplayGateway(Recording.from_dict(json.loads(text)))),
        }
    )
    for name, value in medians.items():
        print(
            f"{name:>18}: {value * 1000:7.1f} ms CPU, {value / medians['bare litellm']:6.3f} of bare litellm"
        )
    print(f"{'aim':>18}: a replayed run in less than 0.100")
    print(f"{'recording':>18}: {len(text):,} bytes, {len(recorder.recording)} responses")


def main() -> None:
    """Start the server, measure, stop the server."""
    script = Path(__file__).with_name("sse_server.py")
    command = [sys.executable, script, str(PIECES * REQUESTS), str(REQUESTS - 1)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        try:
            asyncio.run(measure())
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
