"""CPU time of one run through bare litellm and through the agent, against one local server.

The run has 500 streamed deltas and 10 tool calls. Printed are the medians and their ratio; the two
take turns within one process, so that both meet the same machine.
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

ROUNDS, DELTAS = 15, 500
os.environ.update(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_MODE="PRODUCTION", OPENAI_API_KEY="sk-local")

SCHEMA = {"type": "object", "properties": {"key": {"type": "integer"}}, "required": ["key"]}
TOOLS = [
    {"type": "function", "function": {"name": "lookup", "description": "Look up.", "parameters": SCHEMA}}
]


async def bare() -> int:
    """The loop that one writes by hand on litellm."""
    import litellm

    messages: list[dict[str, object]] = [{"role": "user", "content": "go"}]
    pieces = 0
    while True:
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
            if not chunk.choices:
                continue
            delta = chunk.choices[0].delta
            if delta.content:
                text.append(delta.content)
                pieces += 1
            calls += delta.tool_calls or []
        if not calls:
            return pieces
        kept = [{"id": call.id, "type": "function", "function": call.function.model_dump()} for call in calls]
        messages.append({"role": "assistant", "content": "".join(text), "tool_calls": kept})
        for call in calls:
            json.loads(call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "ok"})


async def through_the_agent() -> int:
    """The same run through `create_agent`."""
    from runcell_nb import create_agent

    async def lookup(key: int) -> str:
        """Look up."""
        return "ok"

    run = create_agent("openai/gpt-4o", tools=[lookup]).stream("go")
    pieces = 0
    async for _ in run.text_stream:
        pieces += 1
    result = await run.result()
    assert result.usage.total_tokens > 0
    return pieces


async def measure() -> None:
    """Take turns and print the medians."""
    times: dict[str, list[float]] = {"bare litellm": [], "agent": []}
    ways = {"bare litellm": bare, "agent": through_the_agent}
    for _ in range(3):
        for way in ways.values():
            await way()
    for _ in range(ROUNDS):
        for name, way in ways.items():
            started = time.process_time()
            pieces = await way()
            times[name].append(time.process_time() - started)
            assert pieces == DELTAS // 11 * 11, (name, pieces)
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, value in medians.items():
        print(f"{name:>14}: {value * 1000:7.1f} ms CPU")
    print(f"{'ratio':>14}: {medians['agent'] / medians['bare litellm']:7.3f} (aim 1.15)")


def main() -> None:
    """Start the server, measure, stop the server."""
    script = Path(__file__).with_name("sse_server.py")
    with subprocess.Popen([sys.executable, script, str(DELTAS)], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        try:
            asyncio.run(measure())
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
