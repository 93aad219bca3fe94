"""What a run adds to a recording: an answered request, the result of a recorded tool."""

from __future__ import annotations

from dataclasses import dataclass

from runcell_nb.core.messages import ToolResultBlock

from .recorded_response import RecordedResponse


@dataclass(frozen=True, slots=True, eq=False)
class RecordedStep:
    """One request that was asked, with the response that it got.

    Attributes:
        key: Of the request.
        response: That one of its responses.
    """

    key: str
    response: RecordedResponse


@dataclass(frozen=True, slots=True, eq=False)
class KeptResult:
    """The result of a call of a tool with `record=True`.

    Attributes:
        name: Of the tool.
        arguments: As canonical JSON.
        result: As the model read it.
    """

    name: str
    arguments: str
    result: ToolResultBlock
