"""A real kernel, driven as a front end drives it."""

from __future__ import annotations

import queue
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.manager import KernelManager

PATIENCE = 60
"""Seconds after which a kernel counts as hung."""


@dataclass
class Done:
    """What one executed cell came to."""

    reply: dict[str, Any]
    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return self.reply["status"] == "ok"

    @property
    def text(self) -> str:
        """Everything written to the streams."""
        return "".join(m["content"]["text"] for m in self.messages if m["msg_type"] == "stream")

    @property
    def displays(self) -> list[dict[str, Any]]:
        """The displays as a front end shows them in the end: an update replaces what it updates."""
        shown: list[dict[str, Any]] = []
        for message in self.messages:
            content = message["content"]
            if message["msg_type"] == "update_display_data":
                wanted = content["transient"]["display_id"]
                shown = [content if old["transient"].get("display_id") == wanted else old for old in shown]
            elif message["msg_type"] in ("display_data", "execute_result"):
                shown.append({"transient": {}, **content})
        return [display["data"] for display in shown]

    @property
    def error(self) -> str:
        """Class and message of the failure, as the front end shows it."""
        return "\n".join(
            "\n".join(m["content"]["traceback"]) for m in self.messages if m["msg_type"] == "error"
        )


class Kernel:
    """A kernel with the extension loaded and no key set."""

    def __init__(self, env: dict[str, str]) -> None:
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(env=env)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)

    def start(self, code: str) -> str:
        return self.client.execute(code, allow_stdin=False)

    def wait_for(self, request: str, wanted: str) -> dict[str, Any]:
        """Read messages of a request up to one of a type."""
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") == request and message["msg_type"] == wanted:
                return message

    def finish(self, request: str) -> Done:
        messages = []
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") != request:
                continue
            messages.append(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
        while True:
            reply = self.client.get_shell_msg(timeout=PATIENCE)
            if reply["parent_header"].get("msg_id") == request:
                return Done(reply["content"], messages)

    def run(self, code: str) -> Done:
        return self.finish(self.start(code))

    def value(self, expression: str) -> str:
        """The repr of an expression, as text."""
        done = self.run(f"print(repr({expression}))")
        assert done.ok, done.error
        return done.text.strip()

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()

    def drain(self) -> None:
        while True:
            try:
                self.client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                return
