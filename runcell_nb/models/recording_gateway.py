"""A gateway that asks another one and records what was asked and what came back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

from runcell_nb.core.errors import message_of
from runcell_nb.core.gateway import ContextOverflowError, ModelDelta, ModelGateway, ModelInfo, ModelRequest
from runcell_nb.core.messages import ToolCallBlock, ToolResultBlock
from runcell_nb.core.submission import SUBMIT_RESULT

from .asked_gateway import AskedGateway
from .normal_message import canonical_arguments
from .recorded_request import RequestReader
from .recorded_response import RecordedResponse, ResponseRecorder
from .recorded_step import KeptResult, RecordedStep
from .recording import Recording


class RecordingGateway:
    """Asks a model and records it.

    Requests that failed or were cancelled are not recorded; that a conversation did not fit is.

    Args:
        gateway: A model id, with keys from the environment, or a gateway.
        recording: To add to; a new one by default.

    Attributes:
        name: Of the model, as it is asked.
        recording: What was recorded.
        steps: What this gateway added to it, in the order in which it ended.
        results: Results of tools with `record=True` that this gateway added.

    Raises:
        InvalidOptionError: The gateway is neither a name nor a gateway.
    """

    def __init__(self, gateway: str | ModelGateway, recording: Recording | None = None) -> None:
        self._asked = AskedGateway(gateway)
        self._reader = RequestReader()
        self.name = self._asked.name
        self.recording = Recording() if recording is None else recording
        self.steps: list[RecordedStep] = []
        self.results: list[KeptResult] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Answer one request by the model behind, and record it.

        Args:
            request: The conversation and what the model may call.

        Yields:
            The deltas of the model behind, as they come.
        """
        recorder = ResponseRecorder()
        try:
            async with aclosing(self._asked.stream(request)) as deltas:
                async for delta in deltas:
                    recorder.take(delta)
                    yield delta
        except ContextOverflowError as error:
            if not recorder.begun:
                self._add(request, RecordedResponse(overflow=message_of(error)))
            raise
        except GeneratorExit:  # the engine has its result; or the run was cancelled, which is no response
            task = asyncio.current_task()
            if recorder.ends_with_call(SUBMIT_RESULT) and not (task is not None and task.cancelling()):
                self._add(request, recorder.response(cut=True))
            raise
        if recorder.ended:
            self._add(request, recorder.response())

    async def describe(self, name: str) -> ModelInfo:
        """Describe the model behind, and record that, too.

        Args:
            name: As in `ModelRequest.model`.
        """
        info = await self._asked.describe(name)
        self.recording.infos[name] = info
        return info

    def kept_result(self, call: ToolCallBlock) -> ToolResultBlock | None:
        """Return None: while recording, tools run."""
        return None

    def keep_result(self, call: ToolCallBlock, result: ToolResultBlock) -> None:
        """Record the result of a tool with `record=True`."""
        kept = KeptResult(call.name, canonical_arguments(call.arguments), result)
        self.recording.results.append(kept)
        self.results.append(kept)

    def _add(self, request: ModelRequest, response: RecordedResponse) -> None:
        self.recording.infos.setdefault(request.model, ModelInfo(request.model))
        normal = self._reader.read(request)
        self.steps.append(self.recording.add(normal, response, self._reader.tools))
