"""What a run did, collected for a test to look at."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from runcell_nb.core.agent import Agent
from runcell_nb.core.events import (
    FileChangeEvent,
    RequestFinishedEvent,
    RunEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from runcell_nb.core.result import RunResult
from runcell_nb.core.sync_bridge import run_blocking


@dataclass(frozen=True, slots=True)
class ObservedCall:
    """A tool call.

    Attributes:
        name: Of the tool.
        input: Its arguments, as events show them.
        output: What came back; None when it has none.
        is_error: Whether the model read a failing result.
    """

    name: str
    input: Any
    output: Any = None
    is_error: bool = False


@dataclass(slots=True)
class Observed:
    """A run that is over.

    Attributes:
        result: Of the run.
        events: All of them, in order.
        calls: The tool calls, in the order in which they were made.
        changes: What happened to each file in the end: 'create', 'modify' or 'delete', by path.
        requests: How many requests were made of the model.
    """

    result: RunResult[Any]
    events: list[RunEvent] = field(default_factory=list)
    calls: list[ObservedCall] = field(default_factory=list)
    changes: dict[str, str] = field(default_factory=dict)
    requests: int = 0

    @property
    def unpriced_tokens(self) -> int:
        """Tokens whose cost is not known: neither priced, nor replayed, nor of a model on this machine."""
        usages = [event.usage for event in self.events if isinstance(event, RequestFinishedEvent)]
        return sum(
            usage.total_tokens
            for usage in usages
            if usage.source not in ("replayed", "local") and not (usage.priced and usage.cost_usd > 0)
        )


async def observe(agent: Agent, prompt: str, **options: Any) -> Observed:
    """Run an agent and collect what it does.

    Args:
        agent: That runs.
        prompt: As `Agent.run` takes it.
        **options: Of the run.

    Raises:
        RuncellError: What the run raises.
    """
    run = agent.stream(prompt, **options)
    events: list[RunEvent] = []

    async def collect() -> None:
        async for event in run.events():
            events.append(event)

    collecting = asyncio.ensure_future(collect())
    try:
        result = await run.result()
    finally:
        await asyncio.wait({collecting})
    return _observed(result, events)


def observe_sync(agent: Agent, prompt: str, **options: Any) -> Observed:
    """Do the same where nothing can be awaited; as `observe`."""
    return run_blocking(lambda: observe(agent, prompt, **options))


def _observed(result: RunResult[Any], events: list[RunEvent]) -> Observed:
    seen = Observed(result, events)
    results = {event.id: event for event in events if isinstance(event, ToolResultEvent)}
    for event in events:
        if isinstance(event, ToolCallEvent):
            done = results.get(event.id)
            seen.calls.append(
                ObservedCall(event.name, event.input)
                if done is None
                else ObservedCall(event.name, event.input, done.output, done.is_error)
            )
        elif isinstance(event, FileChangeEvent):
            seen.changes[event.path] = event.change  # folded over the run
        elif isinstance(event, RequestFinishedEvent):
            seen.requests += 1
    return seen
