"""The engine: one loop of asking the model and running the tools it calls, told as typed events.

It knows the model only as a `ModelGateway` and the workspace only as a `Sandbox`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from .builtin_tools import ToolWorkspace
from .change_ledger import ChangeLedger
from .cut_usage import estimated_usage
from .errors import LimitExceededError, TurnError
from .events import (
    FinishEvent,
    ReasoningEvent,
    RequestFinishedEvent,
    RequestStartedEvent,
    RetryEvent,
    RunEvent,
    RunStartedEvent,
    TextEvent,
    ToolCallEvent,
    ToolInputEvent,
    ToolResultEvent,
)
from .files import ChangedFile, NormalizedFile
from .gateway import (
    FinishDelta,
    ModelDelta,
    ModelGateway,
    ModelInfo,
    ModelRequest,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
    ThinkingLevel,
    ToolArgumentsDelta,
    ToolCallDelta,
)
from .limits import RunLimits
from .message_log import AssistantBlock, MessageLog, parse_arguments
from .messages import ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock
from .tool_runner import FinishedCall, RunIdentity, ToolRunner
from .usage import RequestUsage, RunUsage


@dataclass(frozen=True, slots=True)
class EngineSetup:
    """Everything a run needs, checked and resolved.

    Attributes:
        prompt: As the user gave it.
        prompt_sent: As the model gets it (earlier messages replayed before it, say).
        files: Written before the first request.
        workspace: The sandbox with its watch.
        tools: What the model may call.
        gateway: What answers.
        model: Its name for the gateway.
        info: What is known of it.
        system: System prompt.
        limits: Of the run.
        thinking_level: None when not to be sent.
        names: Of the run.
        log: The conversation before this run; extended by it.
    """

    prompt: str
    prompt_sent: str
    files: Sequence[NormalizedFile]
    workspace: ToolWorkspace
    tools: ToolRunner
    gateway: ModelGateway
    model: str
    info: ModelInfo
    system: str
    limits: RunLimits
    thinking_level: ThinkingLevel | None
    names: RunIdentity
    log: MessageLog


@dataclass(slots=True)
class _Response:
    """One response while it arrives."""

    blocks: list[AssistantBlock] = field(default_factory=list)
    calls: list[ToolCallBlock] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    characters: int = 0
    begun: bool = False
    finish: FinishDelta | None = None

    def close_text(self) -> None:
        """Turn the pieces of text or reasoning so far into blocks."""
        if self.reasoning:
            self.blocks.append(ReasoningBlock(text="".join(self.reasoning)))
            self.reasoning.clear()
        if self.text:
            self.blocks.append(TextBlock(text="".join(self.text)))
            self.text.clear()


class Engine:
    """One run.

    Attributes:
        usage: Of all requests so far.
        finish_reason: Of the last turn.
    """

    def __init__(self, setup: EngineSetup) -> None:
        self._setup = setup
        self._ledger = ChangeLedger(setup.workspace.sandbox)
        self._texts: list[str] = []
        self._requests = 0
        self._deadline: float | None = None
        self.usage = RunUsage()
        self.finish_reason = "unknown"

    @property
    def text(self) -> str:
        """Everything the model said in this run."""
        return "".join(self._texts)

    @property
    def files(self) -> list[ChangedFile]:
        """The files created or modified so far."""
        return self._ledger.files

    async def events(self) -> AsyncIterator[RunEvent]:
        """Run, and yield what happens.

        Raises:
            LimitExceededError: A limit is reached.
            TurnError: The model's stream was cut.
            Exception: What the gateway or the sandbox raised, as it is.
        """
        setup, seconds = self._setup, self._setup.limits.max_seconds
        setup.limits.refuse_unpriced(setup.info)
        try:
            async with asyncio.timeout(seconds) as clock:
                self._deadline = clock.when()
                async for event in self._turn():
                    yield event
        except TimeoutError as error:
            if not clock.expired():
                raise
            raise LimitExceededError(
                f"The run reached its limit max_seconds={seconds!r}.", cause=error
            ) from error

    async def _turn(self) -> AsyncIterator[RunEvent]:
        setup = self._setup
        yield RunStartedEvent(setup.names.run_id, setup.names.session_id, setup.info, setup.prompt)
        for file in setup.files:
            await setup.workspace.sandbox.write_file(file.path, file.data)
        await setup.workspace.watch.baseline()
        setup.log.add_user([TextBlock(text=setup.prompt_sent)])
        while True:
            response = _Response()
            async for event in self._request(response):
                yield event
            async for event in self._answer_calls(response):
                yield event
            if not response.calls:
                break
        yield FinishEvent(setup.names.session_id, self.finish_reason)

    async def _request(self, response: _Response) -> AsyncIterator[RunEvent]:
        self._setup.limits.check(self.usage, self._requests)
        self._requests += 1
        request = self._model_request()
        yield RequestStartedEvent(self._requests)
        try:
            async for event in self._stream(request, response):
                yield event
            if response.finish is None:
                name = self._setup.info.name
                raise TurnError(f"The answer of {name} was cut: its stream ended without a finish reason.")
        except (Exception, asyncio.CancelledError):
            if response.begun:
                yield self._spent("cut", self._usage_of(request, response))
            raise
        response.close_text()
        self.finish_reason = response.finish.reason or "unknown"
        yield self._spent(self.finish_reason, response.finish.usage)

    async def _stream(self, request: ModelRequest, response: _Response) -> AsyncIterator[RunEvent]:
        stall = self._setup.limits.stall_seconds
        deltas = self._setup.gateway.stream(request)
        try:
            async with asyncio.timeout(stall) as silence:
                async for delta in deltas:
                    event = self._take(response, delta)
                    if event is not None:
                        yield event
                    if stall is not None:
                        pause = delta.delay if isinstance(delta, RetryDelta) else 0.0
                        silence.reschedule(asyncio.get_running_loop().time() + stall + pause)
        except TimeoutError as error:
            if not silence.expired():
                raise
            name = self._setup.info.name
            message = f"{name} said nothing for {stall:g} s (limit stall_seconds); the request was given up."
            raise LimitExceededError(message, cause=error) from error
        finally:
            await _close(deltas)

    def _model_request(self) -> ModelRequest:
        setup = self._setup
        return ModelRequest(
            model=setup.model,
            system=setup.system,
            messages=setup.log.messages,
            tools=setup.tools.specs,
            thinking_level=setup.thinking_level,
            patience=None if self._deadline is None else self._deadline - asyncio.get_running_loop().time(),
        )

    def _take(self, response: _Response, delta: ModelDelta) -> RunEvent | None:
        if isinstance(delta, RetryDelta):
            return RetryEvent(delta.attempt, delta.delay, delta.reason)
        response.begun = True
        match delta:
            case TextDelta(text):
                if response.reasoning:
                    response.close_text()
                response.text.append(text)
                response.characters += len(text)
                self._texts.append(text)
                return TextEvent(text) if text else None
            case ReasoningDelta(text, provider):
                return _take_reasoning(response, text, provider)
            case ToolArgumentsDelta(call_id, name, text):
                response.characters += len(text)
                return ToolInputEvent(self._reserved_id(response, call_id), name, text)
            case ToolCallDelta():
                self._take_call(response, delta)
            case FinishDelta():
                if not isinstance(delta.usage, RequestUsage):
                    raise TurnError(f"The gateway's FinishDelta needs a RequestUsage, got {delta.usage!r}.")
                response.finish = delta
            case _:
                raise TurnError(f"The gateway yielded {delta!r}; it may yield only the deltas of ModelDelta.")
        return None

    def _take_call(self, response: _Response, delta: ToolCallDelta) -> None:
        response.close_text()
        unique = self._reserved_id(response, delta.id)
        del response.ids[delta.id]  # the same id again is another call
        # A call without arguments comes as an empty string from some providers.
        call = ToolCallBlock(id=unique, name=delta.name, arguments=delta.arguments.strip() or "{}")
        response.blocks.append(call)
        response.calls.append(call)

    def _reserved_id(self, response: _Response, given: str) -> str:
        if given not in response.ids:
            response.ids[given] = self._setup.log.reserve_id(given)
        return response.ids[given]

    def _usage_of(self, request: ModelRequest, response: _Response) -> RequestUsage:
        """Return the usage of a cut request: told before the cut, or an estimate."""
        if response.finish is not None:
            return response.finish.usage
        return estimated_usage(request, self._setup.info, response.characters)

    def _spent(self, reason: str, usage: RequestUsage) -> RequestFinishedEvent:
        self.usage = self.usage.plus(usage)
        return RequestFinishedEvent(self._requests, reason, usage, self.usage)

    async def _answer_calls(self, response: _Response) -> AsyncIterator[RunEvent]:
        results: dict[str, ToolResultBlock] = {}
        for group in self._setup.tools.groups(response.calls):
            for call in group:
                if call.name:
                    yield ToolCallEvent(call.id, call.name, _shown_input(call.arguments))
            async with aclosing(self._setup.tools.run_group(group)) as done:
                async for finished in done:
                    results[finished.call.id] = _result_block(finished)
                    async for event in self._told(finished):
                        yield event
        self._setup.log.add_response(response.blocks, list(results.values()))

    async def _told(self, finished: FinishedCall) -> AsyncIterator[RunEvent]:
        call, outcome = finished.call, finished.outcome
        for change in outcome.changes:
            event = await self._ledger.record(change, call.id)
            if event is not None:
                yield event
        if call.name:
            yield ToolResultEvent(
                call.id, call.name, outcome.output, outcome.is_error, finished.duration, outcome.exit_code
            )


async def _close(deltas: AsyncIterator[ModelDelta]) -> None:
    """End a gateway's stream, so that its connection is closed now and not when it is collected."""
    close = getattr(deltas, "aclose", None)
    if close is not None:
        await close()


def _take_reasoning(response: _Response, text: str, provider: dict[str, object] | None) -> RunEvent | None:
    if response.text:
        response.close_text()
    response.reasoning.append(text)
    response.characters += len(text)
    if provider is not None:
        block = ReasoningBlock(text="".join(response.reasoning), provider=provider)
        response.reasoning.clear()
        response.blocks.append(block)
    return ReasoningEvent(text) if text else None


def _shown_input(arguments: str) -> object:
    value = parse_arguments(arguments)
    return value if isinstance(value, dict) else arguments


def _result_block(finished: FinishedCall) -> ToolResultBlock:
    outcome = finished.outcome
    return ToolResultBlock(
        call_id=finished.call.id, name=finished.call.name, content=outcome.content, is_error=outcome.is_error
    )
