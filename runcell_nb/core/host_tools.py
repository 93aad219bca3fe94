"""The `tools` option of an agent, checked and ready for the engine."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import InvalidOptionError, RuncellNotImplementedError, repr_of
from .foreign_call import call_foreign
from .function_tool import FunctionTool
from .schemas import ValueSchema, value_schema
from .tools import ToolContext, ToolDefinition, context_parameter

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class HostTool:
    """A host tool ready for the engine."""

    name: str
    description: str
    schema: ValueSchema
    run: Callable[[Any, ToolContext], Awaitable[Any]]
    record: bool = False


def host_tools(tools: object, reserved: Iterable[str]) -> dict[str, HostTool]:
    """Check the `tools` option of `create_agent`.

    Args:
        tools: A mapping from name to `ToolDefinition` or function, or a sequence of functions.
        reserved: Names that a host tool may not have.

    Raises:
        InvalidOptionError: A reserved, illegal or repeated name, or something that is no tool.
    """
    taken, found = set(reserved), {}
    for name, entry in _named(tools):
        if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
            raise InvalidOptionError(f"Tool name {name!r} must be 1 to 64 letters, digits, '_' or '-'.")
        if name in taken:
            raise InvalidOptionError(f"Tool name {name!r} is reserved; rename the tool.")
        if name in found:
            raise InvalidOptionError(f"tools has two tools named {name!r}; rename one.")
        found[name] = _host_tool(name, entry)
    return found


def _named(tools: object) -> list[tuple[Any, Any]]:
    if isinstance(tools, Mapping):
        return list(tools.items())
    if not isinstance(tools, Sequence) or isinstance(tools, (str, bytes)):
        raise InvalidOptionError(
            f"tools must be a mapping or a list of functions, got {type(tools).__name__}."
        )
    pairs = []
    for entry in tools:
        name = getattr(entry, "name", None) or getattr(entry, "__name__", None)
        if isinstance(entry, ToolDefinition) and not isinstance(entry, FunctionTool):
            raise InvalidOptionError(
                "A ToolDefinition in a list has no name; use a mapping {name: definition}."
            )
        pairs.append((name, entry))
    return pairs


def _host_tool(name: str, entry: Any) -> HostTool:
    if not isinstance(entry, ToolDefinition):
        if not callable(entry):
            raise InvalidOptionError(
                f"Tool {name!r} must be a function or a ToolDefinition, got {repr_of(entry)}."
            )
        if isinstance(entry, type):
            raise InvalidOptionError(f"Tool {name!r} must be a function, got the class {entry.__name__}.")
        entry = FunctionTool(entry, name)
    if not isinstance(entry.description, str):
        raise InvalidOptionError(f"Tool {name!r}: description must be text, got {entry.description!r}.")
    for option in ("check_in", "needs", "wants"):
        if getattr(entry, option) is not None:
            raise RuncellNotImplementedError(f"Tool {name!r}: {option}= is not available in this version.")
    if not isinstance(entry.record, bool):
        raise InvalidOptionError(f"Tool {name!r}: record must be True or False, got {repr_of(entry.record)}.")
    if not callable(entry.execute):
        raise InvalidOptionError(f"Tool {name!r}: execute must be callable, got {entry.execute!r}.")
    schema = value_schema(entry.schema, f"Tool {name!r}: schema")
    if schema.json_schema.get("type", "object") != "object":
        raise InvalidOptionError(f"Tool {name!r}: schema must describe an object, the arguments by name.")
    return HostTool(name, entry.description, schema, _runner(entry), entry.record)


def _runner(entry: ToolDefinition) -> Callable[[Any, ToolContext], Awaitable[Any]]:
    execute, context_name = entry.execute, context_parameter(entry.execute)

    async def run(value: Any, context: ToolContext) -> Any:
        return await call_foreign(execute, value, **({context_name: context} if context_name else {}))

    return run
