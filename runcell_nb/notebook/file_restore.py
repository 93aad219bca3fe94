"""Bringing the files of a sandbox back, one by one, whatever stands in their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from runcell_nb.core.errors import message_of
from runcell_nb.core.sandbox import Sandbox

MAX_NAMED = 5
"""Files that a sentence names."""

_MAX_REASON = 200


class FileRestore:
    """One restore; a file that fails does not stop the others.

    Args:
        sandbox: Whose files are changed.
        present: Paths of the files that it has.

    Attributes:
        touched: Paths that were removed or written, or tried.
    """

    def __init__(self, sandbox: Sandbox, present: Iterable[str]) -> None:
        self.touched: set[str] = set()
        self._sandbox = sandbox
        # Listed files lie in real folders; anything else of a folder's name may be a link or a pipe.
        self._folders = {folder for path in present for folder in _folders_of(path)}
        self._made: set[str] = set()  # folders that this restore makes: nothing is in the way there
        self._unknown: list[str] = []
        self._left: list[str] = []
        self._failed: list[str] = []
        self._reason = ""

    def leave(self, paths: Iterable[str]) -> None:
        """Note files that are left alone, because their content could not be put back."""
        self._left.extend(paths)

    async def remove(self, paths: Iterable[str]) -> None:
        """Remove files."""
        for path in paths:
            self.touched.add(path)
            try:
                await self._sandbox.remove(path)
            except Exception as error:
                self._fail(path, error)

    async def write(self, path: str, content: bytes | None) -> None:
        """Write a file, instead of whatever is there.

        Args:
            path: In the workspace.
            content: None when it was not kept; then nothing is touched.
        """
        if content is None:
            self._unknown.append(path)
            return
        self.touched.add(path)
        try:
            await self._make_way(path)
            await self._sandbox.write_file(path, content)
        except Exception as error:
            self._fail(path, error)

    def problem(self) -> str | None:
        """Return what could not be done, in a sentence or two; None when all was."""
        told = []
        if self._unknown:
            told.append(
                "Not brought back, because the content was not kept (too big, or a key is in it): "
                f"{named(self._unknown)}."
            )
        if self._left:
            told.append(f"Left as they are, too big to be kept: {named(self._left)}.")
        if self._failed:
            told.append(f"Could not be brought back: {named(self._failed)} ({self._reason}).")
        return " ".join(told) or None

    async def _make_way(self, path: str) -> None:
        for folder in _folders_of(path):
            if folder not in self._folders:
                if not await self._is_folder(folder):
                    await self._remove(folder)
                    self._made.add(folder)
                self._folders.add(folder)
        await self._remove(path)

    async def _remove(self, path: str) -> None:
        if path.rpartition("/")[0] not in self._made:
            await self._sandbox.remove(path)

    async def _is_folder(self, path: str) -> bool:
        """Tell a real folder from a link to one."""
        parent, _, name = path.rpartition("/")
        return parent not in self._made and f"{name}/" in (
            await self._sandbox.list_directory(parent or ".") or []
        )

    def _fail(self, path: str, error: Exception) -> None:
        self._failed.append(path)
        self._reason = self._reason or message_of(error).rstrip(".")[:_MAX_REASON]


def named(paths: Sequence[str]) -> str:
    """Return the first few paths, and how many more there are."""
    rest = len(paths) - MAX_NAMED
    shown = ", ".join(repr(path) for path in paths[:MAX_NAMED])
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def _folders_of(path: str) -> Iterator[str]:
    """Yield the folders that a file is in, the outermost first."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)
