"""When a failed request is tried again, and after how long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from .request_error import ModelRequestError

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, RetryCallState

ATTEMPTS = 4
LONGEST_RETRY_AFTER = 60.0
"""Seconds; a provider that asks for more is told to the person at once instead of slept through."""

RETRYABLE_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


def retrying(patience: float | None, before_sleep: Callable[[RetryCallState], None]) -> AsyncRetrying:
    """Return a policy whose loop does not sleep itself.

    Whoever iterates it tells the person about the pause first and then waits; `before_sleep` gets the
    state with the pause in `upcoming_sleep`.

    Args:
        patience: Seconds left for all pauses together; None for no limit.
        before_sleep: Called before each pause.
    """
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, stop_before_delay

    stop = stop_after_attempt(ATTEMPTS)
    return AsyncRetrying(
        retry=retry_if_exception(_worth_another_attempt),
        wait=_pause,
        stop=stop if patience is None else stop | stop_before_delay(patience),
        sleep=_no_sleep,
        before_sleep=before_sleep,
        reraise=True,
    )


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that a response asks to wait.

    Args:
        headers: Response headers; their names are compared without case.
        now: The current time, aware; for dates in `Retry-After`.

    Returns:
        Seconds, never below 0; None when the response does not say.
    """
    lowered = {name.lower(): value for name, value in headers.items()}
    milliseconds = _number(lowered.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    value = lowered.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return None if seconds is None else max(0.0, seconds)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if number < float("inf") else None


def _worth_another_attempt(error: BaseException) -> bool:
    if not isinstance(error, ModelRequestError) or not error.retryable:
        return False
    return error.retry_after is None or error.retry_after <= LONGEST_RETRY_AFTER


def _pause(state: RetryCallState) -> float:
    """Wait as long as asked, else longer each time; a random part keeps parallel runs apart."""
    from tenacity import wait_exponential, wait_random

    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ModelRequestError) else None
    if asked is not None:
        return asked + wait_random(0, 0.25)(state)
    return (wait_exponential(multiplier=0.5, max=8) + wait_random(0, 0.5))(state)


async def _no_sleep(seconds: float) -> None:
    """Leave the pause to the loop that told about it."""
