"""litellm's exceptions as one clear sentence each, without keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .providers import Access, is_loopback
from .redact import redact
from .request_error import ModelRequestError
from .retry import RETRYABLE_STATUS, retry_after

_LONGEST_DETAIL = 300

_PREFIX = re.compile(
    r"^(?:litellm\.\w+: |\w+(?:Error|Exception)?: |\w+(?:Exception|Error)(?: \w+Error)? - )+"
)
_HINT = re.compile(
    r"\.? Handle with `litellm\.\w+`\.?| ssl:<[^>]*>|\s(?:Original exception: |Traceback \(most recent).*",
    re.DOTALL,
)
_NOT_REACHED = re.compile(r"Connection error|Cannot connect|Name or service|getaddrinfo|Connect call failed")
_QUOTA = re.compile(r"insufficient_quota|billing_hard_limit|credit balance is too low", re.IGNORECASE)

_MEANINGS = {
    400: "the request was not accepted",
    401: "the key was not accepted",
    402: "the account has no credit",
    403: "the key has no permission for this",
    404: "the model or address does not exist",
    408: "no answer came in time",
    413: "the request is too large",
    422: "the request was not accepted",
    429: "too many requests",
    529: "the provider is overloaded",
}


def failure_of(error: BaseException, model: str, access: Access, begun: bool) -> ModelRequestError:
    """Return the error to raise for one of litellm's.

    Args:
        error: What litellm raised. It is read, not kept: it holds the request with its key.
        model: `provider/id`, for the message.
        access: How the provider was reached; its key is removed from every text.
        begun: Whether the response had begun, so that the provider had been reached.
    """
    cause = getattr(error, "original_exception", None) or error
    status = _status(cause)
    raw = f"{_text(error)} {getattr(cause, 'body', '')}"
    quota = bool(_QUOTA.search(raw))
    pause = next(
        (seconds for seconds in map(retry_after, _headers(error, cause)) if seconds is not None), None
    )
    detail = _detail(_text(cause), [access.api_key or ""])
    reached = begun or not _NOT_REACHED.search(detail)
    status = status if reached else None  # litellm gives 500 to an address where nobody answers
    head = _head(status, model, quota, begun, reached)
    advice = _advice(status, access, quota, reached)
    said = f" ({detail})" if detail else ""
    wait = f"; it asks to wait {pause:g} s" if pause and not quota else ""
    return ModelRequestError(
        f"{head}{said}{wait}. {advice}",
        status=status,
        retry_after=pause,
        retryable=not quota and (status is None or status in RETRYABLE_STATUS),
        detail=detail,
    )


def broken_stream(model: str, what: str) -> ModelRequestError:
    """Return the error for a response that came and was no answer.

    Args:
        model: `provider/id`.
        what: What was wrong with it, after "the response of … ".
    """
    return ModelRequestError(f"The response of {model!r} {what}; run it again.", retryable=True)


def _head(status: int | None, model: str, quota: bool, begun: bool, reached: bool) -> str:
    if not reached:
        return f"{model!r} could not be reached"
    if status is None:
        return f"{model!r} broke off its response" if begun else f"The request to {model!r} failed"
    unnamed = "the provider has a problem" if status >= 500 else "the request failed"
    meaning = "the quota of the account is used up" if quota else _MEANINGS.get(status, unnamed)
    return f"{model!r} answered {status}, {meaning}"


def _advice(status: int | None, access: Access, quota: bool, reached: bool) -> str:
    if quota or status == 402:
        return "Check the billing of the account, or use another model."
    if status in (401, 403):
        return f"Check the key in {access.key_variable}."
    if status == 404:
        return "Check the name of the model."
    if not reached:
        local = is_loopback(access.base_url)
        return "Check that the server runs." if local else "Check the network and the base URL."
    if status is None or status in RETRYABLE_STATUS:
        return "Run it again a little later, or use another model."
    return "Change the request, or use another model."


def _status(error: BaseException) -> int | None:
    """Return the HTTP status; litellm gives 500 to what never had one."""
    if type(error).__name__ in ("APIConnectionError", "MidStreamFallbackError"):
        return None
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and 400 <= status < 600 else None


def _headers(*errors: BaseException) -> Iterator[Mapping[str, str]]:
    for error in errors:
        response = getattr(error, "response", None)
        for headers in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
            if headers:
                yield dict(headers)


def _text(error: BaseException) -> str:
    try:
        return str(getattr(error, "message", None) or error)
    except Exception:
        return type(error).__name__


def _detail(text: str, secrets: Iterable[str]) -> str:
    """Return what the provider said, without keys and without litellm's prefixes and JSON around it.

    Keys go while the text is still whole: of a key that the cut runs through, a part would stay.
    """
    text = _HINT.sub("", _PREFIX.sub("", text)).strip()
    start = text.find("{")
    if start >= 0:
        text = _message_in(text[start:].rstrip("'\". ")) or text
    text = " ".join(redact(text, secrets).split()).rstrip(".")
    return text if len(text) <= _LONGEST_DETAIL else text[:_LONGEST_DETAIL] + "…"


def _message_in(text: str) -> str | None:
    """Return the message in a JSON error body, or None."""
    try:
        body: Any = json.loads(text)
    except ValueError:
        return None
    error = body.get("error", body) if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) and message else None
