"""The browser side of the widgets, read from `front/`: plain modules, no build step."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent / "front"


def front_text(*names: str) -> str:
    """Return files of `front/` joined to one text.

    anywidget loads one module for each widget, without relative imports; what two widgets share is put
    in front of each.
    """
    return "\n".join((_FOLDER / name).read_text("utf-8") for name in names)
