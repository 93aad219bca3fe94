"""The agent: options checked once, any number of runs (API 1)."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, Unpack, overload

from pydantic import TypeAdapter

from .agent_options import (
    AgentConfig,
    checked_level,
    checked_limits,
    checked_model,
    checked_repairs,
    checked_system_prompt,
    refuse_later,
)
from .builtin_tools import RESERVED_NAMES
from .callbacks import AgentEvents, checked_events
from .credentials import normalize_credentials
from .errors import InvalidOptionError
from .gateway import ModelGateway, ThinkingLevel
from .host_tools import host_tools
from .limits import RunLimits
from .result import RunResult
from .run import AgentRun, Session
from .run_options import RunOptions, checked_run
from .sandbox_options import resolve_sandbox_config
from .session_start import open_session
from .sync_bridge import run_blocking
from .tools import ToolDefinition

T = TypeVar("T")
Schema = type[T] | TypeAdapter[T]
"""Schemas whose values have a type that a type checker can name."""

Tools = Mapping[str, ToolDefinition | Callable[..., Any]] | Sequence[Callable[..., Any]]
"""What `create_agent(tools=…)` takes."""


class Agent:
    """Runs prompts in sandboxes. Stateless: one serves any number of concurrent runs.

    Made by `create_agent`.
    """

    def __init__(self, config: AgentConfig) -> None:
        self._config = config

    def __repr__(self) -> str:
        model = self._config.model
        return f"<Agent {model if isinstance(model, str) else type(model).__name__}>"

    @overload
    async def run(
        self, prompt: str | None = None, *, schema: None = None, **options: Unpack[RunOptions]
    ) -> RunResult[None]: ...
    @overload
    async def run(
        self, prompt: str | None = None, *, schema: Schema[T], **options: Unpack[RunOptions]
    ) -> RunResult[T]: ...
    @overload
    async def run(
        self,
        prompt: str | None = None,
        *,
        schema: Callable[[Any], Awaitable[T]],
        **options: Unpack[RunOptions],
    ) -> RunResult[T]: ...
    @overload
    async def run(
        self,
        prompt: str | None = None,
        *,
        schema: Callable[[Any], T],
        **options: Unpack[RunOptions],
    ) -> RunResult[T]: ...
    @overload
    async def run(
        self, prompt: str | None = None, *, schema: Any, **options: Unpack[RunOptions]
    ) -> RunResult[Any]: ...
    async def run(
        self, prompt: str | None = None, *, schema: Any = None, **options: Unpack[RunOptions]
    ) -> RunResult[Any]:
        """Run a prompt to its end.

        Args:
            prompt: What to do.
            schema: Of a structured result, as for `stream`.
            **options: As for `stream`.

        Returns:
            Data, text, changed files, usage. A type checker knows the type of `data` from the schema.

        Raises:
            InvalidOptionError: A bad option; nothing was started.
            IncompleteResultError: A structured run that got no valid result.
            TurnError: The run failed; its usage is attached.
            asyncio.CancelledError: The awaiting task was cancelled; the run has been stopped.
        """
        return await self.stream(prompt, schema=schema, **options).result()

    @overload
    def stream(
        self, prompt: str | None = None, *, schema: None = None, **options: Unpack[RunOptions]
    ) -> AgentRun[None]: ...
    @overload
    def stream(
        self, prompt: str | None = None, *, schema: Schema[T], **options: Unpack[RunOptions]
    ) -> AgentRun[T]: ...
    @overload
    def stream(
        self,
        prompt: str | None = None,
        *,
        schema: Callable[[Any], Awaitable[T]],
        **options: Unpack[RunOptions],
    ) -> AgentRun[T]: ...
    @overload
    def stream(
        self,
        prompt: str | None = None,
        *,
        schema: Callable[[Any], T],
        **options: Unpack[RunOptions],
    ) -> AgentRun[T]: ...
    @overload
    def stream(
        self, prompt: str | None = None, *, schema: Any, **options: Unpack[RunOptions]
    ) -> AgentRun[Any]: ...
    def stream(
        self, prompt: str | None = None, *, schema: Any = None, **options: Unpack[RunOptions]
    ) -> AgentRun[Any]:
        """Start a run and return it at once. Needs a running event loop.

        Args:
            prompt: What to do.
            schema: Of a structured result: a pydantic model, a type, a `TypeAdapter`, a JSON Schema
                dict, or a function that returns the value or raises `ValueError`. None for a plain run.
            **options: `messages`: chat history instead of a prompt; not in this version.
                `max_attachment_bytes`: of each file in the chat history.
                `files`: `FileInput`s or dicts, written before the first request.
                `sandbox`: a live `Sandbox` (yours; never destroyed here), an option (made for this
                run), or None for the agent's default.
                `thread`: a conversation, extended on success only.
                `events`: callbacks beside the agent's.
                `thinking_level`: of this run.
                `session_id`: goes on with an earlier session in the same caller-owned sandbox; an
                unknown id starts a fresh session under that name. Beside a thread it names only state.
                `identity`: on whose behalf.
                `limits`: of this run, instead of the agent's.

        Returns:
            The run. A bad option shows in its result, never here.
        """

        async def open_checked() -> Session:
            return await open_session(
                self._config, checked_run(self._config, prompt, schema=schema, **options)
            )

        return AgentRun(open_checked)

    @overload
    def run_sync(
        self, prompt: str | None = None, *, schema: None = None, **options: Unpack[RunOptions]
    ) -> RunResult[None]: ...
    @overload
    def run_sync(
        self, prompt: str | None = None, *, schema: Schema[T], **options: Unpack[RunOptions]
    ) -> RunResult[T]: ...
    @overload
    def run_sync(
        self,
        prompt: str | None = None,
        *,
        schema: Callable[[Any], Awaitable[T]],
        **options: Unpack[RunOptions],
    ) -> RunResult[T]: ...
    @overload
    def run_sync(
        self,
        prompt: str | None = None,
        *,
        schema: Callable[[Any], T],
        **options: Unpack[RunOptions],
    ) -> RunResult[T]: ...
    @overload
    def run_sync(
        self, prompt: str | None = None, *, schema: Any, **options: Unpack[RunOptions]
    ) -> RunResult[Any]: ...
    def run_sync(
        self, prompt: str | None = None, *, schema: Any = None, **options: Unpack[RunOptions]
    ) -> RunResult[Any]:
        """Run a prompt from plain code, also where an event loop is running.

        Args:
            prompt: What to do.
            schema: Of a structured result, as for `stream`.
            **options: As for `stream`.

        Raises:
            KeyboardInterrupt: After the run was stopped.
            RuncellError: As `run`.
        """
        return run_blocking(lambda: self.run(prompt, schema=schema, **options))


def create_agent(
    model: str | ModelGateway,
    *,
    system_prompt: str | None = None,
    credentials: Any = "env",
    tools: Tools | None = None,
    events: AgentEvents | None = None,
    sandbox: Any = "virtual",
    max_repairs: int = 1,
    thinking_level: ThinkingLevel | None = None,
    extensions: Sequence[Callable[..., Any]] = (),
    limits: RunLimits | None = None,
    artifacts: Any = None,
    on_check_in: Any = None,
    resolve_credential: Any = None,
) -> Agent:
    """Make an agent.

    Args:
        model: `provider/name`, a bare id, `local/demo` (the offline demo, not a language model) or a gateway.
        system_prompt: Put first in every request.
        credentials: Where keys come from.
        tools: The host's own tools: name -> `ToolDefinition`, or a list of `@tool` functions.
        events: Callbacks of every run.
        sandbox: Default of every run.
        max_repairs: Repair turns of a structured run.
        thinking_level: How much the model thinks.
        extensions: Not in this version.
        limits: Of every run.
        artifacts: Not in this version.
        on_check_in: Not in this version.
        resolve_credential: Not in this version.

    Raises:
        InvalidOptionError: A bad option, named, with what to do.
        CredentialError: A source of credentials that is refused.
        RuncellNotImplementedError: An option that this version does not have.
    """
    chosen_model = checked_model(model)
    repairs = checked_repairs(max_repairs)
    default_sandbox = resolve_sandbox_config(sandbox)
    checked_credentials = normalize_credentials(credentials, os.environ.get("RUNCELL_ENV"))
    checked_tools = host_tools({} if tools is None else tools, RESERVED_NAMES)
    if not isinstance(extensions, (list, tuple)) or not all(callable(entry) for entry in extensions):
        raise InvalidOptionError(f"extensions must be a list of functions, got {extensions!r}.")
    level = checked_level(thinking_level)
    refuse_later(
        extensions=extensions or None,
        artifacts=artifacts,
        on_check_in=on_check_in,
        resolve_credential=resolve_credential,
    )
    return Agent(
        AgentConfig(
            model=chosen_model,
            credentials=checked_credentials,
            system_prompt=checked_system_prompt(system_prompt),
            tools=checked_tools,
            events=checked_events(events, "events"),
            sandbox=default_sandbox,
            max_repairs=repairs,
            thinking_level=level,
            limits=checked_limits(limits) or RunLimits(),
        )
    )
