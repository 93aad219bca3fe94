"""Host tools: functions of the user's own that the model may call (API 4)."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, get_args, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError

from .errors import InvalidOptionError, RuncellNotImplementedError
from .foreign_call import call_foreign
from .schemas import ValueSchema, value_schema

if TYPE_CHECKING:
    from .sandbox import Sandbox

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Identity:
    """On whose behalf a run works; it isolates code sessions and artifacts."""

    tenant: str | None = None
    principal: str | None = None


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know of the call it answers. Annotate a parameter with it to receive it.

    Attributes:
        call_id: Id of the call.
        run_id: Id of the run.
        session_id: Id of the engine session.
        identity: On whose behalf; None when nobody was named.
        sandbox: The run's workspace.
        credential: Resolved for this call; None when the tool needs none.
    """

    call_id: str
    run_id: str | None
    session_id: str | None
    identity: Identity | None
    sandbox: Sandbox
    credential: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ToolDefinition:
    """A tool of the host.

    Attributes:
        description: What it does, for the model.
        schema: Of its input: a pydantic model, a type, a JSON Schema dict or a validator.
        execute: Called with the validator's output; sync (then in a thread) or async.
        check_in: 'always' or a predicate of the input: a person decides before it runs.
        needs: The credential that it wants.
        wants: Arguments that are artifact references.
    """

    description: str
    schema: Any
    execute: Callable[..., Any]
    check_in: Any = None
    needs: Any = None
    wants: Any = None


class FunctionTool(ToolDefinition):
    """A function made a tool by `@tool`; still callable as the function that it is."""

    name: str

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        """Describe a function.

        Args:
            function: Sync or async.
            name: For callables that have none of their own (`functools.partial`, an object).
        """
        name = name or str(getattr(function, "__name__", type(function).__name__))
        model, context_name = _input_model(function, name)
        summary, _ = _docstring(function)

        def execute(value: BaseModel, context: ToolContext) -> Any:
            arguments = {
                info.alias or name: getattr(value, name) for name, info in type(value).model_fields.items()
            }
            return function(**arguments, **({context_name: context} if context_name else {}))

        if inspect.iscoroutinefunction(function):
            execute = _awaited(execute)
        super().__init__(description=summary or name, schema=model, execute=execute)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "__doc__", function.__doc__)

    def __get__(self, instance: object, owner: type | None = None) -> FunctionTool:
        """Bind a method, so that the model is not asked for `self`."""
        function: Callable[..., Any] = self.function  # type: ignore[attr-defined]
        return self if instance is None else FunctionTool(function.__get__(instance, owner), self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        function: Callable[..., Any] = self.function  # type: ignore[attr-defined]
        return function(*args, **kwargs)


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool() -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(function: Callable[..., Any] | None = None, /) -> Any:
    """Make a function a tool: name, parameters and description from its signature and docstring.

    Args:
        function: Sync or async. Its parameters need names that can be passed as keywords; those of
            the docstring's `Args:` section get their descriptions from there.

    Raises:
        InvalidOptionError: The signature has `*args`, `**kwargs`, positional-only parameters or an
            annotation that pydantic cannot turn into a schema.
    """
    return FunctionTool if function is None else FunctionTool(function)


@dataclass(frozen=True, slots=True)
class HostTool:
    """A host tool ready for the engine."""

    name: str
    description: str
    schema: ValueSchema
    run: Callable[[Any, ToolContext], Awaitable[Any]]


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
            raise InvalidOptionError(f"Tool {name!r} must be a function or a ToolDefinition, got {entry!r}.")
        if isinstance(entry, type):
            raise InvalidOptionError(f"Tool {name!r} must be a function, got the class {entry.__name__}.")
        entry = FunctionTool(entry, name)
    if not isinstance(entry.description, str):
        raise InvalidOptionError(f"Tool {name!r}: description must be text, got {entry.description!r}.")
    for option in ("check_in", "needs", "wants"):
        if getattr(entry, option) is not None:
            raise RuncellNotImplementedError(f"Tool {name!r}: {option}= is not available in this version.")
    if not callable(entry.execute):
        raise InvalidOptionError(f"Tool {name!r}: execute must be callable, got {entry.execute!r}.")
    schema = value_schema(entry.schema, f"Tool {name!r}: schema")
    if schema.json_schema.get("type", "object") != "object":
        raise InvalidOptionError(f"Tool {name!r}: schema must describe an object, the arguments by name.")
    return HostTool(name, entry.description, schema, _runner(entry))


def _awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    async def execute(value: BaseModel, context: ToolContext) -> Any:
        return await function(value, context)

    return execute


def _runner(entry: ToolDefinition) -> Callable[[Any, ToolContext], Awaitable[Any]]:
    execute, context_name = entry.execute, _context_parameter(entry.execute)

    async def run(value: Any, context: ToolContext) -> Any:
        return await call_foreign(execute, value, **({context_name: context} if context_name else {}))

    return run


def _context_parameter(function: Callable[..., Any]) -> str | None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return next((parameter.name for parameter in parameters if _is_context(parameter.annotation)), None)


def _is_context(annotation: object) -> bool:
    """Tell whether an annotation, resolved or text, names `ToolContext`, alone or with `| None`."""
    if isinstance(annotation, str):
        return any(part.strip("'\" ").rsplit(".", 1)[-1] == "ToolContext" for part in annotation.split("|"))
    return annotation is ToolContext or ToolContext in get_args(annotation)


def _annotated_part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what carries the annotations: the function in a partial, an object's `__call__`."""
    while isinstance(function, partial):
        function = function.func
    if inspect.isroutine(function):
        return function
    return type(function).__call__


def _input_model(function: Callable[..., Any], name: str) -> tuple[type[BaseModel], str | None]:
    """Build the model of a function's parameters; also return the name of its context parameter."""
    try:
        hints = get_type_hints(_annotated_part(function), include_extras=True)
    except Exception as error:
        raise InvalidOptionError(
            f"Tool {name!r}: an annotation cannot be resolved: {error}", cause=error
        ) from error
    _, descriptions = _docstring(function)
    fields: dict[str, Any] = {}
    context = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InvalidOptionError(f"Tool {name!r}: parameter {str(parameter)!r} cannot be passed by name.")
        annotation = hints.get(parameter.name, Any)
        if _is_context(annotation):
            context = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        # Fields have names of our own, since a parameter may be called like a member of BaseModel.
        described = Field(default, alias=parameter.name, description=descriptions.get(parameter.name))
        fields[f"p{len(fields)}"] = (annotation, described)
    try:
        return create_model(name, __config__=ConfigDict(extra="forbid"), **fields), context
    except (PydanticUserError, NameError) as error:
        raise InvalidOptionError(
            f"Tool {name!r}: its parameters have no schema: {error}", cause=error
        ) from error


_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$")
_PARAMETER = re.compile(r"^\s+(\w+)\s*(?:\([^)]*\))?:\s*(.+)$")


def _docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Split a Google docstring into its text and the descriptions of its arguments."""
    lines = textwrap.dedent(inspect.getdoc(_annotated_part(function)) or "").splitlines()
    text: list[str] = []
    descriptions: dict[str, str] = {}
    section, last = "", ""
    for line in lines:
        heading = _SECTION.match(line)
        if heading:
            section = heading[1]
        elif not section:
            text.append(line)
        elif section in ("Args", "Arguments", "Parameters"):
            entry = _PARAMETER.match(line)
            if entry:
                last = entry[1]
                descriptions[last] = entry[2].strip()
            elif last and line.strip():
                descriptions[last] += " " + line.strip()
    return "\n".join(text).strip(), descriptions
