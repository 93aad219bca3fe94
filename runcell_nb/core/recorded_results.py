"""What a gateway that records may do for tools whose results are part of a recording."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from .messages import ToolCallBlock, ToolResultBlock


@runtime_checkable
class RecordedResults(Protocol):
    """Keeps the results of tools that have `record=True`; a gateway may be one."""

    def kept_result(self, call: ToolCallBlock) -> ToolResultBlock | None:
        """Return the result to give instead of running the tool; None to run it.

        Args:
            call: As the model wrote it.

        Raises:
            RuncellError: The tool must not run; the run fails with it.
        """
        ...

    def keep_result(self, call: ToolCallBlock, result: ToolResultBlock) -> None:
        """Take note of the result of a call that ran.

        Args:
            call: As the model wrote it.
            result: As the model reads it.
        """
        ...
