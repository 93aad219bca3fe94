"""How long a kernel takes to be idle after an interrupt one second into a `sleep 30` of the sandbox.

The floor is the same interrupt of a plain `await asyncio.sleep(30)` in the same kernel.
"""

from __future__ import annotations

import os
import statistics
import time

from tests.notebook.kernels import Kernel

ROUNDS = 5
SCRIPT = "model = ScriptedModel([[{'tool': 'bash', 'input': {'command': 'sleep 30'}}], 'never'] * 9)"
CELLS = {
    "await asyncio.sleep(30)": "import asyncio\nawait asyncio.sleep(30)",
    "%%runcell, sleep 30": "%%runcell -m model\nhi",
}


def stopped_after(kernel: Kernel, cell: str) -> float:
    """Seconds from the interrupt to the idle status."""
    request = kernel.start(cell)
    kernel.wait_for(request, "execute_input")
    time.sleep(1)
    started = time.perf_counter()
    kernel.manager.interrupt_kernel()
    kernel.finish(request)
    return time.perf_counter() - started


def main() -> None:
    """Measure and print the medians."""
    kernel = Kernel(dict(os.environ))
    try:
        kernel.run("%load_ext runcell_nb\nfrom runcell_nb import ScriptedModel\n" + SCRIPT)
        for name, cell in CELLS.items():
            found = []
            for _ in range(ROUNDS):
                kernel.run(SCRIPT)
                found.append(stopped_after(kernel, cell))
            print(f"{name:>24}: median {statistics.median(found):.3f} s, worst {max(found):.3f} s")
    finally:
        kernel.close()


if __name__ == "__main__":
    main()
