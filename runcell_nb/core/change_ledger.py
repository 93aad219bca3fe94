"""The changed files of a run, folded from single changes (FACTS 3)."""

from __future__ import annotations

from .diffs import diff_of
from .events import FileChangeEvent
from .files import ChangedFile
from .outcome import Change
from .sandbox import Sandbox


class ChangeLedger:
    """Keeps one entry a path, in order of first appearance."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._files: dict[str, ChangedFile] = {}

    @property
    def files(self) -> list[ChangedFile]:
        """The files created or modified so far."""
        return list(self._files.values())

    async def record(self, change: Change, call_id: str | None) -> FileChangeEvent | None:
        """Fold one change in.

        Args:
            change: What a tool call did.
            call_id: Of that call.

        Returns:
            The event to tell; None when the file is gone by now and nothing is known of it.
        """
        data = None if change.kind == "delete" else await self._sandbox.read_file(change.path)
        if data is None:
            known = self._files.pop(change.path, None)
            if change.kind != "delete" and known is None:
                return None
            return FileChangeEvent(change.path, "delete", None, diff_of(change.before, None), call_id)
        known = self._files.get(change.path)
        created = change.kind == "create" or (known is not None and known.change == "create")
        file = ChangedFile(change.path, "create" if created else "modify", data)
        self._files[change.path] = file
        return FileChangeEvent(change.path, file.change, file, diff_of(change.before, data), call_id)
