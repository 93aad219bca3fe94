"""Long output of built-in tools: cut for the model, kept whole where `read` can open it."""

from __future__ import annotations

from .paths import STATE_FOLDER
from .sandbox import Sandbox

OUTPUT_FOLDER = f"{STATE_FOLDER}/outputs"
"""Where whole outputs are kept, as 1.txt, 2.txt, …"""

MAX_OUTPUT_CHARS = 30_000
"""Characters of one output that the model reads."""

_HEAD_CHARS = 20_000


class OutputStore:
    """The kept outputs of a sandbox.

    Args:
        sandbox: Where they are kept; runs that share it share the numbering.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._number = 0

    async def fitted(self, text: str) -> str:
        """Return a text as the model should read it.

        Args:
            text: The whole output.

        Returns:
            The text itself when it fits. Else its head and tail, with a line between them that says
            what was left out and which file holds the whole.
        """
        if len(text) <= MAX_OUTPUT_CHARS:
            return text
        head, tail = text[:_HEAD_CHARS], text[_HEAD_CHARS - MAX_OUTPUT_CHARS :]
        left_out = len(text) - MAX_OUTPUT_CHARS
        return (
            f"{head}\n[… {left_out} of {len(text)} characters left out here; "
            f"the whole output is in {await self._keep(text)}, open it with read …]\n{tail}"
        )

    async def _keep(self, text: str) -> str:
        async with self._sandbox.lock(OUTPUT_FOLDER):
            self._number += 1
            while await self._sandbox.read_file(self._path) is not None:
                self._number += 1
            await self._sandbox.write_file(self._path, text)
            return self._path

    @property
    def _path(self) -> str:
        return f"{OUTPUT_FOLDER}/{self._number}.txt"
