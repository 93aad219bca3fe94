"""Rewrites a `%%runcell` cell into one awaited call.

IPython never awaits an async cell magic, so the cell is rewritten before IPython's own clean-ups:
those would eat `>>> ` and `In [1]:` in the prompt. Inside another magic or a nested `run_cell`
nothing can be awaited; there the cell is left alone and the synchronous magic runs it.
"""

from __future__ import annotations

import re
import sys
from types import FrameType

_FIRST_LINE = re.compile(r"%%runcell(?:[ \t]+(?P<options>.*?))?[ \t]*\r?\n?\Z")

MAGICS_CLASS = "RuncellMagics"
"""Name under which the magics are registered; found through the shell, so that `%reset` loses nothing."""


def rewrite_runcell_cell(lines: list[str]) -> list[str]:
    """Return the lines of a cell, a `%%runcell` cell as one awaited call.

    Args:
        lines: Of the cell, each with its line end.

    Returns:
        The same lines unless the first line that is not blank starts the magic.
    """
    start = next((index for index, line in enumerate(lines) if line.strip()), None)
    match = None if start is None else _FIRST_LINE.match(lines[start])
    if start is None or match is None or _inside_running_code():
        return lines
    options, body = match["options"] or "", "".join(lines[start + 1 :])
    magics = f"get_ipython().magics_manager.registry[{MAGICS_CLASS!r}]"
    # IPython has put a line end behind the last line of the cell; the prompt has none there.
    return [f"await {magics}.run_cell({options!r}, {body.removesuffix(chr(10))!r})\n"]


# So IPython leaves it out when it asks whether what was typed is a whole cell: rewritten, the first line
# would be one, and a terminal would run it before the prompt can be typed.
rewrite_runcell_cell.has_side_effects = True  # type: ignore[attr-defined]


def _inside_running_code() -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "run_code" and frame.f_code.co_filename.endswith("interactiveshell.py"):
            return True
        frame = frame.f_back
    return False
