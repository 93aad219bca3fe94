"""Which cell is running: a turn belongs to its cell (NOTEBOOK.md, section 1)."""

from __future__ import annotations

from typing import Any


class CellCounter:
    """Names the `%%runcell` cells of a kernel: by their id, else by their place in the order of running."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._count = 0

    def next(self) -> tuple[str, str | None]:
        """Return the name of the cell that starts to run now, and its id where the front end tells one."""
        self._count += 1
        cell_id = self._cell_id()
        return cell_id or f"#{self._count}", cell_id

    def _cell_id(self) -> str | None:
        kernel = getattr(self._shell, "kernel", None)
        request = {} if kernel is None else kernel.get_parent() or {}
        found = request.get("metadata", {}).get("cellId")
        return found if isinstance(found, str) and found else None
