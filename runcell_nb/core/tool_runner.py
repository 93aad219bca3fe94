"""Runs the tool calls of one response: order, concurrency, and errors that the model reads (API 4)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .builtin_tools import BUILTIN_TOOLS, BuiltinTool, ToolWorkspace
from .errors import message_of
from .gateway import ToolSpec
from .host_tools import HostTool
from .message_log import parse_arguments
from .messages import ToolCallBlock, ToolResultBlock
from .outcome import ToolFailure, ToolOutcome, text_outcome
from .recorded_results import RecordedResults
from .schemas import SchemaIssues
from .tool_results import outcome_of, outcome_of_block
from .tools import Identity, ToolContext

GIVE_UP_SECONDS = 0.4
"""How long a cancelled tool may take to end before the run goes on without it."""


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """The names of a run that tools may know."""

    run_id: str
    session_id: str
    identity: Identity | None


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A call with its outcome and how long it took, in seconds."""

    call: ToolCallBlock
    outcome: ToolOutcome
    duration: float


class ToolRunner:
    """The tools of one run over its workspace.

    Args:
        hosts: Tools of the host, by name.
        workspace: In which all tools work.
        names: Of the run.
        results: Keeps the results of tools with `record=True`; None when nothing is recorded.
    """

    def __init__(
        self,
        hosts: Mapping[str, HostTool],
        workspace: ToolWorkspace,
        names: RunIdentity,
        results: RecordedResults | None = None,
    ) -> None:
        self._hosts = hosts
        self._workspace = workspace
        self._names = names
        self._results = results

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model may call, in a stable order."""
        hosts = (
            ToolSpec(tool.name, tool.description, tool.schema.json_schema) for tool in self._hosts.values()
        )
        return (*(tool.spec for tool in BUILTIN_TOOLS.values()), *hosts)

    def groups(self, calls: Sequence[ToolCallBlock]) -> list[list[ToolCallBlock]]:
        """Split calls into groups that run one after the other, the calls of a group at once.

        A call that writes is a group of its own, so that what stands before it in the response has
        been done and what stands after it sees what it did.
        """
        groups: list[list[ToolCallBlock]] = []
        together = False
        for call in calls:
            serial = self._is_serial(call.name)
            if together and not serial:
                groups[-1].append(call)
            else:
                groups.append([call])
            together = not serial
        return groups

    async def run_group(self, calls: Sequence[ToolCallBlock]) -> AsyncGenerator[FinishedCall, None]:
        """Run calls at once and yield each as it finishes; leaving early stops the rest."""
        tasks = [asyncio.ensure_future(self._run(call)) for call in calls]
        try:
            for next_done in asyncio.as_completed(tasks):
                yield await self._with_unseen_changes(await next_done)
        finally:
            await _stopped(tasks)

    async def _run(self, call: ToolCallBlock) -> FinishedCall:
        started = time.monotonic()
        host = self._hosts.get(call.name)
        results = self._results if host is not None and host.record else None
        kept = None if results is None else results.kept_result(call)
        if kept is not None:
            return FinishedCall(call, outcome_of_block(kept), time.monotonic() - started)
        outcome = await self._told_outcome(call)
        if results is not None:
            block = ToolResultBlock(
                call_id=call.id, name=call.name, content=outcome.content, is_error=outcome.is_error
            )
            results.keep_result(call, block)
        return FinishedCall(call, outcome, time.monotonic() - started)

    async def _told_outcome(self, call: ToolCallBlock) -> ToolOutcome:
        """Return what a call came to; whatever fails is told to the model."""
        try:
            return await self._outcome(call)
        except ToolFailure as failure:
            return text_outcome(str(failure), is_error=True)
        except Exception as error:
            return text_outcome(f"{type(error).__name__}: {message_of(error)}", is_error=True)

    async def _outcome(self, call: ToolCallBlock) -> ToolOutcome:
        arguments = parse_arguments(call.arguments)
        if not isinstance(arguments, dict):
            raise ToolFailure(
                f"The arguments of {call.name} are not a JSON object; nothing was run. Send them again."
            )
        builtin, host = BUILTIN_TOOLS.get(call.name), self._hosts.get(call.name)
        if builtin is not None:
            return await builtin.execute(arguments, self._workspace)
        if host is None:
            known = ", ".join(spec.name for spec in self.specs)
            raise ToolFailure(f"There is no tool named {call.name!r}. The tools are: {known}.")
        return await self._host_outcome(host, call, arguments)

    async def _host_outcome(
        self, host: HostTool, call: ToolCallBlock, arguments: dict[str, Any]
    ) -> ToolOutcome:
        try:
            value = await host.schema.validate(json.dumps(arguments))
        except SchemaIssues as issues:
            raise ToolFailure(str(issues)) from issues
        return outcome_of(await host.run(value, self._context(call.id)))

    def _context(self, call_id: str) -> ToolContext:
        names = self._names
        return ToolContext(call_id, names.run_id, names.session_id, names.identity, self._workspace.sandbox)

    def _is_serial(self, name: str) -> bool:
        builtin: BuiltinTool | None = BUILTIN_TOOLS.get(name)
        return builtin is not None and builtin.serial

    async def _with_unseen_changes(self, finished: FinishedCall) -> FinishedCall:
        """A host tool can hold the sandbox and write through it: what it changed counts too."""
        if finished.call.name not in self._hosts:
            return finished
        changes = tuple(await self._workspace.watch.changes())
        return replace(finished, outcome=replace(finished.outcome, changes=changes)) if changes else finished


async def _stopped(tasks: Sequence[asyncio.Task[FinishedCall]]) -> None:
    """Cancel what still runs; a tool that does not heed that is left behind after a moment."""
    for task in tasks:
        task.cancel()
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # observed: no noise later
    await asyncio.wait(tasks, timeout=GIVE_UP_SECONDS)
