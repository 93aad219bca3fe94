"""Structured output: the hidden tool by which a model hands in its result, and who judges it (API 3)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from .errors import message_of
from .foreign_call import is_cancelled
from .gateway import ToolSpec
from .jsontext import plain
from .message_log import parse_arguments
from .messages import ToolCallBlock
from .outcome import ToolFailure, ToolOutcome, text_outcome
from .schemas import VALUE_MEMBERS, SchemaIssues, ValueSchema

SUBMIT_RESULT = "submitResult"

MAX_REFUSALS = 10
"""Submissions that are refused in one turn before it ends."""

INSTRUCTION = (
    f"When the work is done, hand in its result with the tool {SUBMIT_RESULT}; an answer in text is not "
    "read. If it is refused, mend what the refusal names and hand it in again."
)
"""Said in the system prompt of a structured run."""

_COMBINATORS = frozenset({"$ref", "allOf", "anyOf", "oneOf", "not", "if"})
"""Not at the root of a tool's parameters: providers want a plain object there."""

_NOTHING = f"The turn ended without a call of {SUBMIT_RESULT}."


class Submission:
    """What a structured run is after.

    Attributes:
        spec: The tool as the model sees it.
        accepted: A valid result is in and the run is over. A flag: the result may be `False` or None.
        valid: A valid result is in; calls before it in the same response may still be running.
        value: The validated and transformed result.
        submitted: The same as the model wrote it, plain JSON.
        problem: Why there is no valid result so far.
    """

    def __init__(self, schema: ValueSchema) -> None:
        self._schema = schema
        self._wrapped = schema.json_schema.get("type") != "object" or not _COMBINATORS.isdisjoint(
            schema.json_schema
        )
        self.spec = ToolSpec(
            SUBMIT_RESULT,
            "Hand in the result of the whole task. The first valid one ends the work.",
            _wrapped(schema.json_schema) if self._wrapped else schema.json_schema,
        )
        self.accepted = False
        self.valid = False
        self.value: Any = None
        self.submitted: Any = None
        self.problem = _NOTHING
        self._refusals = 0

    @property
    def given_up(self) -> bool:
        """Whether so many were refused in this turn that it ends: a model can go on like that for ever."""
        return self._refusals >= MAX_REFUSALS

    @property
    def repair_prompt(self) -> str:
        """What the model is told when its turn ended without a valid result."""
        return (
            f"There is no valid result yet. {self.problem} "
            f"Call {SUBMIT_RESULT} now with the result; do not answer in text."
        )

    def begin_turn(self) -> None:
        """Forget why the last turn had no result."""
        self.problem = _NOTHING
        self._refusals = 0

    async def judge(self, call: ToolCallBlock) -> ToolOutcome:
        """Validate a submission, exactly once.

        Raises:
            asyncio.CancelledError: The run was cancelled meanwhile, which wins over a valid result.
        """
        try:
            submitted = self._submitted(call.arguments)
            plain(submitted)  # what cannot be kept in a thread is no result
            text = json.dumps(submitted) if self._wrapped else call.arguments
            value = await self._schema.validate(text)
        except (ToolFailure, SchemaIssues) as failure:
            return self._refused(str(failure))
        except Exception as error:
            return self._refused(f"{type(error).__name__}: {message_of(error)}")
        if is_cancelled():
            await asyncio.sleep(0)  # where asyncio delivers it
            raise asyncio.CancelledError
        self.valid, self.value, self.submitted = True, value, submitted
        return text_outcome("The result was accepted.")

    def _submitted(self, arguments: str) -> Any:
        given = parse_arguments(arguments)
        if not isinstance(given, dict):
            raise ToolFailure(
                f"The arguments of {SUBMIT_RESULT} are not a JSON object, or have a number or nesting beyond "
                "what JSON readers take; send them again."
            )
        if not self._wrapped:
            return given
        if "result" not in given:
            raise SchemaIssues("result: missing; the result goes under this name.")
        return given["result"]

    def _refused(self, issues: str) -> ToolOutcome:
        self._refusals += 1
        self.problem = f"The last one was refused: {issues}"
        return text_outcome(issues, is_error=True)


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with the one member `result`, because arguments are always an object.

    Definitions move to the new root, where providers look for them; other references go one level down.
    A schema with an `$id` is a document of its own, whose references stay as they are.
    """
    shared: dict[str, Any] = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
    inner = {name: value for name, value in schema.items() if name != "$schema"}
    if "$id" in schema:
        shared = {}
    else:
        inner = _moved({name: value for name, value in inner.items() if name not in shared})
        shared = _moved(shared)
    return {"type": "object", "properties": {"result": inner}, "required": ["result"], **shared}


def _moved(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_moved(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _moved_member(name, value) for name, value in schema.items()}


def _moved_member(name: str, value: Any) -> Any:
    if name in VALUE_MEMBERS:
        return value
    return _moved_reference(value) if name == "$ref" and isinstance(value, str) else _moved(value)


def _moved_reference(reference: str) -> str:
    moves = reference == "#" or reference.startswith("#/")
    if not moves or reference.startswith(("#/$defs/", "#/definitions/")):
        return reference
    return f"#/properties/result{reference[1:]}"
