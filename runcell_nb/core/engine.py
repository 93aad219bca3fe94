"""The engine: one loop of asking the model and running the tools it calls, told as typed events.

It knows the model only as a `ModelGateway` and the workspace only as a `Sandbox`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from .builtin_tools import ToolWorkspace
from .change_ledger import ChangeLedger
from .compaction import Compaction, compacted
from .cut_usage import estimated_usage
from .errors import IncompleteResultError, LimitExceededError, RuncellError, TurnError, message_of
from .events import (
    CompactionEvent,
    FinishEvent,
    RepairEvent,
    RequestFinishedEvent,
    RequestStartedEvent,
    RunEvent,
    RunStartedEvent,
    TextEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from .exchange import Exchange, is_shown, result_block, shown_input
from .files import ChangedFile, NormalizedFile
from .foreign_call import heed_cancellation, is_cancelled
from .gateway import (
    ContextOverflowError,
    ErrorDelta,
    ModelDelta,
    ModelGateway,
    ModelInfo,
    ModelRequest,
    RetryDelta,
    ThinkingLevel,
    ToolCallDelta,
)
from .limits import RunLimits
from .message_log import MessageLog, valid_log
from .messages import Message, TextBlock
from .response import Response
from .submission import SUBMIT_RESULT, Submission
from .tool_runner import FinishedCall, RunIdentity, ToolRunner
from .usage import RequestUsage, RunUsage

E = TypeVar("E", bound=RuncellError)

CLOSE_SECONDS = 5.0
"""The longest that a gateway may take to close its stream."""

_PAUSE_EVERY = 200
"""Deltas after which others on the loop get their turn, also where a gateway never waits for anything."""


@dataclass(frozen=True, slots=True)
class EngineSetup:
    """Everything a run needs, checked and resolved.

    Attributes:
        prompt: As the user gave it.
        prompt_sent: As the model gets it (earlier messages replayed before it, say).
        files: Written before the first request.
        workspace: The sandbox with its watch.
        tools: What the model may call.
        submission: What a structured run is after; None for a plain one.
        max_repairs: Turns that a structured run may add.
        gateway: What answers.
        model: Its name for the gateway.
        info: What is known of it.
        system: System prompt.
        limits: Of the run.
        thinking_level: None when not to be sent.
        deadline: When the run has to be over, by the loop's clock; None for never.
        names: Of the run.
        log: The conversation before this run.
    """

    prompt: str
    prompt_sent: str
    files: Sequence[NormalizedFile]
    workspace: ToolWorkspace
    tools: ToolRunner
    submission: Submission | None
    max_repairs: int
    gateway: ModelGateway
    model: str
    info: ModelInfo
    system: str
    limits: RunLimits
    thinking_level: ThinkingLevel | None
    deadline: float | None
    names: RunIdentity
    log: MessageLog


class Engine:
    """One run.

    Attributes:
        usage: Of all requests so far.
        finish_reason: Of the last turn.
    """

    def __init__(self, setup: EngineSetup) -> None:
        self._setup = setup
        self._log = setup.log
        self._ledger = ChangeLedger(setup.workspace.sandbox)
        self._texts: list[str] = []
        self._own_errors: list[RuncellError] = []
        self._turns = 0
        self._requests = 0
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

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, this run included."""
        return self._log.messages

    @property
    def accepted(self) -> bool:
        """Whether a structured run has its result: whatever comes after does not take it away."""
        return self._setup.submission is not None and self._setup.submission.accepted

    def made(self, error: BaseException) -> bool:
        """Return whether an error is this run's own; everything else is foreign, also of the same class."""
        return any(own is error for own in self._own_errors)

    async def events(self) -> AsyncGenerator[RunEvent, None]:
        """Run, and yield what happens.

        Raises:
            LimitExceededError: A limit is reached.
            IncompleteResultError: The repairs are used up and no valid result was handed in.
            TurnError: The model's stream was cut.
            Exception: What the gateway or the sandbox raised, as it is.
        """
        self._stop_at(self._setup.limits.unpriced(self._setup.info))
        try:
            async with asyncio.timeout_at(self._setup.deadline) as clock:
                async for event in self._run():
                    yield event
        except TimeoutError as error:
            if not clock.expired():
                raise
            raise self._own(self._setup.limits.overdue(error)) from error

    async def _run(self) -> AsyncIterator[RunEvent]:
        setup, submission = self._setup, self._setup.submission
        yield RunStartedEvent(setup.names.run_id, setup.names.session_id, setup.info, setup.prompt)
        for file in setup.files:
            await setup.workspace.sandbox.write_file(file.path, file.data)
        await setup.workspace.watch.baseline()
        self._log.add_user([TextBlock(text=setup.prompt_sent)])
        async for event in self._turn():
            yield event
        if submission is None:
            return
        for attempt in range(1, setup.max_repairs + 1):
            if submission.accepted:
                return
            yield RepairEvent(attempt, submission.problem)
            self._log.add_user([TextBlock(text=submission.repair_prompt)])
            async for event in self._turn():
                yield event
        if not submission.accepted:
            tried = f"max_repairs={setup.max_repairs}"
            raise self._own(IncompleteResultError(f"No valid result ({tried}). {submission.problem}"))

    async def _turn(self) -> AsyncIterator[RunEvent]:
        self._turns += 1
        submission = self._setup.submission
        if submission is not None:
            submission.begin_turn()
        while True:
            exchange = Exchange(Response(self._log))
            async for event in self._ask(exchange):
                yield event
            async for event in self._answer_calls(exchange):
                yield event
            if self.accepted:
                self.finish_reason = "stop"
                break
            if not exchange.response.calls or (submission is not None and submission.given_up):
                break
        yield FinishEvent(self._setup.names.session_id, self.finish_reason)

    async def _ask(self, exchange: Exchange) -> AsyncIterator[RunEvent]:
        """Send the conversation; when it does not fit, make it shorter once and send it again."""
        try:
            async for event in self._request(exchange):
                yield event
            return
        except ContextOverflowError as error:
            shorter = None if exchange.response.begun else self._compacted()
            if shorter is None:
                raise
            reason = message_of(error)
        self._log = valid_log(shorter.messages)
        yield CompactionEvent(shorter.shortened, shorter.removed, reason)
        exchange.response = Response(self._log)
        async for event in self._request(exchange):
            yield event

    def _compacted(self) -> Compaction | None:
        return compacted(self._log.messages, self._setup.info, turns=self._turns)

    async def _request(self, exchange: Exchange) -> AsyncIterator[RunEvent]:
        heed_cancellation()
        self._stop_at(self._setup.limits.exceeded(self.usage, self._requests))
        self._requests += 1
        request, response = self._model_request(), exchange.response
        yield RequestStartedEvent(self._requests)
        try:
            async for event in self._stream(request, exchange):
                yield event
            self._check_end(response)
        except (Exception, asyncio.CancelledError) as error:
            if response.begun:
                yield self._spent("cut", self._usage_of(request, response))
            if response.error is not None and not isinstance(error, asyncio.CancelledError):
                raise self._part_failure(response.error) from None
            raise
        response.close_text()
        # A response that was cut because its result is in ended with that call.
        self.finish_reason = (response.finish.reason or "unknown") if response.finish else "tool-calls"
        yield self._spent(self.finish_reason, self._usage_of(request, response))

    async def _stream(self, request: ModelRequest, exchange: Exchange) -> AsyncIterator[RunEvent]:
        stall = self._setup.limits.stall_seconds
        deltas: AsyncIterator[ModelDelta] | None = None
        count, loop, task = 0, asyncio.get_running_loop(), asyncio.current_task()
        try:
            async with asyncio.timeout(stall) as silence:
                deltas = await self._opened(request)
                async for delta in deltas:
                    if task is not None and task.cancelling():  # whoever was waited for has swallowed it
                        raise asyncio.CancelledError
                    event = self._taken(exchange.response, delta)
                    if event is not None:
                        yield event
                    if isinstance(delta, ToolCallDelta) and await self._judged(exchange, silence):
                        return
                    if stall is not None:
                        pause = delta.delay if isinstance(delta, RetryDelta) else 0.0
                        silence.reschedule(loop.time() + stall + pause)
                    count += 1
                    if count % _PAUSE_EVERY == 0:
                        await asyncio.sleep(0)
        except TimeoutError as error:
            if not silence.expired():
                raise
            name = self._setup.info.name
            message = f"{name} said nothing for {stall:g} s (limit stall_seconds); the request was given up."
            raise self._own(LimitExceededError(message, cause=error)) from error
        finally:
            await self._close(deltas)

    async def _opened(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        stream: Any = self._setup.gateway.stream(request)
        if inspect.isawaitable(stream):
            stream = await stream
        if not hasattr(stream, "__aiter__"):
            message = f"stream of a gateway must return an async iterator of deltas, got {stream!r}."
            raise self._own(TurnError(message))
        deltas: AsyncIterator[ModelDelta] = stream
        return deltas

    def _taken(self, response: Response, delta: ModelDelta) -> RunEvent | None:
        try:
            event = response.take(delta)
        except TurnError as error:
            self._own(error)
            raise
        if isinstance(event, TextEvent):
            self._texts.append(event.text)
        return event

    async def _judged(self, exchange: Exchange, silence: asyncio.Timeout) -> bool:
        """Judge the last call if it hands in a result, and return whether the response is over by it.

        It is judged as it arrives, so that nothing after it starts and the request can be cut. Calls
        that stand before it in the response were asked for first: they run before it is accepted.
        """
        submission, call = self._setup.submission, exchange.response.calls[-1]
        if submission is None or call.name != SUBMIT_RESULT:
            return False
        silence.reschedule(None)  # what takes its time now is the validator, not the model
        exchange.judged[call.id] = await submission.judge(call)
        submission.accepted = submission.valid and not exchange.waiting
        return submission.valid

    async def _close(self, deltas: AsyncIterator[ModelDelta] | None) -> None:
        """End a gateway's stream, so that its connection is closed now and not when it is collected."""
        close = getattr(deltas, "aclose", None)
        if close is None:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS) as clock:
                await close()
        except asyncio.CancelledError:
            if not self.accepted and is_cancelled():
                raise
        except Exception:
            submission = self._setup.submission
            if not clock.expired() and not (submission is not None and submission.valid):
                raise

    def _check_end(self, response: Response) -> None:
        submission = self._setup.submission
        if submission is not None and submission.valid:
            return
        name = self._setup.info.name
        if response.error is not None:
            raise self._part_failure(response.error)
        if response.finish is None:
            message = f"The answer of {name} was cut: its stream ended without a finish reason."
            raise self._own(TurnError(message))

    def _part_failure(self, part: ErrorDelta) -> TurnError:
        return self._own(TurnError(message_of(part.error), cause=part.error))

    def _model_request(self) -> ModelRequest:
        setup = self._setup
        hidden = () if setup.submission is None else (setup.submission.spec,)
        deadline = setup.deadline
        return ModelRequest(
            model=setup.model,
            system=setup.system,
            messages=self._log.messages,
            tools=(*setup.tools.specs, *hidden),
            thinking_level=setup.thinking_level,
            patience=None if deadline is None else deadline - asyncio.get_running_loop().time(),
        )

    def _usage_of(self, request: ModelRequest, response: Response) -> RequestUsage:
        """Return the usage as the provider counted it, or an estimate for a request that was cut before."""
        if response.usage is not None:
            return response.usage
        return estimated_usage(request, self._setup.info, response.characters)

    def _spent(self, reason: str, usage: RequestUsage) -> RequestFinishedEvent:
        self.usage = self.usage.plus(usage)
        return RequestFinishedEvent(self._requests, reason, usage, self.usage)

    async def _answer_calls(self, exchange: Exchange) -> AsyncIterator[RunEvent]:
        results = exchange.judged_results()
        for group in self._setup.tools.groups(exchange.waiting):
            for call in group:
                if is_shown(call):
                    yield ToolCallEvent(call.id, call.name, shown_input(call.arguments))
            async with aclosing(self._setup.tools.run_group(group)) as done:
                async for finished in done:
                    results[finished.call.id] = result_block(finished.call, finished.outcome)
                    async for event in self._told(finished):
                        yield event
        self._log.add_response(exchange.response.blocks, list(results.values()))
        submission = self._setup.submission
        if submission is not None and submission.valid:
            submission.accepted = True

    async def _told(self, finished: FinishedCall) -> AsyncIterator[RunEvent]:
        call, outcome = finished.call, finished.outcome
        for change in outcome.changes:
            event = await self._ledger.record(change, call.id)
            if event is not None:
                yield event
        if is_shown(call):
            yield ToolResultEvent(
                call.id, call.name, outcome.output, outcome.is_error, finished.duration, outcome.exit_code
            )

    def _stop_at(self, error: LimitExceededError | None) -> None:
        if error is not None:
            raise self._own(error)

    def _own(self, error: E) -> E:
        self._own_errors.append(error)
        return error
