"""The start of a run: its model, sandbox and conversation, and the engine over them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any
from uuid import uuid4

from .agent_options import AgentConfig
from .backends import load_gateway
from .builtin_tools import ToolWorkspace
from .callbacks import CallbackDispatcher
from .changes import WorkspaceWatch
from .engine import Engine, EngineSetup
from .errors import InvalidOptionError
from .gateway import ModelGateway, ModelInfo
from .jsontext import plain
from .message_log import MessageLog, valid_log
from .prompt import system_prompt
from .recorded_results import RecordedResults
from .result import RunResult
from .run import Session
from .run_options import CheckedRun
from .sandbox import Sandbox, is_live_sandbox
from .sandbox_options import create_sandbox
from .session_state import load_session, save_session
from .submission import INSTRUCTION, Submission
from .thread import replay_prompt
from .tool_runner import RunIdentity, ToolRunner


async def open_session(config: AgentConfig, options: CheckedRun) -> Session:
    """Resolve the model and start the session; failures here carry no usage and fire no event.

    Raises:
        InvalidOptionError: An unknown model, or a thread that is in use.
        CredentialError: The model's provider needs a key and there is none.
        LimitExceededError: The start alone took longer than the run may.
    """
    try:
        async with asyncio.timeout(options.limits.max_seconds) as clock:
            return await _opened(config, options, clock.when())
    except TimeoutError as error:
        if not clock.expired():
            raise
        raise options.limits.overdue(error) from error


async def _opened(config: AgentConfig, options: CheckedRun, deadline: float | None) -> Session:
    async with AsyncExitStack() as held:
        if options.thread is not None:
            options.thread.acquire()
            held.callback(options.thread.release)
        gateway, model = _gateway_of(config)
        described: Any = gateway.describe(model)
        info = await described if inspect.isawaitable(described) else described
        if not isinstance(info, ModelInfo):
            raise InvalidOptionError(f"describe of a gateway must return a ModelInfo, got {info!r}.")
        sandbox: Sandbox = options.sandbox
        owned = is_live_sandbox(sandbox)
        if not owned:
            sandbox = await held.enter_async_context(create_sandbox(options.sandbox))
        names = RunIdentity(uuid4().hex, options.session_id or uuid4().hex, options.identity)
        workspace = ToolWorkspace(sandbox, WorkspaceWatch(sandbox))
        submission = None if options.schema is None else Submission(options.schema)
        log, prompt_sent = await _conversation(options, sandbox)
        results = gateway if isinstance(gateway, RecordedResults) else None
        setup = EngineSetup(
            prompt=options.prompt,
            prompt_sent=prompt_sent,
            files=options.files,
            workspace=workspace,
            tools=ToolRunner(config.tools, workspace, names, results),
            submission=submission,
            max_repairs=config.max_repairs,
            gateway=gateway,
            model=model,
            info=info,
            system=system_prompt(config.system_prompt, sandbox, INSTRUCTION if submission else None),
            limits=options.limits,
            thinking_level=options.thinking_level,
            deadline=deadline,
            names=names,
            log=log,
        )
        listeners = [listener for listener in (config.events, options.events) if listener is not None]
        named = options.thread is None or options.session_id is not None
        stays = named and (owned or sandbox.capabilities.resume)
        kept = held.pop_all()
        complete = partial(_completed, setup, options, kept if stays else None)
        return Session(Engine(setup), CallbackDispatcher(listeners), complete, kept.aclose)


def _gateway_of(config: AgentConfig) -> tuple[ModelGateway, str]:
    model = config.model
    if isinstance(model, str):
        return load_gateway(model, config.credentials), model
    return model, str(getattr(model, "name", type(model).__name__))


async def _conversation(options: CheckedRun, sandbox: Sandbox) -> tuple[MessageLog, str]:
    """Return the log to go on with and the prompt as it is sent; a thread, if any, is the memory."""
    thread, prompt = options.thread, options.prompt
    if thread is None:
        return await _session_log(options, sandbox), prompt
    if thread.log is not None:
        return valid_log(thread.log), prompt
    return MessageLog(), replay_prompt(thread.messages, prompt)


async def _session_log(options: CheckedRun, sandbox: Sandbox) -> MessageLog:
    earlier = None if options.session_id is None else await load_session(sandbox, options.session_id)
    return MessageLog() if earlier is None else valid_log(earlier)


def _completed(
    setup: EngineSetup, options: CheckedRun, stays: AsyncExitStack | None, engine: Engine
) -> RunResult[Any]:
    """Return the result of a finished run, its thread extended.

    Args:
        setup: Of the run.
        options: Of the run.
        stays: What the run holds, where the state of the session outlives it in its sandbox.
        engine: Which is done.
    """
    submission = setup.submission
    data = None if submission is None else submission.value
    if options.thread is not None:
        recorded = None if submission is None else _recordable(submission)
        has_data = submission is not None
        options.thread.record(setup.prompt, engine.text, engine.messages, data=recorded, has_data=has_data)
    if stays is not None:
        stays.push_async_callback(_saved, setup, engine)
    return RunResult(
        data=data,
        text=engine.text,
        files=engine.files,
        finish_reason=engine.finish_reason,
        session_id=setup.names.session_id,
        usage=engine.usage,
    )


async def _saved(setup: EngineSetup, engine: Engine) -> None:
    """Keep the session for a later run; where that fails, the next one starts afresh and this one stands."""
    with suppress(Exception):
        await save_session(setup.workspace.sandbox, setup.names.session_id, engine.messages)


def _recordable(submission: Submission) -> Any:
    """Return the result as JSON: a validator may have made anything of what the model wrote."""
    if isinstance(submission.value, Iterator):  # looking at it would use it up
        return submission.submitted
    try:
        return plain(submission.value)
    except Exception:
        return submission.submitted
