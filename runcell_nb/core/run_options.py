"""The options of a run, checked before anything is started (API 1, FACTS 21)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypedDict

from .agent_options import (
    AgentConfig,
    checked_attachment_limit,
    checked_identity,
    checked_level,
    checked_limits,
    checked_name,
    checked_prompt_or_messages,
    checked_sandbox,
    checked_thread,
)
from .callbacks import AgentEvents, checked_events
from .errors import InvalidOptionError
from .files import NormalizedFile, normalize_files
from .gateway import ThinkingLevel
from .limits import RunLimits
from .schemas import ValueSchema, value_schema
from .thread import Thread
from .tools import Identity


class RunOptions(TypedDict, total=False):
    """What a run takes beside its prompt and schema; `Agent.stream` documents each."""

    messages: Any
    max_attachment_bytes: int
    files: Iterable[Any]
    sandbox: Any
    thread: Thread | None
    events: AgentEvents | None
    thinking_level: ThinkingLevel | None
    session_id: str | None
    identity: Identity | None
    limits: RunLimits | None


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """The options of one run, checked, those of its agent filled in."""

    prompt: str
    schema: ValueSchema | None
    files: list[NormalizedFile]
    sandbox: Any
    thread: Thread | None
    events: AgentEvents | None
    thinking_level: ThinkingLevel | None
    session_id: str | None
    identity: Identity | None
    limits: RunLimits


def checked_run(
    config: AgentConfig,
    prompt: Any,
    *,
    messages: Any = None,
    max_attachment_bytes: Any = 20 * 1024 * 1024,
    schema: Any = None,
    files: Any = (),
    sandbox: Any = None,
    thread: Any = None,
    events: Any = None,
    thinking_level: Any = None,
    session_id: Any = None,
    identity: Any = None,
    limits: Any = None,
    **unknown: Any,
) -> CheckedRun:
    """Check the options of a run.

    Raises:
        InvalidOptionError: The first bad option, named, with what to do.
    """
    if unknown:
        known = ", ".join(("schema", *RunOptions.__annotations__))
        raise InvalidOptionError(f"A run has no option {next(iter(unknown))!r}; its options are {known}.")
    checked_prompt = checked_prompt_or_messages(prompt, messages)
    checked_attachment_limit(max_attachment_bytes)
    return CheckedRun(
        prompt=checked_prompt,
        schema=None if schema is None else value_schema(schema, "schema"),
        files=normalize_files(files),
        sandbox=config.sandbox if sandbox is None else checked_sandbox(sandbox),
        thread=checked_thread(thread),
        events=checked_events(events, "events"),
        thinking_level=checked_level(thinking_level) or config.thinking_level,
        session_id=checked_name(session_id, "session_id"),
        identity=checked_identity(identity),
        limits=checked_limits(limits) or config.limits,
    )
