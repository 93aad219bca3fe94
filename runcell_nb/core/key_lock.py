"""A lock for tasks of several event loops: a notebook's magics block one loop and work on another."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass

from .errors import InvalidOptionError
from .sync_bridge import waits_for_us


@dataclass(frozen=True, slots=True, eq=False)
class _Claim:
    """A task that holds the lock or waits for it; `turn` is done when it may stop waiting."""

    task: asyncio.Task[object] | None
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Future[None]


class KeyLock:
    """One holder at a time, in call order, whatever event loops they are on; no loop is ever blocked.

    What would wait for ever is refused: re-entry by the holder, and a wait for a task whose event loop
    stands still until this one is done.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()  # held for a few statements, never over an await
        self._holder: _Claim | None = None
        self._line: deque[_Claim] = deque()

    async def acquire(self, key: str) -> None:
        """Wait for the lock.

        Args:
            key: Names the lock in errors.

        Raises:
            InvalidOptionError: The task has it already, or would wait for itself by way of another loop.
        """
        loop = asyncio.get_running_loop()
        claim = _Claim(asyncio.current_task(), loop, loop.create_future())
        with self._guard:
            self._refuse_endless(claim, key)
            if self._holder is None:
                self._holder = claim
                return
            self._line.append(claim)
        try:
            await claim.turn
        except BaseException:
            self._withdraw(claim)
            raise

    def release(self) -> None:
        """Let the next in line have the lock."""
        with self._guard:
            self._pass_on()

    def _refuse_endless(self, claim: _Claim, key: str) -> None:
        ahead = [*self._line, *([self._holder] if self._holder else [])]
        if any(other.task is claim.task for other in ahead):
            raise InvalidOptionError(f"lock({key!r}) is already held by this task; release it first.")
        if any(waits_for_us(other.loop) for other in ahead):
            raise InvalidOptionError(
                f"The sandbox's {key} are in use by a run that goes on only when this call is over; "
                "try again when that run has ended."
            )

    def _withdraw(self, claim: _Claim) -> None:
        """Leave the line; who was given the lock in the same moment passes it on."""
        with self._guard:
            if self._holder is claim:
                self._pass_on()
            elif claim in self._line:
                self._line.remove(claim)

    def _pass_on(self) -> None:
        self._holder = None
        while self._line and self._holder is None:
            claim = self._line.popleft()
            try:
                claim.loop.call_soon_threadsafe(_wake, claim.turn)
            except RuntimeError:  # its loop is closed, and it with it
                continue
            self._holder = claim


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
