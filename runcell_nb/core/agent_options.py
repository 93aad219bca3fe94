"""Checks on the options of an agent and a run: each names the option, shows the value and says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast, get_args

from .callbacks import AgentEvents
from .credentials import CredentialPlan
from .errors import InvalidOptionError, RuncellNotImplementedError
from .gateway import ModelGateway, ThinkingLevel
from .host_tools import HostTool
from .limits import RunLimits
from .sandbox import Sandbox, is_live_sandbox
from .sandbox_options import resolve_sandbox_config
from .thread import Thread
from .tools import Identity


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """The options of an agent, checked; `create_agent` documents each."""

    model: str | ModelGateway
    credentials: CredentialPlan
    system_prompt: str | None
    tools: dict[str, HostTool]
    events: AgentEvents | None
    sandbox: Any
    max_repairs: int
    thinking_level: ThinkingLevel | None
    limits: RunLimits


def refuse_later(**options: Any) -> None:
    """Refuse options that this version does not have."""
    for name, value in options.items():
        if value is not None:
            raise RuncellNotImplementedError(f"{name}= is not available in this version.")


def checked_model(model: Any) -> str | ModelGateway:
    """Check `model`: a name or a gateway."""
    if isinstance(model, str):
        if not model.strip():
            raise InvalidOptionError(
                f"model must be a name like 'anthropic/claude-sonnet-5-5', got {model!r}."
            )
        return model
    if not isinstance(model, type) and isinstance(model, ModelGateway):
        return model
    raise InvalidOptionError(f"model must be a name like 'local/demo' or a ModelGateway, got {model!r}.")


def checked_prompt_or_messages(prompt: Any, messages: Any) -> str:
    """Check that a run has exactly one of the two, and return its prompt."""
    if prompt is not None and messages is not None:
        raise InvalidOptionError("Give a run either prompt or messages, not both.")
    if prompt is None and messages is None:
        raise InvalidOptionError("A run needs a prompt: say what the agent should do.")
    refuse_later(messages=messages)
    return checked_prompt(prompt)


def checked_attachment_limit(limit: Any) -> None:
    """Check `max_attachment_bytes`."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit <= 0:
        raise InvalidOptionError(f"max_attachment_bytes must be a positive whole number, got {limit!r}.")


def checked_prompt(prompt: Any) -> str:
    """Check a prompt: text with something in it."""
    if not isinstance(prompt, str):
        raise InvalidOptionError(f"prompt must be text, got {prompt!r}.")
    if not prompt.strip():
        raise InvalidOptionError(f"The prompt is empty ({prompt!r}); say what the agent should do.")
    return prompt


def checked_sandbox(sandbox: Any) -> Any:
    """Check a run's `sandbox`: a live handle or an option."""
    if isinstance(sandbox, Sandbox):
        if not is_live_sandbox(sandbox):
            raise InvalidOptionError(
                f"Sandbox {sandbox.id} was destroyed; make a new one with create_sandbox()."
            )
        return sandbox
    return resolve_sandbox_config(sandbox)


def checked_thread(thread: Any) -> Thread | None:
    """Check a run's `thread`."""
    if thread is not None and type(thread) is not Thread:
        raise InvalidOptionError(
            f"thread must come from create_thread() or thread_from_dict(), got {thread!r}."
        )
    return thread


def checked_repairs(count: Any) -> int:
    """Check `max_repairs`."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise InvalidOptionError(f"max_repairs must be a whole number from 0, got {count!r}.")
    return count


def checked_system_prompt(text: Any) -> str | None:
    """Check `system_prompt`."""
    if text is not None and not isinstance(text, str):
        raise InvalidOptionError(f"system_prompt must be text, got {text!r}.")
    return text


def checked_level(level: Any) -> ThinkingLevel | None:
    """Check a `thinking_level`; None means unset."""
    if level is None:
        return None
    if not isinstance(level, str) or level not in get_args(ThinkingLevel):
        known = ", ".join(map(repr, get_args(ThinkingLevel)))
        raise InvalidOptionError(f"thinking_level must be one of {known}, got {level!r}.")
    return cast(ThinkingLevel, level)


def checked_identity(identity: Any) -> Identity | None:
    """Check a run's `identity`."""
    if identity is not None and not isinstance(identity, Identity):
        raise InvalidOptionError(f"identity must be an Identity(tenant=…, principal=…), got {identity!r}.")
    return identity


def checked_name(name: Any, option: str) -> str | None:
    """Check an optional name."""
    if name is not None and (not isinstance(name, str) or not name):
        raise InvalidOptionError(f"{option} must be a non-empty string, got {name!r}.")
    return name


def checked_limits(limits: Any) -> RunLimits | None:
    """Check a `limits` option."""
    if limits is not None and not isinstance(limits, RunLimits):
        raise InvalidOptionError(f"limits must be a RunLimits, got {limits!r}.")
    return limits
