"""The agent: options checked once, any number of runs (API 1)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict, Unpack
from uuid import uuid4

from .agent_options import (
    checked_attachment_limit,
    checked_identity,
    checked_level,
    checked_limits,
    checked_model,
    checked_name,
    checked_prompt_or_messages,
    checked_sandbox,
    checked_thread,
    refuse_later,
)
from .backends import load_gateway
from .builtin_tools import RESERVED_NAMES, ToolWorkspace
from .callbacks import AgentEvents, CallbackDispatcher, checked_events
from .changes import WorkspaceWatch
from .credentials import CredentialPlan, normalize_credentials
from .engine import Engine, EngineSetup
from .errors import InvalidOptionError
from .files import NormalizedFile, normalize_files
from .gateway import ModelGateway, ModelInfo, ThinkingLevel
from .host_tools import HostTool, host_tools
from .limits import RunLimits
from .message_log import MessageLog, valid_log
from .prompt import system_prompt
from .result import RunResult
from .run import AgentRun, Session
from .sandbox import Sandbox, is_live_sandbox
from .sandbox_options import create_sandbox, resolve_sandbox_config
from .sync_bridge import run_blocking
from .thread import Thread, replay_prompt
from .tool_runner import RunIdentity, ToolRunner
from .tools import Identity, ToolDefinition

Tools = Mapping[str, ToolDefinition | Callable[..., Any]] | Sequence[Callable[..., Any]]
"""What `create_agent(tools=…)` takes."""


class RunOptions(TypedDict, total=False):
    """What `run`, `stream` and `run_sync` take beside the prompt; `stream` documents each."""

    messages: Any
    max_attachment_bytes: int
    schema: Any
    files: Iterable[Any]
    sandbox: Any
    thread: Thread | None
    events: AgentEvents | None
    thinking_level: ThinkingLevel | None
    session_id: str | None
    identity: Identity | None
    limits: RunLimits | None


@dataclass(frozen=True, slots=True)
class _Checked:
    """The options of one run, checked."""

    prompt: str
    files: list[NormalizedFile]
    sandbox: Any
    thread: Thread | None
    events: AgentEvents | None
    thinking_level: ThinkingLevel | None
    session_id: str | None
    identity: Identity | None
    limits: RunLimits


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """The options of an agent, checked."""

    model: str | ModelGateway
    credentials: CredentialPlan
    system_prompt: str | None
    tools: dict[str, HostTool]
    events: AgentEvents | None
    sandbox: Any
    max_repairs: int
    thinking_level: ThinkingLevel | None
    limits: RunLimits


class Agent:
    """Runs prompts in sandboxes. Stateless: one serves any number of concurrent runs.

    Made by `create_agent`.
    """

    def __init__(self, config: AgentConfig) -> None:
        self._config = config

    def __repr__(self) -> str:
        model = self._config.model
        return f"<Agent {model if isinstance(model, str) else type(model).__name__}>"

    async def run(self, prompt: str | None = None, **options: Unpack[RunOptions]) -> RunResult[Any]:
        """Run a prompt to its end.

        Args:
            prompt: What to do.
            **options: As for `stream`.

        Returns:
            Text, changed files, usage.

        Raises:
            InvalidOptionError: A bad option; nothing was started.
            TurnError: The run failed; its usage is attached.
            asyncio.CancelledError: The awaiting task was cancelled; the run has been stopped.
        """
        return await self.stream(prompt, **options).result()

    def stream(
        self,
        prompt: str | None = None,
        *,
        messages: Any = None,
        max_attachment_bytes: int = 20 * 1024 * 1024,
        schema: Any = None,
        files: Iterable[Any] = (),
        sandbox: Any = None,
        thread: Thread | None = None,
        events: AgentEvents | None = None,
        thinking_level: ThinkingLevel | None = None,
        session_id: str | None = None,
        identity: Identity | None = None,
        limits: RunLimits | None = None,
    ) -> AgentRun[Any]:
        """Start a run and return it at once. Needs a running event loop.

        Args:
            prompt: What to do.
            messages: Chat history instead of a prompt; not in this version.
            max_attachment_bytes: Of each file in the chat history.
            schema: Of a structured result; not in this version.
            files: `FileInput`s or dicts, written before the first request.
            sandbox: A live `Sandbox` (yours; never destroyed here), an option (made for this run),
                or None for the agent's default.
            thread: A conversation, extended on success only.
            events: Callbacks beside the agent's.
            thinking_level: Of this run.
            session_id: Name of the engine session.
            identity: On whose behalf.
            limits: Of this run, instead of the agent's.

        Returns:
            The run. A bad option shows in its result, never here.
        """

        def check() -> _Checked:
            checked = checked_prompt_or_messages(prompt, messages)
            checked_attachment_limit(max_attachment_bytes)
            refuse_later(schema=schema)
            config = self._config
            return _Checked(
                prompt=checked,
                files=normalize_files(files),
                sandbox=config.sandbox if sandbox is None else checked_sandbox(sandbox),
                thread=checked_thread(thread),
                events=checked_events(events, "events"),
                thinking_level=checked_level(thinking_level) or config.thinking_level,
                session_id=checked_name(session_id, "session_id"),
                identity=checked_identity(identity),
                limits=checked_limits(limits) or config.limits,
            )

        async def open_session() -> Session:
            return await self._open(check())

        return AgentRun(open_session)

    def run_sync(self, prompt: str | None = None, **options: Unpack[RunOptions]) -> RunResult[Any]:
        """Run a prompt from plain code, also where an event loop is running.

        Args:
            prompt: What to do.
            **options: As for `stream`.

        Raises:
            KeyboardInterrupt: After the run was stopped.
            RuncellError: As `run`.
        """
        return run_blocking(lambda: self.run(prompt, **options))

    async def _open(self, options: _Checked) -> Session:
        """Resolve the model and start the session; failures here carry no usage and fire no event."""
        config = self._config
        async with AsyncExitStack() as held:
            if options.thread is not None:
                options.thread.acquire()
                held.callback(options.thread.release)
            gateway, model = _gateway_of(config)
            info = await gateway.describe(model)
            if not isinstance(info, ModelInfo):
                raise InvalidOptionError(f"describe of a gateway must return a ModelInfo, got {info!r}.")
            sandbox: Sandbox = options.sandbox
            if not is_live_sandbox(sandbox):
                sandbox = await held.enter_async_context(create_sandbox(options.sandbox))
            workspace = ToolWorkspace(sandbox, WorkspaceWatch(sandbox))
            names = RunIdentity(uuid4().hex, options.session_id or uuid4().hex, options.identity)
            log, prompt_sent = _conversation(options)
            setup = EngineSetup(
                prompt=options.prompt,
                prompt_sent=prompt_sent,
                files=options.files,
                workspace=workspace,
                tools=ToolRunner(config.tools, workspace, names),
                gateway=gateway,
                model=model,
                info=info,
                system=system_prompt(config.system_prompt, sandbox),
                limits=options.limits,
                thinking_level=options.thinking_level,
                names=names,
                log=log,
            )
            listeners = [listener for listener in (config.events, options.events) if listener is not None]
            complete = partial(_result, setup, options.thread)
            return Session(Engine(setup), CallbackDispatcher(listeners), complete, held.pop_all().aclose)


def _result(setup: EngineSetup, thread: Thread | None, engine: Engine) -> RunResult[Any]:
    if thread is not None:
        thread.record(setup.prompt, engine.text, setup.log.messages)
    return RunResult(
        data=None,
        text=engine.text,
        files=engine.files,
        finish_reason=engine.finish_reason,
        session_id=setup.names.session_id,
        usage=engine.usage,
    )


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
    if isinstance(max_repairs, bool) or not isinstance(max_repairs, int) or max_repairs < 0:
        raise InvalidOptionError(f"max_repairs must be a whole number from 0, got {max_repairs!r}.")
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
    if system_prompt is not None and not isinstance(system_prompt, str):
        raise InvalidOptionError(f"system_prompt must be text, got {type(system_prompt).__name__}.")
    return Agent(
        AgentConfig(
            model=chosen_model,
            credentials=checked_credentials,
            system_prompt=system_prompt,
            tools=checked_tools,
            events=checked_events(events, "events"),
            sandbox=default_sandbox,
            max_repairs=max_repairs,
            thinking_level=level,
            limits=checked_limits(limits) or RunLimits(),
        )
    )


def _gateway_of(config: AgentConfig) -> tuple[ModelGateway, str]:
    model = config.model
    if isinstance(model, str):
        return load_gateway(model, config.credentials), model
    return model, str(getattr(model, "name", type(model).__name__))


def _conversation(options: _Checked) -> tuple[MessageLog, str]:
    """Return the log to go on with and the prompt as it is sent."""
    thread = options.thread
    if thread is None:
        return MessageLog(), options.prompt
    if thread.log is not None:
        return valid_log(thread.log), options.prompt
    return MessageLog(), replay_prompt(thread.messages, options.prompt)
