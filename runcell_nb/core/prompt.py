"""The system prompt: what the agent is told of its workspace, and what its user adds."""

from __future__ import annotations

from .sandbox import Sandbox

_WORKSPACE = (
    "You work in a sandbox: a folder of files (the workspace) with a shell. "
    "Use your tools to read and change files there; paths are relative to the workspace. "
    "Look before you change: read a file before you edit it. "
    "Do what was asked and nothing else, never claim a change you did not make, and say briefly what you did."
)


def system_prompt(own: str | None, sandbox: Sandbox, task: str | None = None) -> str:
    """Return the system prompt of a run.

    Args:
        own: The agent's `system_prompt` option, put first.
        sandbox: The run's workspace, whose shell may have something to say.
        task: What this kind of run demands; None for nothing.
    """
    parts = [own, _WORKSPACE, sandbox.shell_notes, task]
    return "\n\n".join(part for part in parts if part)


def own_part(system: str) -> str:
    """Return the `system_prompt` option that is in a system prompt; all of one that is not of here."""
    return system.partition(_WORKSPACE)[0].rstrip("\n")
