"""How a run that raised came to its end, as a person is told."""

from __future__ import annotations

import asyncio

from runcell_nb.core.errors import message_of

from .transcript import RunState

STOPPED = "stopped by the user"
"""Reason given to `AgentRun.cancel` by the Stop button and the kernel's interrupt."""


def end_of(error: BaseException) -> tuple[RunState, str]:
    """Return the state of a run that raised `error`, and a sentence on why."""
    if isinstance(error, asyncio.CancelledError):
        return "stopped", STOPPED
    stopped = getattr(error, "cause", None) == STOPPED
    return "stopped" if stopped else "failed", message_of(error)
