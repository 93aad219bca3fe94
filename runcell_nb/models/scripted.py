"""A model for tests and examples that says what it was told to say. It is not a language model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, get_args

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.gateway import FinishDelta, ModelDelta, ModelInfo, ModelRequest, TextDelta, ToolCallDelta
from runcell_nb.core.jsontext import compact_json
from runcell_nb.core.usage import RequestUsage

Step = str | Mapping[str, Any] | ModelDelta | BaseException
"""One thing a response does: text, a call `{"tool": name, "input": {…}}`, a delta, or an error to raise."""


class ScriptedModel:
    """Answers the first request with the first response of the script, and so on.

    Attributes:
        requests: The requests seen so far, for a test to look at.
    """

    def __init__(self, responses: Iterable[Step | Sequence[Step]], *, name: str = "scripted/model") -> None:
        """Take a script.

        Args:
            responses: One entry a request: a step or a list of steps.
            name: Shown wherever the model's name is.

        Raises:
            InvalidOptionError: A step is of none of these kinds.
        """
        if isinstance(responses, (str, Mapping)) or not isinstance(responses, Iterable):
            raise InvalidOptionError(f"ScriptedModel takes a list of responses, got {responses!r}.")
        self._responses = [_steps(response) for response in responses]
        self._name = name
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Play the next response.

        Raises:
            InvalidOptionError: The script has no response left.
        """
        number = len(self.requests)
        self.requests.append(request)
        if number >= len(self._responses):
            raise InvalidOptionError(
                f"The script of {self._name!r} has {number} responses and was asked for one more."
            )
        calls, finished = 0, False
        for step in self._responses[number]:
            if isinstance(step, BaseException):
                raise step
            delta = _delta(step, f"call_{number + 1}_{calls + 1}")
            calls += isinstance(delta, ToolCallDelta)
            finished = isinstance(delta, FinishDelta)
            yield delta
        if not finished:
            yield FinishDelta("tool-calls" if calls else "stop", RequestUsage(source="local"))

    async def describe(self, name: str) -> ModelInfo:
        """Describe the script."""
        return ModelInfo(name=self._name, local=True, note="a scripted model, not a language model")


def _steps(response: Step | Sequence[Step]) -> list[Step]:
    steps = list(response) if isinstance(response, Sequence) and not isinstance(response, str) else [response]
    for step in steps:
        if isinstance(step, Mapping) and (
            not isinstance(step.get("tool"), str) or step.keys() - {"tool", "input", "id"}
        ):
            raise InvalidOptionError(
                "A step of a script that is a dict has 'tool', the name of a tool, and may have 'input' "
                f"and 'id'; got {step!r}."
            )
        if not isinstance(step, (str, Mapping, BaseException, *get_args(ModelDelta))):
            raise InvalidOptionError(
                f"A step of a script is text, a call, a delta or an error; got {step!r}."
            )
    return steps


def _delta(step: Any, call_id: str) -> ModelDelta:
    if isinstance(step, str):
        return TextDelta(step)
    if isinstance(step, Mapping):
        arguments = step.get("input", {})
        text = arguments if isinstance(arguments, str) else compact_json(arguments)
        return ToolCallDelta(step.get("id", call_id), step["tool"], text)
    delta: ModelDelta = step
    return delta
