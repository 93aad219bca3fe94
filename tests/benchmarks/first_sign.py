"""Time from running a cell to its first sign and to the first token, cold and warm, in a real kernel.

The peer is a bare litellm call in the same kernel against the same server, whose first chunk is printed.
Run it alone: `python tests/benchmarks/first_sign.py`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.notebook.kernels import Kernel

WARM = 8
BARE = """
import litellm
stream = await litellm.acompletion(model="openai/gpt-4o", stream=True, num_retries=0,
    messages=[{"role": "user", "content": "go"}], api_base=os.environ["OPENAI_BASE_URL"], api_key="sk-local")
async for chunk in stream:
    if chunk.choices and chunk.choices[0].delta.content:
        print("first", flush=True)
        break
"""
CELL = "%%runcell -m openai/gpt-4o\ngo"


def timed(kernel: Kernel, code: str, signs: dict[str, Any]) -> dict[str, float]:
    """Run a cell and return the seconds until each sign, a test of a message, was first seen."""
    started = time.perf_counter()
    request = kernel.start(code)
    found: dict[str, float] = {}
    while True:
        message = kernel.client.get_iopub_msg(timeout=60)
        if message["parent_header"].get("msg_id") != request:
            continue
        for name, test in signs.items():
            if name not in found and test(message):
                found[name] = time.perf_counter() - started
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            kernel.client.get_shell_msg(timeout=60)
            return found


def is_display(message: dict[str, Any]) -> bool:
    return bool(message["msg_type"] == "display_data")


def is_text(message: dict[str, Any]) -> bool:
    return bool(message["msg_type"] == "comm_msg" and "word" in str(message["content"]["data"]))


def is_printed(message: dict[str, Any]) -> bool:
    return bool(message["msg_type"] == "stream" and "first" in message["content"]["text"])


def measure(env: dict[str, str]) -> None:
    """Measure in fresh kernels and print the figures."""
    signs = {"sign": is_display, "token": is_text}
    kernel = Kernel(env)
    kernel.run("import os\n%load_ext runcell_nb")
    cold = timed(kernel, CELL, signs)
    warm = [timed(kernel, CELL, signs) for _ in range(WARM)]
    bare_warm = [timed(kernel, BARE, {"token": is_printed})["token"] for _ in range(WARM)]
    kernel.close()
    other = Kernel(env)
    other.run("import os")
    bare_cold = timed(other, BARE, {"token": is_printed})["token"]
    other.close()
    rows = {
        "cold: first sign": cold["sign"],
        "cold: first token": cold["token"],
        "cold: bare litellm, first token": bare_cold,
        "warm: first sign": statistics.median(one["sign"] for one in warm),
        "warm: first token": statistics.median(one["token"] for one in warm),
        "warm: bare litellm, first token": statistics.median(bare_warm),
    }
    for name, seconds in rows.items():
        print(f"{name:>32}: {seconds * 1000:8.1f} ms")


def main() -> None:
    """Start the server, measure, stop the server."""
    script = Path(__file__).with_name("sse_server.py")
    with subprocess.Popen([sys.executable, script, "20"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        try:
            measure({**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-local"})
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
