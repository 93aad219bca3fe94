"""The typed events of a run: one closed union from which everything shown or kept is made (API 2)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from .diffs import FileDiff
from .files import ChangedFile
from .gateway import ModelInfo
from .jsontext import plain
from .usage import RequestUsage, RunUsage


@dataclass(frozen=True, slots=True)
class RunStartedEvent:
    """The session has started.

    Attributes:
        run_id: Id of this run.
        session_id: Id of the engine session.
        model: What answers.
        prompt: The prompt as given.
    """

    run_id: str
    session_id: str
    model: ModelInfo
    prompt: str
    type: Literal["run-started"] = "run-started"


@dataclass(frozen=True, slots=True)
class RequestStartedEvent:
    """A request is sent; `number` counts from 1 over the whole run.

    One that fails before anything of its answer has come used nothing and has no `RequestFinishedEvent`.
    """

    number: int
    type: Literal["request-started"] = "request-started"


@dataclass(frozen=True, slots=True)
class RequestFinishedEvent:
    """A request is over.

    Attributes:
        number: Of the request.
        reason: Why the model stopped.
        usage: Of this request.
        total: Of the run so far.
    """

    number: int
    reason: str
    usage: RequestUsage
    total: RunUsage
    type: Literal["request-finished"] = "request-finished"

    @property
    def usage_source(self) -> str:
        """Who counted: 'provider', 'estimated', 'local' or 'replayed'."""
        return self.usage.source


@dataclass(frozen=True, slots=True)
class TextEvent:
    """A piece of the answer."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class ReasoningEvent:
    """A piece of the model's thinking."""

    text: str
    type: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True)
class ToolInputEvent:
    """A piece of a tool call that is still being written."""

    id: str
    name: str
    text: str
    type: Literal["tool-input"] = "tool-input"


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """A tool is called.

    Attributes:
        id: Of the call, unique in the thread.
        name: Of the tool.
        input: The arguments; the raw text when they are not valid JSON.
    """

    id: str
    name: str
    input: Any
    type: Literal["tool-call"] = "tool-call"


@dataclass(frozen=True, slots=True)
class ToolResultEvent:
    """A tool has answered.

    Attributes:
        id: Of the call.
        name: Of the tool.
        output: The returned value; for tool content its normalised list (FACTS 5.7).
        is_error: The model reads a failing result.
        duration: Seconds.
        exit_code: Of a shell command, else None.
    """

    id: str
    name: str
    output: Any
    is_error: bool
    duration: float
    exit_code: int | None = None
    type: Literal["tool-result"] = "tool-result"


@dataclass(frozen=True, slots=True)
class FileChangeEvent:
    """A file of the workspace changed.

    Attributes:
        path: Relative to the workspace.
        change: The kind folded over the run (FACTS 3.3): 'create', 'modify' or 'delete'.
        file: The changed file with its bytes; None for a delete, and for whoever listens only after the
            file has changed once more.
        diff: Against the content before this change; None where there is no text to compare.
        call_id: The tool call that did it, when known.
    """

    path: str
    change: Literal["create", "modify", "delete"]
    file: ChangedFile | None
    diff: FileDiff | None = None
    call_id: str | None = None
    type: Literal["file-change"] = "file-change"


@dataclass(frozen=True, slots=True)
class RetryEvent:
    """A request failed before its first delta and is tried again after `delay` seconds."""

    attempt: int
    delay: float
    reason: str
    type: Literal["retry"] = "retry"


@dataclass(frozen=True, slots=True)
class CompactionEvent:
    """The conversation did not fit the model's context window, was made shorter and is sent again.

    Attributes:
        shortened: Messages of which something was cut or left out, results of tools first.
        removed: Messages that were left out whole.
        reason: What the model's provider said.
    """

    shortened: int
    removed: int
    reason: str
    type: Literal["compaction"] = "compaction"


@dataclass(frozen=True, slots=True)
class RepairEvent:
    """A turn ended without a valid result and the model is asked again."""

    attempt: int
    reason: str
    type: Literal["repair"] = "repair"


@dataclass(frozen=True, slots=True)
class FinishEvent:
    """A turn is over."""

    session_id: str
    finish_reason: str
    type: Literal["finish"] = "finish"


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """The run failed; `error` is the very object that is raised."""

    error: BaseException
    type: Literal["error"] = "error"


RunEvent = (
    RunStartedEvent
    | RequestStartedEvent
    | RequestFinishedEvent
    | TextEvent
    | ReasoningEvent
    | ToolInputEvent
    | ToolCallEvent
    | ToolResultEvent
    | FileChangeEvent
    | RetryEvent
    | CompactionEvent
    | RepairEvent
    | FinishEvent
    | ErrorEvent
)
"""Everything that happens in a run."""


def event_to_dict(event: RunEvent) -> dict[str, Any]:
    """Return an event as plain JSON: bytes left out, an error as its class and message."""
    values = {field.name: getattr(event, field.name) for field in fields(event)}
    if isinstance(event, FileChangeEvent):
        values["file"] = None if event.file is None else {"size": len(event.file.bytes)}
    if isinstance(event, ErrorEvent):
        values["error"] = {"kind": type(event.error).__name__, "message": str(event.error)}
    return {name: _plain_or_text(value) for name, value in values.items()}


def _plain_or_text(value: Any) -> Any:
    if isinstance(value, str):  # most values are: each piece of text is an event
        return value
    try:
        return plain(value)
    except (TypeError, ValueError, RecursionError):
        return repr(value)
