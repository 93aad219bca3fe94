"""Time of `%load_ext runcell_nb` in a fresh IPython shell, beside the floor of that shell's own start."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

ROUNDS = 7
CODE = """
import json, time
started = time.perf_counter()
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
ready = time.perf_counter()
shell.run_line_magic("load_ext", "runcell_nb")
loaded = time.perf_counter()
print(json.dumps({"shell": ready - started, "load_ext": loaded - ready}))
"""


def main() -> None:
    """Measure in fresh processes and print the medians."""
    found = []
    for _ in range(ROUNDS):
        done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    for name in ("shell", "load_ext"):
        print(f"{name:>9}: {statistics.median(row[name] for row in found):.3f} s")


if __name__ == "__main__":
    main()
