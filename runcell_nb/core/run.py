"""A run that is under way: its streams, its result and its cancellation (API 1, FACTS 10, 11, 19)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from .callbacks import CallbackDispatcher
from .engine import Engine
from .errors import IncompleteResultError, InvalidOptionError, RuncellError, TurnError, message_of
from .events import ErrorEvent, FileChangeEvent, RunEvent, TextEvent
from .foreign_call import is_cancelled
from .result import RunResult

T = TypeVar("T")

CLEAN_UP_SECONDS = 5.0
"""The longest a cancelled run may take to stop before it is left behind."""


@dataclass(frozen=True, slots=True)
class Session:
    """An opened run.

    Attributes:
        engine: Makes the events.
        callbacks: Are told them.
        complete: Turns the finished engine into the result.
        close: Gives back what the run held.
    """

    engine: Engine
    callbacks: CallbackDispatcher
    complete: Callable[[Engine], RunResult[Any]]
    close: Callable[[], Awaitable[None]]


_live: set[asyncio.Task[Any]] = set()
"""The runs that are under way: a loop itself keeps no task alive."""


class AgentRun(Generic[T]):
    """A run, started. It goes on whether or not anyone listens."""

    def __init__(self, open_session: Callable[[], Awaitable[Session]]) -> None:
        self._open = open_session
        self._events: list[RunEvent] = []
        self._last_change: dict[str, int] = {}
        self._listeners: set[asyncio.Event] = set()
        self._reason: object = None
        self._cancelled = False
        self._started = False
        self._callbacks: CallbackDispatcher | None = None
        self._loop = _running_loop()
        self._task: asyncio.Task[RunResult[T]] = self._loop.create_task(self._drive())
        _live.add(self._task)
        self._task.add_done_callback(self._ended)

    async def events(self) -> AsyncIterator[RunEvent]:
        """Yield the typed events from the first one on; each call is its own iterator."""
        news, position = asyncio.Event(), 0
        self._listeners.add(news)
        try:
            while True:
                while position < len(self._events):
                    position += 1
                    yield self._events[position - 1]
                if self._task.done():
                    return
                news.clear()
                await news.wait()
        finally:
            self._listeners.discard(news)

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """The pieces of the answer; a failed run's simply ends."""
        return self._texts()

    async def _texts(self) -> AsyncIterator[str]:
        async for event in self.events():
            if isinstance(event, TextEvent):
                yield event.text

    async def result(self) -> RunResult[T]:
        """Wait for the end.

        Raises:
            RuncellError: Why the run failed, its usage attached once the session had started.
            asyncio.CancelledError: The waiting task was cancelled; the run has been stopped.
        """
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError as error:
            if self._task.done():
                raise
            self._stop(error)
            await asyncio.wait({self._task}, timeout=CLEAN_UP_SECONDS)
            raise

    def cancel(self, reason: object = None) -> None:
        """Stop the run, from any thread; it fails with a `TurnError` whose cause is the reason.

        Later calls do nothing. A gateway or an async validator of your own that swallows every
        cancellation and never comes back keeps its run.

        Args:
            reason: Any object; by default a text that says so.
        """
        chosen = "the run was cancelled" if reason is None else reason
        if asyncio._get_running_loop() is self._loop:
            self._stop(chosen)
        elif not self._task.done():
            self._loop.call_soon_threadsafe(self._stop, chosen)

    @property
    def done(self) -> bool:
        """Whether the run is over."""
        return self._task.done()

    def _stop(self, reason: object) -> None:
        if not self._cancelled and not self._task.done():
            self._cancelled, self._reason = True, reason
            if self._started:  # a task cancelled before its first step would never say why
                self._task.cancel()

    def _ended(self, task: asyncio.Task[RunResult[T]]) -> None:
        _live.discard(task)
        if not task.cancelled():
            task.exception()  # observed, so that an abandoned run makes no noise
        for news in self._listeners:
            news.set()

    def _publish(self, event: RunEvent) -> None:
        if isinstance(event, FileChangeEvent):
            self._forget_content(event.path)
        self._events.append(event)
        for news in self._listeners:
            news.set()
        if self._callbacks is not None:
            self._callbacks.dispatch(event)

    def _forget_content(self, path: str) -> None:
        """Keep one version of each file: an earlier event of it loses the bytes."""
        earlier = self._last_change.get(path)
        if earlier is not None:
            event = self._events[earlier]
            assert isinstance(event, FileChangeEvent)
            self._events[earlier] = replace(event, file=None)
        self._last_change[path] = len(self._events)

    async def _drive(self) -> RunResult[T]:
        self._started = True
        if self._cancelled:
            raise TurnError(message_of(self._reason), cause=self._reason)
        session = await self._opened()
        self._callbacks = session.callbacks
        try:
            async with aclosing(session.engine.events()) as events:
                async for event in events:
                    self._publish(event)
            return session.complete(session.engine)
        except BaseException as error:
            raised = self._failure(error, session.engine)
            if raised is error:
                raise
            raise raised from raised.__cause__
        finally:
            await self._settle(session)

    async def _opened(self) -> Session:
        """Open the session; a cancellation meanwhile outranks whatever it made others raise."""
        session = None
        try:
            session = await self._open()
        except Exception:
            if not self._cancelled:
                raise
        except asyncio.CancelledError as error:
            if not is_cancelled():
                raise TurnError(message_of(error), cause=error) from error
            if not self._cancelled:
                raise
        except (SystemExit, KeyboardInterrupt) as error:  # of a gateway's or store's: it would end the loop
            raise TurnError(f"{type(error).__name__}: {message_of(error)}", cause=error) from error
        if session is not None and not self._cancelled:
            return session
        if session is not None:  # somebody swallowed the cancellation
            await self._settle(session)
        raise TurnError(message_of(self._reason), cause=self._reason)

    def _failure(self, error: BaseException, engine: Engine) -> BaseException:
        """Tell the failure as an event and return what is to be raised.

        The caller's cancellation outranks whatever it made others raise (FACTS 11.4, 11.5).
        """
        if self._cancelled:
            raised: RuncellError = TurnError(message_of(self._reason), cause=self._reason)
        elif isinstance(error, (TurnError, IncompleteResultError)) and engine.made(error):
            raised = error
        else:
            raised = TurnError(message_of(error), cause=error)
        raised.usage = engine.usage
        self._publish(ErrorEvent(raised))
        # The loop itself ends the task of a run that nobody cancelled: when it is closed.
        closing = isinstance(error, asyncio.CancelledError) and not self._cancelled and is_cancelled()
        return error if closing else raised

    async def _settle(self, session: Session) -> None:
        """Clean up within a time limit, whatever is cancelled meanwhile."""
        closing = asyncio.ensure_future(self._close(session))
        while not closing.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({closing}, timeout=2 * CLEAN_UP_SECONDS)
                break

    async def _close(self, session: Session) -> None:
        with suppress(Exception):
            await session.callbacks.join()
        with suppress(Exception):
            await session.close()


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError as error:
        message = "A run needs a running event loop; in plain code call agent.run_sync(…)."
        raise InvalidOptionError(message, cause=error) from error
