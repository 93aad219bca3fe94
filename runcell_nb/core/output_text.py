"""Long output of built-in tools: cut for the model, kept whole where `read` can open it."""

from __future__ import annotations

import re

from .paths import STATE_FOLDER
from .sandbox import Sandbox

OUTPUT_FOLDER = f"{STATE_FOLDER}/outputs"
"""Where whole outputs are kept, as 1.txt, 2.txt, …"""

MAX_OUTPUT_CHARS = 30_000
"""Characters of one output that the model reads."""

MAX_OUTPUTS = 50
"""Whole outputs that a sandbox keeps, the newest; the shell alone can write 10 MiB a stream into each."""

_HEAD_CHARS = 20_000
_NUMBERED = re.compile(r"([1-9][0-9]{0,17})\.txt")


class OutputStore:
    """The kept outputs of a sandbox: at most `MAX_OUTPUTS`, the oldest go first.

    Args:
        sandbox: Where they are kept; runs that share it share the numbering.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

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
        """Write an output under the next number; each time the folder, never a file of it, is read."""
        async with self._sandbox.lock(OUTPUT_FOLDER):
            names = await self._sandbox.list_directory(OUTPUT_FOLDER) or []
            numbers = sorted(int(match[1]) for match in map(_NUMBERED.fullmatch, names) if match)
            path = _path(numbers[-1] + 1 if numbers else 1)
            await self._sandbox.write_file(path, text)
            for number in numbers[: -(MAX_OUTPUTS - 1)]:
                await self._sandbox.remove(_path(number))
            return path


def _path(number: int) -> str:
    return f"{OUTPUT_FOLDER}/{number}.txt"
