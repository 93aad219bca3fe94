"""Limits of a run that fail closed (API 10)."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from .errors import InvalidOptionError, LimitExceededError
from .gateway import ModelInfo
from .usage import RunUsage

_WHOLE = ("max_requests", "max_total_tokens")


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What a run may use.

    Attributes:
        max_cost_usd: US dollars at list price; checked before each request.
        max_total_tokens: Tokens of all buckets; checked before each request.
        max_requests: Requests to the model; checked before each request.
        max_seconds: A deadline that cancels.
        stall_seconds: The longest silence of a model before its request fails; None for no limit.
        allow_unpriced: Let a cost limit pass on a model without a price.
    """

    max_cost_usd: float | None = None
    max_total_tokens: int | None = None
    max_requests: int | None = None
    max_seconds: float | None = None
    stall_seconds: float | None = 120
    allow_unpriced: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "allow_unpriced":
                if not isinstance(value, bool):
                    raise InvalidOptionError(f"limits.allow_unpriced must be True or False, got {value!r}.")
            elif value is not None and not _is_positive(value):
                raise InvalidOptionError(f"limits.{field.name} must be a positive number, got {value!r}.")
            elif field.name in _WHOLE and not isinstance(value, int | None):
                raise InvalidOptionError(f"limits.{field.name} must be a whole number, got {value!r}.")

    def unpriced(self, model: ModelInfo) -> LimitExceededError | None:
        """Return the error for a cost limit that could never be checked: no price, no `allow_unpriced`."""
        if (
            self.max_cost_usd is None
            or self.allow_unpriced
            or model.local
            or model.input_price
            or model.output_price
        ):
            return None
        return LimitExceededError(
            f"max_cost_usd={self.max_cost_usd!r} cannot be kept: {model.name} has no known price. "
            "Pass allow_unpriced=True to run it without a cost limit."
        )

    def overdue(self, cause: TimeoutError) -> LimitExceededError:
        """Return the error for a deadline that has passed."""
        return LimitExceededError(f"The run reached its limit max_seconds={self.max_seconds!r}.", cause=cause)

    def exceeded(self, usage: RunUsage, requests: int) -> LimitExceededError | None:
        """Return the error for a limit that is reached, which the message names; asked before each request.

        Args:
            usage: Of the run so far.
            requests: Made so far.
        """
        for name, used in (
            ("max_requests", requests),
            ("max_total_tokens", usage.total_tokens),
            ("max_cost_usd", usage.cost_usd),
        ):
            limit = getattr(self, name)
            if limit is not None and used >= limit:
                return LimitExceededError(
                    f"The run reached its limit {name}={limit!r} (used {round(used, 6)!r})."
                )
        return None


def _is_positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return value > 0 and (isinstance(value, int) or math.isfinite(value))
