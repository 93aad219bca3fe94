"""The error of a request that a provider or the network failed."""

from __future__ import annotations

from runcell_nb.core.gateway import ContextOverflowError


class ModelRequestError(Exception):
    """A request to a model failed; the message is one sentence for a person, without secrets.

    The provider's own exception is not kept: it holds the request, and the request holds the key.

    Attributes:
        status: HTTP status; None when there was no HTTP answer or a broken one.
        retry_after: Seconds that the provider asked to wait; None when it did not say.
        retryable: Whether the same request may succeed a little later.
        detail: What the provider or the network said, keys removed; may be empty.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        retryable: bool = False,
        detail: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.retryable = retryable
        self.detail = detail


class PromptTooLongError(ModelRequestError, ContextOverflowError):
    """The conversation does not fit the model's context window; the same request never will."""
