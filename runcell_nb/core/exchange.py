"""One exchange with the model: its response, what was judged of it, and what of it is shown."""

from __future__ import annotations

from .message_log import parse_arguments
from .messages import ToolCallBlock, ToolResultBlock
from .outcome import ToolOutcome
from .response import HIDDEN_TOOLS, Response


class Exchange:
    """A response and what was judged of it while it arrived.

    Attributes:
        response: While it arrives, and afterwards.
        judged: Outcomes of the submissions in it, by the id of the call.
    """

    def __init__(self, response: Response) -> None:
        self.response = response
        self.judged: dict[str, ToolOutcome] = {}

    @property
    def waiting(self) -> list[ToolCallBlock]:
        """The calls that are still to be run."""
        return [call for call in self.response.calls if call.id not in self.judged]

    def judged_results(self) -> dict[str, ToolResultBlock]:
        """Return the results of the calls that were judged, by the id of the call."""
        calls = (call for call in self.response.calls if call.id in self.judged)
        return {call.id: result_block(call, self.judged[call.id]) for call in calls}


def is_shown(call: ToolCallBlock) -> bool:
    """Return whether a call is told in events."""
    return bool(call.name) and call.name not in HIDDEN_TOOLS


def shown_input(arguments: str) -> object:
    """Return the arguments as events show them: the value, or the text when it is not JSON."""
    value = parse_arguments(arguments)
    return arguments if value is None and arguments.strip() != "null" else value


def result_block(call: ToolCallBlock, outcome: ToolOutcome) -> ToolResultBlock:
    """Return the result of a call as the model reads it."""
    return ToolResultBlock(
        call_id=call.id, name=call.name, content=outcome.content, is_error=outcome.is_error
    )
