"""The program of the process in which commands of virtual sandboxes run.

It is started by `shell_process`, reads one JSON request a line and answers with JSON lines: pieces of
output, then how the command ended. It imports nothing of this package, so that it starts in
milliseconds, and ends when its standard input closes, whatever it is doing then.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any

_UNLIMITED = 10**9
_DAY = 24 * 3600.0
_MAX_OUTPUT = "10 MiB"  # of one command, in the profile used here

_writing = threading.Lock()


def main() -> None:
    """Serve requests until standard input closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the parent; it kills this process
    sys.path.insert(0, sys.argv[1])
    for line in sys.stdin.buffer:
        threading.Thread(target=_serve, args=(json.loads(line),), daemon=True).start()
    os._exit(0)


def _serve(request: dict[str, Any]) -> None:
    try:
        end = _run(request)
    except BaseException as error:  # a panic of bashkit is a BaseException
        end = {"exit_code": 1, "error": f"bash: {error or type(error).__name__}\n"}
    _answer(end)


def _run(request: dict[str, Any]) -> dict[str, Any]:
    from bashkit import Bash, ExecutionProfile, FileSystem

    # Made anew for each command: no shell state lasts, and the limits count from zero.
    shell = Bash(
        cwd=request["cwd"],
        env=request["env"],
        python=True,
        sqlite=True,
        profile=ExecutionProfile.Interactive,
        max_commands=_UNLIMITED,
        max_loop_iterations=_UNLIMITED,
        timeout_seconds=_DAY,
    )
    for place, folder in request["mounts"].items():
        shell.mount(place, FileSystem.real(folder, writable=True))
    result = shell.execute_sync(request["command"], _pass_on)
    notes = [f"{result.error}\n"] if result.error else []
    for name, cut in (("stdout", result.stdout_truncated), ("stderr", result.stderr_truncated)):
        if cut:
            notes.append(f"bash: {name} was cut at {_MAX_OUTPUT}; write big output to a file\n")
    return {"exit_code": result.exit_code, "error": "".join(notes)}


def _pass_on(stdout: str, stderr: str) -> None:
    _answer({"stdout": stdout, "stderr": stderr})


def _answer(message: dict[str, Any]) -> None:
    with _writing:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
