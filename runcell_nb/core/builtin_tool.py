"""What a built-in tool is: how it is described, called and refused."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from .changes import WorkspaceWatch
from .errors import InvalidOptionError
from .gateway import ToolSpec
from .outcome import ToolFailure, ToolOutcome
from .output_text import OutputStore
from .paths import assert_safe_workspace_path
from .sandbox import Sandbox
from .schemas import issues_text


@dataclass(slots=True)
class ToolWorkspace:
    """What built-in tools work on.

    Attributes:
        sandbox: Files and shell.
        watch: Knows what changed in them.
        outputs: Keeps what is too long for the model.
    """

    sandbox: Sandbox
    watch: WorkspaceWatch
    outputs: OutputStore = field(init=False)

    def __post_init__(self) -> None:
        self.outputs = OutputStore(self.sandbox)

    def path(self, path: str) -> str:
        """Return a path that a model gave as a workspace path; '.' is the workspace itself.

        The shell shows the workspace under an absolute path, so that spelling is taken too.

        Raises:
            ToolFailure: It leads outside.
        """
        home = self.sandbox.working_directory.rstrip("/")
        if path == home or path.startswith(home + "/"):
            path = path[len(home) + 1 :] or "."
        if path.strip("/") == "." or path in ("", "./"):
            return "."
        try:
            return assert_safe_workspace_path(path)
        except InvalidOptionError as error:
            raise ToolFailure(str(error)) from error


@dataclass(frozen=True, slots=True)
class BuiltinTool:
    """A tool that every agent has.

    Attributes:
        spec: What the model sees.
        serial: It may write, so nothing else of the same response runs beside it.
        execute: Takes the arguments as parsed JSON; raises `ToolFailure` for what the model should
            read as an error.
    """

    spec: ToolSpec
    serial: bool
    execute: Callable[[dict[str, Any], ToolWorkspace], Awaitable[ToolOutcome]]


class ToolArguments(BaseModel):
    """Base of the arguments of a built-in tool: no conversions, no unknown names."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


A = TypeVar("A", bound=ToolArguments)


def builtin_tool(
    name: str,
    description: str,
    arguments: type[A],
    run: Callable[[A, ToolWorkspace], Awaitable[ToolOutcome]],
    *,
    serial: bool = False,
) -> BuiltinTool:
    """Make a built-in tool.

    Args:
        name: By which the model calls it.
        description: For the model.
        arguments: Its parameters, each with a description.
        run: What it does.
        serial: It may write.
    """

    async def execute(given: dict[str, Any], workspace: ToolWorkspace) -> ToolOutcome:
        checked = _checked(arguments, given)
        try:
            return await run(checked, workspace)
        except InvalidOptionError as error:
            raise ToolFailure(str(error)) from error

    return BuiltinTool(ToolSpec(name, description, _parameters(arguments)), serial, execute)


def _checked(model: type[A], given: dict[str, Any]) -> A:
    # Some providers send null for what was left out.
    present = {
        name: value
        for name, value in given.items()
        if value is not None or name not in model.model_fields or model.model_fields[name].is_required()
    }
    try:
        return model.model_validate(present)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise ToolFailure(issues_text((issue["loc"], issue["msg"]) for issue in found)) from error


def _parameters(model: type[ToolArguments]) -> dict[str, Any]:
    schema = model.model_json_schema()
    properties = {
        name: {key: value for key, value in described.items() if key != "title"}
        for name, described in schema.get("properties", {}).items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": schema.get("required", []),
        "additionalProperties": False,
    }
