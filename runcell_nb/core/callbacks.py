"""Callbacks on a run: best effort, never in its way (API 2, FACTS 7)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from .errors import InvalidOptionError
from .events import (
    ErrorEvent,
    FileChangeEvent,
    FinishEvent,
    RepairEvent,
    RunEvent,
    TextEvent,
    ToolCallEvent,
    ToolResultEvent,
)
from .foreign_call import is_cancelled

JOIN_SECONDS = 5.0
"""How long a finished run waits for its async callbacks."""


@dataclass(frozen=True, slots=True)
class AgentEvents:
    """Callbacks, all optional, sync or async. What they raise never reaches the run.

    A run waits for its async ones before it ends, so one that waits for the result of its own run
    only waits in vain, for as long as `JOIN_SECONDS`.

    Attributes:
        on_text: Each piece of the answer, as text.
        on_tool_call: `.id .name .input` of each visible call.
        on_tool_result: `.id .name .output .is_error .duration` of each visible result.
        on_file_change: The `ChangedFile`, its kind folded over the run.
        on_repair: `.attempt .reason` before each repair turn.
        on_finish: `.session_id .finish_reason`, once a turn.
        on_error: The very error that the run raises, once.
    """

    on_text: Callable[[str], Any] | None = None
    on_tool_call: Callable[[ToolCallEvent], Any] | None = None
    on_tool_result: Callable[[ToolResultEvent], Any] | None = None
    on_file_change: Callable[[Any], Any] | None = None
    on_repair: Callable[[RepairEvent], Any] | None = None
    on_finish: Callable[[FinishEvent], Any] | None = None
    on_error: Callable[[BaseException], Any] | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            callback = getattr(self, field.name)
            if callback is not None and not callable(callback):
                raise InvalidOptionError(
                    f"AgentEvents.{field.name} must be a function or None, got {callback!r}."
                )


_CALLBACK_OF: dict[type, tuple[str, Callable[[Any], Any]]] = {
    TextEvent: ("on_text", lambda event: event.text),
    ToolCallEvent: ("on_tool_call", lambda event: event),
    ToolResultEvent: ("on_tool_result", lambda event: event),
    FileChangeEvent: ("on_file_change", lambda event: event.file),
    RepairEvent: ("on_repair", lambda event: event),
    FinishEvent: ("on_finish", lambda event: event),
    ErrorEvent: ("on_error", lambda event: event.error),
}


class CallbackDispatcher:
    """Calls the listeners of a run for each event, in order, and joins the async ones at the end."""

    def __init__(self, listeners: Sequence[AgentEvents]) -> None:
        self._callbacks: dict[type, tuple[Callable[[Any], Any], list[Callable[[Any], Any]]]] = {}
        for kind, (name, payload) in _CALLBACK_OF.items():
            wanted = [callback for listener in listeners if (callback := getattr(listener, name)) is not None]
            if wanted:
                self._callbacks[kind] = (payload, wanted)
        self._pending: set[asyncio.Future[Any]] = set()

    def dispatch(self, event: RunEvent) -> None:
        """Tell an event to those who listen."""
        found = self._callbacks.get(type(event))
        if found is None or (isinstance(event, FileChangeEvent) and event.file is None):
            return
        payload, callbacks = found
        for callback in callbacks:
            self._call(callback, payload(event))

    def _call(self, callback: Callable[[Any], Any], payload: Any) -> None:
        try:
            result = callback(payload)
            if inspect.isawaitable(result):
                future = asyncio.ensure_future(_observed(result))
                self._pending.add(future)
                future.add_done_callback(self._pending.discard)
        except BaseException:  # SystemExit too: it would end the run, and the loop with it
            return  # best effort: a listener never disturbs the run

    async def join(self) -> None:
        """Wait for async callbacks, a bounded time; what is not done by then is cancelled."""
        if self._pending:
            _, late = await asyncio.wait(self._pending, timeout=JOIN_SECONDS)
            for future in late:
                future.cancel()


async def _observed(awaitable: Any) -> None:
    try:
        await awaitable
    except asyncio.CancelledError:
        if is_cancelled():
            raise
    except GeneratorExit:
        raise
    except BaseException:
        return  # observed here, so that nothing says "never retrieved"


def checked_events(events: object, option: str) -> AgentEvents | None:
    """Check an `events` option.

    Raises:
        InvalidOptionError: Not an `AgentEvents`.
    """
    if events is not None and not isinstance(events, AgentEvents):
        raise InvalidOptionError(f"{option} must be an AgentEvents, got {type(events).__name__}.")
    return events
