"""The one exception tree of the package (API 11)."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .usage import RunUsage


class RuncellError(Exception):
    """Base class of every error that the package raises on purpose.

    Attributes:
        cause: What led to this error: any object, untouched. Also `__cause__` when it is an exception.
        usage: Tokens and cost of the run that failed; None when no session had started.
    """

    def __init__(self, message: str, *, cause: object = None, usage: RunUsage | None = None) -> None:
        super().__init__(message)
        self.cause = cause
        self.usage = usage
        if isinstance(cause, BaseException):
            self.__cause__ = cause


class InvalidOptionError(RuncellError):
    """An argument is wrong; nothing was started.

    Attributes:
        kind: For tool content 'shape' or 'limit' (FACTS 6.9); None elsewhere.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str | None = None,
        cause: object = None,
        usage: RunUsage | None = None,
    ) -> None:
        super().__init__(message, cause=cause, usage=usage)
        self.kind = kind


class IncompleteResultError(RuncellError):
    """The repair budget is spent and no valid result was submitted."""


class TurnError(RuncellError):
    """A run failed or was cancelled after its session had started."""


class LimitExceededError(TurnError):
    """A limit of `RunLimits` was reached."""


class CredentialError(RuncellError):
    """A key is missing or the source of credentials is refused."""


class ExtensionError(RuncellError):
    """An extension failed, or registered a name that is taken."""


class RuncellNotImplementedError(RuncellError, NotImplementedError):
    """A feature that this backend or this version does not have."""


def message_of(error: object) -> str:
    """Return the text of any thrown object, never raising and never empty (FACTS 10.3)."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return text or f"{type(error).__name__} without a message"


def repr_of(value: object) -> str:
    """Return the repr of any object for a sentence: short, and never raising."""
    shown = reprlib.Repr()
    shown.maxstring = shown.maxother = 200
    return shown.repr(value)
