"""What the options of a cell mean in this notebook: names become models, tools, types and limits."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from runcell_nb.core.agent import Agent, create_agent
from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.gateway import ModelGateway
from runcell_nb.core.limits import RunLimits
from runcell_nb.core.tools import ToolDefinition

from .cell_options import CellOptions


def agent_of(options: CellOptions, namespace: Mapping[str, Any], model: str | ModelGateway) -> Agent:
    """Return the agent that answers a cell.

    Args:
        options: Of the cell.
        namespace: Of the notebook.
        model: What answers.

    Raises:
        InvalidOptionError: A tool that is not there or is none.
        CredentialError: A source of credentials that is refused.
    """
    return create_agent(
        model,
        tools={name: _held(name, namespace, "--tools", "function") for name in options.tools},
        max_repairs=1 if options.max_repairs is None else options.max_repairs,
        thinking_level=options.thinking,
    )


def kept_tools_of(options: CellOptions, namespace: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the tools of a cell whose results a recording keeps."""
    held = {name: namespace.get(name) for name in options.tools}
    return frozenset(name for name, tool in held.items() if isinstance(tool, ToolDefinition) and tool.record)


def model_of(name: str | None, namespace: Mapping[str, Any], answering: str) -> str | ModelGateway:
    """Return what answers: a model's name, or a gateway that a variable of that name holds."""
    if name is None:
        return answering
    held = namespace.get(name)
    return held if isinstance(held, ModelGateway) and not isinstance(held, type) else name


def name_of(model: str | ModelGateway) -> str:
    """Return the name under which a model is asked."""
    return model if isinstance(model, str) else str(getattr(model, "name", type(model).__name__))


def schema_of(options: CellOptions, namespace: Mapping[str, Any]) -> Any:
    """Return the schema that `--schema` names; None without one.

    Raises:
        InvalidOptionError: Nothing of that name.
    """
    if options.schema is None:
        return None
    return _held(options.schema, namespace, "--schema", "type")


def limits_of(options: CellOptions) -> RunLimits:
    """Return the limits of a cell's run."""
    return RunLimits(
        max_cost_usd=options.max_cost,
        max_total_tokens=options.max_tokens,
        max_requests=options.max_requests,
        max_seconds=options.max_seconds,
    )


def _held(name: str, namespace: Mapping[str, Any], option: str, kind: str) -> Any:
    if name in namespace:
        return namespace[name]
    names = [held for held in namespace if not held.startswith("_")]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else "define it in a cell first."
    raise InvalidOptionError(f"{option} {name!r}: no {kind} of that name; {hint}")
