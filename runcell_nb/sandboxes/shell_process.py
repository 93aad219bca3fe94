"""Runs a command of a virtual sandbox in a process of its own, so that it can really be stopped.

Inside one process bashkit can neither be stopped everywhere (an awk loop heeds no time limit and holds
one of its few threads for good) nor trusted to survive (a deeply nested jq filter overflows the stack
and ends the process, which would be the notebook's kernel). A process can be killed, may die, starts
in some 50 ms, and is used again for the next command of any sandbox when its own has ended well.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runcell_nb.core.sandbox import ExecResult

_WORKER = Path(__file__).with_name("shell_worker.py")
_MAX_IDLE = 2
_KEPT_ENV = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What a Python process needs to start; keys in the environment stay out of the worker."""


class ShellProcess:
    """One worker process; it runs one command at a time."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._popen = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_WORKER), _bashkit_place()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _KEPT_ENV if name in os.environ},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._popen.poll() is None

    def serve(self, request: dict[str, Any], take: Callable[[dict[str, str]], None]) -> dict[str, Any] | None:
        """Run one command, blocking.

        Args:
            request: As `shell_worker` reads it.
            take: Gets every piece of output.

        Returns:
            How the command ended; None when the process died.
        """
        assert self._popen.stdin is not None and self._popen.stdout is not None
        try:
            self._popen.stdin.write(json.dumps(request).encode() + b"\n")
            self._popen.stdin.flush()
            for line in self._popen.stdout:
                message: dict[str, Any] = json.loads(line)
                if "exit_code" in message:
                    return message
                take(message)
        except (OSError, ValueError):  # killed: a closed pipe, or a line cut short
            return None
        return None

    def kill(self) -> None:
        """End the process at once."""
        self._popen.kill()

    def close(self) -> int:
        """End the process, wait for that, and return its code (minus the signal that ended it)."""
        self._popen.kill()
        code = self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unsent input of a dead process
                    pipe.close()
        return code


class ShellCommand:
    """One command on its way: started by `finish`, ended by itself, its time limit or `stop`.

    Args:
        request: As `shell_worker` reads it.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request
        self._lock = threading.Lock()
        self._process: ShellProcess | None = None
        self._stdout: list[str] = []
        self._stderr: list[str] = []
        self._crashed = False
        self.stopped = False

    @property
    def was_cut(self) -> bool:
        """Whether its process ended before it did, in the midst of whatever it was writing."""
        return self.stopped or self._crashed

    async def finish(self, timeout: float | None) -> ExecResult:
        """Run the command and return what it did; cancelling this stops it first.

        Args:
            timeout: Seconds; past it exit code 124, the output so far, and stderr names the limit.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[int] = loop.create_future()
        threading.Thread(target=self._work, args=(loop, ended), daemon=True).start()
        try:
            await asyncio.wait([ended], timeout=timeout)
        finally:
            if timed_out := not ended.done():
                self.stop()
            code = await ended
        if timed_out:
            code = 124
            self._stderr.append(f"bash: stopped after {timeout:g} s, the time limit of this command\n")
        elif self.stopped:
            self._stderr.append("bash: stopped\n")
        return ExecResult(code, "".join(self._stdout), "".join(self._stderr))

    def stop(self) -> None:
        """Kill the command; one that has not started will not."""
        with self._lock:
            self.stopped = True
            if self._process is not None:
                self._process.kill()

    def _work(self, loop: asyncio.AbstractEventLoop, ended: asyncio.Future[int]) -> None:
        try:
            code = self._run()
        except Exception as error:
            self._stderr.append(f"bash: the shell cannot start: {error}\n")
            code = 126
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(lambda: None if ended.done() else ended.set_result(code))

    def _run(self) -> int:
        process = _take_idle() or ShellProcess()
        with self._lock:
            self._process = process
            stopped = self.stopped
        end = None if stopped else process.serve(self._request, self._take)
        with self._lock:  # from here on `stop` must not kill what the next command may use
            self._process = None
            stopped = self.stopped
        if end is not None and not stopped:
            _give_back(process)
            self._stderr.append(end["error"])
            return int(end["exit_code"])
        self._crashed = not stopped
        code = process.close()
        self._stderr.append("" if stopped else "bash: the shell crashed on this command\n")
        return 128 - code if code < 0 else code

    def _take(self, message: dict[str, str]) -> None:
        self._stdout.append(message["stdout"])
        self._stderr.append(message["stderr"])


_idle: list[ShellProcess] = []
_idle_lock = threading.Lock()


def _take_idle() -> ShellProcess | None:
    with _idle_lock:
        while _idle:
            process = _idle.pop()
            if process.owner != os.getpid():  # after a fork they are the parent's
                continue
            if process.alive:
                return process
            process.close()
    return None


def _give_back(process: ShellProcess) -> None:
    with _idle_lock:
        if len(_idle) < _MAX_IDLE:
            _idle.append(process)
            return
    process.close()


@atexit.register
def _close_idle() -> None:
    while (process := _take_idle()) is not None:
        process.close()


def _bashkit_place() -> str:
    spec = importlib.util.find_spec("bashkit")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the package bashkit is missing; run: pip install bashkit")
    return str(Path(spec.origin).parent.parent)
