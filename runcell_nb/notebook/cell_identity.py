"""Which cell is running: a turn belongs to its cell (NOTEBOOK.md, section 1)."""

from __future__ import annotations

from typing import Any


class CellCounter:
    """Names the `%%runcell` cells of a kernel: by their id, else by their place in the order of running."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._count = 0

    def next(self) -> str:
        """Return the name of the cell that starts to run now."""
        self._count += 1
        return self.cell_id or f"#{self._count}"

    @property
    def cell_id(self) -> str | None:
        """The id of the running cell, where the front end tells one."""
        kernel = getattr(self._shell, "kernel", None)
        request = {} if kernel is None else kernel.get_parent() or {}
        found = request.get("metadata", {}).get("cellId")
        return found if isinstance(found, str) and found else None
