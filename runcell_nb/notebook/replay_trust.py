"""Asks before a stranger's recording makes functions of the notebook run.

A recording is somebody's file, and its tool calls are input from whoever made it. In the notebook's own
sandboxes they can do no harm; a function of the notebook, or a command on somebody's disk, could.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

from runcell_nb.core.builtin_tools import BUILTIN_TOOLS
from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.models.normal_message import canonical_arguments
from runcell_nb.models.recorded_cell import RecordedCell
from runcell_nb.models.recorded_response import CallPart
from runcell_nb.models.recording import Recording

from .playback import AskedCell
from .shown_text import one_line, visible

TRUST_VARIABLE = "RUNCELL_TRUST_RECORDING"
"""Set to 1 it answers yes; the pytest plug-in does so: running the notebook's code trusts it already."""

_SHOWN = 10
_NO = frozenset(("", "0", "false", "no", "off"))


class ReplayTrust:
    """The one question of a kernel.

    Args:
        shell: Whose front end is asked.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._answer: bool | None = None

    async def check(self, calls: Sequence[str]) -> None:
        """Ask, once, whether these calls may run.

        Args:
            calls: What would run outside the sandbox, a line each; none is nothing to ask.

        Raises:
            InvalidOptionError: The person said no, or there is nobody to ask.
        """
        if not calls or os.environ.get(TRUST_VARIABLE, "").strip().lower() not in _NO:
            return
        if self._answer is None:
            self._answer = self._ask(calls) if self._may_ask() else None
        if self._answer is None:
            raise InvalidOptionError(
                f"The recording would run {_first(calls)} outside the sandbox, and there is nobody to ask: "
                f"set {TRUST_VARIABLE}=1 if you trust whoever recorded it, or run the notebook under pytest."
            )
        if not self._answer:
            raise InvalidOptionError(
                "The replay was declined; %runcell replay off lets the model answer instead."
            )
        await asyncio.sleep(0)

    def _may_ask(self) -> bool:
        kernel = getattr(self._shell, "kernel", None)
        if kernel is None:
            return True
        request = kernel.get_parent() or {}
        return request.get("content", {}).get("allow_stdin") is True

    def _ask(self, calls: Sequence[str]) -> bool:
        more = f"\n  … and {len(calls) - _SHOWN} more" if len(calls) > _SHOWN else ""
        lines = "\n".join(f"  {one_line(visible(call), 160)}" for call in calls[:_SHOWN])
        print(f"This recording would run outside the sandbox:\n{lines}{more}")  # noqa: T201 - to the person
        return input("Run it? Only if you trust whoever recorded it. [y/N] ").strip().lower() in ("y", "yes")


def calls_outside(source: Recording | RecordedCell, asked: AskedCell, *, strict: bool) -> list[str]:
    """Return the recorded calls that would run outside the notebook's own sandboxes, a line each.

    Args:
        source: What the cell may be answered from.
        asked: What it asks.
        strict: Whether a tool whose results are recorded fails, and does not run, where one is missing.
    """
    kept = Counter((result.name, result.arguments) for result in source.results)
    calls = []
    for part in (part for step in source.steps for part in step.response.parts):
        if not isinstance(part, CallPart):
            continue
        if part.name in asked.kept_tools:
            call = part.name, canonical_arguments(part.arguments.strip() or "{}")
            kept[call] -= 1
            runs = not strict and kept[call] < 0
        else:
            runs = part.name in asked.tools or (asked.on_disk and part.name in BUILTIN_TOOLS)
        if runs:
            calls.append(f"{part.name}({part.arguments})")
    return calls


def _first(calls: Sequence[str]) -> str:
    more = f" and {len(calls) - 1} more calls" if len(calls) > 1 else ""
    return f"{one_line(visible(calls[0]), 80)}{more}"
