"""A gateway that answers from a recording: no network, no key, no cost."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from runcell_nb.core.errors import InvalidOptionError, RuncellError, repr_of
from runcell_nb.core.gateway import ContextOverflowError, ModelDelta, ModelGateway, ModelInfo, ModelRequest
from runcell_nb.core.messages import ToolCallBlock, ToolResultBlock
from runcell_nb.core.recorded_results import RecordedResults

from .asked_gateway import AskedGateway
from .normal_message import canonical_arguments
from .recorded_cell import RecordedCell
from .recorded_request import NormalRequest, RequestReader
from .recorded_response import RecordedResponse
from .recorded_step import KeptResult, RecordedStep
from .recording import Recording
from .request_difference import request_difference, step_names

ReplayMode = Literal["strict", "auto"]

HOW_TO_RENEW = (
    "To renew the recording: in a notebook `%runcell record` and run the cell again; under pytest "
    "`pytest --runcell-record`; in code ask a RecordingGateway."
)
"""Ends every sentence about a request that is not in a recording."""


class ReplayError(RuncellError):
    """A replay does not do what was recorded; the message says what differs and how to renew."""


class ReplayGateway:
    """Answers requests as they were answered when they were recorded, each response once.

    Runs at the same time may share one: what belongs to a request is found by what it asks.

    Args:
        recording: A `Recording`, the path of one (or of a notebook), or its JSON form.
        mode: 'strict': a request that is not recorded fails with a `ReplayError` that shows what differs.
            'auto': it goes to `gateway`.
        gateway: A model id or a gateway, often a `RecordingGateway`; only for 'auto'.
        timing: Whether the deltas take the time that they took then.
        name: Of the model; by default that of `gateway`, else the only one that is recorded.
        expected: Replay what this cell recorded and nothing else; None for the whole recording.
        note: What else is known to differ, told with every difference.

    Attributes:
        name: Of the model, as it is asked.
        recording: From which is answered.
        steps: The steps that were replayed, in order.
        results: The results of tools that were given back, in order.
        replayed: Requests that were answered from the recording.
        live: Requests that went to `gateway`.

    Raises:
        InvalidOptionError: An option is wrong, or several models are recorded and `name` does not say which.
        RecordingError: The recording cannot be read.
    """

    def __init__(
        self,
        recording: Recording | str | Path | Mapping[str, Any],
        *,
        mode: ReplayMode = "strict",
        gateway: str | ModelGateway | None = None,
        timing: bool = False,
        name: str | None = None,
        expected: RecordedCell | None = None,
        note: str | None = None,
    ) -> None:
        if mode not in ("strict", "auto"):
            raise InvalidOptionError(f"mode must be 'strict' or 'auto', got {mode!r}.")
        if (mode == "auto") is (gateway is None):
            raise InvalidOptionError(
                f"mode {mode!r} {'needs a' if mode == 'auto' else 'takes no'} gateway, got {gateway!r}."
            )
        self.recording = _recording_of(recording)
        self._asked = None if gateway is None else AskedGateway(gateway)
        self._timing, self._note = timing, note
        self._reader = RequestReader()
        steps = self.recording.steps if expected is None else list(expected.steps)
        results = self.recording.results if expected is None else expected.results
        self._waiting: dict[int, RecordedStep] = {id(step.response): step for step in steps}
        self._open: dict[str, deque[RecordedStep]] = defaultdict(deque)
        for step in steps:
            self._open[step.key].append(step)
        self._kept: dict[tuple[str, str], deque[KeptResult]] = defaultdict(deque)
        for result in results:
            self._kept[result.name, result.arguments].append(result)
        self.name = name or self._default_name(expected)
        self.steps: list[RecordedStep] = []
        self.results: list[KeptResult] = []
        self.replayed = 0
        self.live = 0

    @property
    def unused(self) -> list[RecordedStep]:
        """The recorded steps that were not asked, in order."""
        return list(self._waiting.values())

    def check_all_used(self) -> None:
        """Check that everything that was recorded has been asked.

        Raises:
            ReplayError: Names what was not.
        """
        _check_none(self.recording, self.unused)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Answer one request from the recording.

        Args:
            request: The conversation and what the model may call.

        Yields:
            The recorded deltas, or with 'auto' those of the model for what is not recorded.

        Raises:
            ReplayError: It is not recorded, or was asked more often than recorded.
            ContextOverflowError: As recorded.
        """
        normal = self._reader.read(request)
        steps = self._open.get(normal.key)
        if steps:
            step = steps.popleft()
            self._waiting.pop(id(step.response), None)
            self.replayed += 1
            self.steps.append(step)
            async for delta in self._replayed(step.key, step.response):
                yield delta
        elif self._asked is None:
            raise ReplayError(self._unexpected(normal))
        else:
            self.live += 1
            async with aclosing(self._asked.stream(request)) as deltas:
                async for delta in deltas:
                    yield delta

    async def describe(self, name: str) -> ModelInfo:
        """Describe a model as it was recorded; as local, since a replay costs nothing.

        Args:
            name: As in `ModelRequest.model`.

        Raises:
            InvalidOptionError: Nothing is recorded of it.
        """
        info = self.recording.infos.get(name)
        if info is not None:
            return replace(info, local=True)
        if self._asked is not None:
            return await self._asked.describe(name)
        raise InvalidOptionError(
            f"Nothing is recorded of model {name!r}; {self._recorded_models()}. {HOW_TO_RENEW}"
        )

    def kept_result(self, call: ToolCallBlock) -> ToolResultBlock | None:
        """Return the recorded result of a tool with `record=True`.

        Raises:
            ReplayError: In 'strict', when there is none (any more): the tool must not run.
        """
        arguments = canonical_arguments(call.arguments)
        kept = self._kept.get((call.name, arguments))
        if kept:
            self.results.append(kept.popleft())
            return self.results[-1].result.model_copy(update={"call_id": call.id})
        if self._asked is not None:
            return None
        raise ReplayError(
            f"The result of tool {call.name!r} with {arguments[:200]} is not recorded, and a tool with "
            f"record=True does not run in a strict replay. {HOW_TO_RENEW}"
        )

    def keep_result(self, call: ToolCallBlock, result: ToolResultBlock) -> None:
        """Pass the result of a tool that ran on to the gateway that records."""
        inner = None if self._asked is None else self._asked.inner
        if isinstance(inner, RecordedResults):
            inner.keep_result(call, result)

    async def _replayed(self, key: str, response: RecordedResponse) -> AsyncIterator[ModelDelta]:
        if response.overflow is not None:
            raise ContextOverflowError(response.overflow)
        for gap, delta in response.deltas(key):
            if self._timing and gap:
                await asyncio.sleep(gap / 1000)
            yield delta
        if response.cut:
            raise ReplayError(
                "The recorded response ended with a result that was accepted then and is refused now. "
                f"{HOW_TO_RENEW}"
            )

    def _unexpected(self, normal: NormalRequest) -> str:
        if normal.key in self._open:
            count = len(self.recording.requests[normal.key].responses)
            times = "once" if count == 1 else f"{count} times"
            return f"A request was recorded {times} and asked once more. {HOW_TO_RENEW}"
        difference = request_difference(normal, self._reader.tools, self.recording, self.unused)
        return "\n".join(filter(None, [difference, self._note, HOW_TO_RENEW]))

    def _default_name(self, expected: RecordedCell | None) -> str:
        if self._asked is not None:
            return self._asked.name
        if expected is not None:
            return expected.model
        models = self.recording.models
        if len(models) > 1:
            raise InvalidOptionError(f"name must say which model is replayed: {self._recorded_models()}.")
        return models[0] if models else "nothing/recorded"

    def _recorded_models(self) -> str:
        names = ", ".join(map(repr, self.recording.infos)) or "none"
        return f"recorded are {names}"


def check_used(recording: Recording, asked: Iterable[RecordedStep]) -> None:
    """Check that everything in a recording has been asked, by several gateways together.

    Args:
        recording: Of all of them.
        asked: Their `steps`.

    Raises:
        ReplayError: Names what was not.
    """
    used = {id(step.response) for step in asked}
    _check_none(recording, [step for step in recording.steps if id(step.response) not in used])


def _check_none(recording: Recording, unused: Sequence[RecordedStep]) -> None:
    if unused:
        names = "; ".join(step_names(recording, unused))
        count = "1 recorded request was" if len(unused) == 1 else f"{len(unused)} recorded requests were"
        raise ReplayError(f"{count} never asked: {names}. {HOW_TO_RENEW}")


def _recording_of(value: Any) -> Recording:
    if isinstance(value, Recording):
        return value
    if isinstance(value, (str, Path)):
        return Recording.read(value)
    if isinstance(value, Mapping):
        return Recording.from_dict(dict(value))
    raise InvalidOptionError(
        f"recording must be a Recording, a path or the JSON form of one, got {repr_of(value)}."
    )
