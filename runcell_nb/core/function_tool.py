"""Functions as tools: name, parameters and description from signature and docstring."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from functools import partial
from typing import Any, get_type_hints, overload

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError

from .errors import InvalidOptionError
from .tools import ToolContext, ToolDefinition, is_context


class FunctionTool(ToolDefinition):
    """A function made a tool by `@tool`; still callable as the function that it is.

    Attributes:
        name: By which the model calls it.
        function: The function itself.
    """

    def __init__(
        self, function: Callable[..., Any], name: str | None = None, *, record: bool = False
    ) -> None:
        """Describe a function.

        Args:
            function: Sync or async.
            name: For callables that have none of their own (`functools.partial`, an object).
            record: As in `ToolDefinition`.
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
        super().__init__(description=summary or name, schema=model, execute=execute, record=record)
        self.name = name
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: object, owner: type | None = None) -> FunctionTool:
        """Bind a method, so that the model is not asked for `self`."""
        if instance is None:
            return self
        return FunctionTool(self.function.__get__(instance, owner), self.name, record=self.record)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(*, record: bool = False) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(function: Callable[..., Any] | None = None, /, *, record: bool = False) -> Any:
    """Make a function a tool: name, parameters and description from its signature and docstring.

    Args:
        function: Sync or async. Its parameters need names that can be passed as keywords; those of
            the docstring's `Args:` section get their descriptions from there.
        record: A recording keeps the tool's results, and a replay gives them back instead of running it:
            for what costs, changes the world outside or is not there in a test.

    Raises:
        InvalidOptionError: The signature has `*args`, `**kwargs`, positional-only parameters or an
            annotation that pydantic cannot turn into a schema.
    """
    return partial(FunctionTool, record=record) if function is None else FunctionTool(function)


def _awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    async def execute(value: BaseModel, context: ToolContext) -> Any:
        return await function(value, context)

    return execute


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
        if is_context(annotation):
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
