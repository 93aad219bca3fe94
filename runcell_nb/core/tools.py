"""What a host tool is, and what it may know of the call it answers (API 4)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

if TYPE_CHECKING:
    from .sandbox import Sandbox


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


@dataclass(eq=False)
class ToolDefinition:
    """A tool of the host.

    Attributes:
        description: What it does, for the model.
        schema: Of its input: a pydantic model, a type, a JSON Schema dict or a validator.
        execute: Called with the validator's output; sync (then in a thread) or async.
        check_in: 'always' or a predicate of the input: a person decides before it runs.
        needs: The credential that it wants.
        wants: Arguments that are artifact references.
        record: A recording keeps its results, and a replay gives them back instead of running it.
    """

    description: str
    schema: Any
    execute: Callable[..., Any]
    check_in: Any = None
    needs: Any = None
    wants: Any = None
    record: bool = False


def context_parameter(function: Callable[..., Any]) -> str | None:
    """Return the name of the parameter that wants the `ToolContext`; None without one."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return next((parameter.name for parameter in parameters if is_context(parameter.annotation)), None)


def is_context(annotation: object) -> bool:
    """Tell whether an annotation, resolved or text, names `ToolContext`, alone or with `| None`."""
    if isinstance(annotation, str):
        return any(part.strip("'\" ").rsplit(".", 1)[-1] == "ToolContext" for part in annotation.split("|"))
    return annotation is ToolContext or ToolContext in get_args(annotation)
