"""litellm's exceptions as one clear sentence each, without keys."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .overflow import is_overflow
from .providers import Access, is_loopback
from .redact import redact
from .request_error import ModelRequestError, PromptTooLongError
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
_NOT_INSTALLED = re.compile(r"No module named '(\w+)")
_QUOTA = re.compile(
    r"insufficient_quota|billing_hard_limit|credit balance is too low|quotaId\W+\w*PerDay", re.IGNORECASE
)
_RETRY_DELAY = re.compile(r"retryDelay\W+(\d+(?:\.\d+)?)s")  # Gemini's, in the body
_CODE = re.compile(r"\bcode\W+(5\d\d)\b")

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


def failure_of(
    error: BaseException, model: str, access: Access, begun: bool, told: bool = False
) -> ModelRequestError:
    """Return the error to raise for one of litellm's.

    Args:
        error: What litellm raised. It is read, not kept: it holds the request with its key.
        model: `provider/id`, for the message.
        access: How the provider was reached; its key is removed from every text.
        begun: Whether the response had begun, so that the provider had been reached.
        told: Whether deltas of it were passed on, after which it cannot be that the request was too long.
    """
    cause = getattr(error, "original_exception", None) or error
    body = getattr(cause, "body", None)
    raw = f"{_text(error)} {body or ''}"
    quota = bool(_QUOTA.search(raw))
    pause = _pause(raw, error, cause)
    # LM Studio's errors are a bare string, which litellm leaves out of its own text.
    detail = _detail(body if isinstance(body, str) and body else _text(cause), [access.api_key or ""])
    reached = begun or not _NOT_REACHED.search(detail)
    status = _status(cause, raw) if reached else None  # litellm gives 500 to an address where nobody answers
    said = f" ({detail})" if detail else ""
    if not quota and not told and (is_overflow(raw, status) or _is_overflow_by_litellm(error)):
        return _too_long(model, status, said, detail)
    head = _head(status, model, quota, begun, reached)
    advice = _advice(status, access, quota, reached, detail)
    wait = f"; it asks to wait {pause:g} s" if pause and not quota else ""
    return ModelRequestError(
        f"{head}{said}{wait}. {advice}",
        status=status,
        retry_after=pause,
        retryable=not quota and _may_pass(status, detail),
        detail=detail,
    )


def _too_long(model: str, status: int | None, said: str, detail: str) -> PromptTooLongError:
    answered = f", which answered {status}" if status else ""
    return PromptTooLongError(
        f"The conversation is too long for {model!r}{answered}{said}. "
        "Start a new thread, or use a model with a larger context window.",
        status=status,
        detail=detail,
    )


def _is_overflow_by_litellm(error: BaseException) -> bool:
    return type(error).__name__ == "ContextWindowExceededError"


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


def _may_pass(status: int | None, detail: str) -> bool:
    return status in RETRYABLE_STATUS if status else not _NOT_INSTALLED.search(detail)


def _advice(status: int | None, access: Access, quota: bool, reached: bool, detail: str) -> str:
    if quota or status == 402:
        return "Check the billing of the account, or use another model."
    if status in (401, 403):
        return f"Check the key in {access.key_variable}."
    if status == 404:
        return "Check the name of the model."
    if not reached:
        local = is_loopback(access.base_url)
        return "Check that the server runs." if local else "Check the network and the base URL."
    absent = _NOT_INSTALLED.search(detail) if status is None else None
    if absent:
        return f"Its provider needs the package that has the module {absent[1]!r}: install it."
    if status is None or status in RETRYABLE_STATUS:
        return "Run it again a little later, or use another model."
    return "Change the request, or use another model."


def _status(error: BaseException, raw: str) -> int | None:
    """Return the HTTP status; litellm gives 500 to what never had one, and to every one above it."""
    if type(error).__name__ in ("APIConnectionError", "MidStreamFallbackError"):
        return None
    status = getattr(error, "status_code", None)
    if not isinstance(status, int) or not 400 <= status < 600:
        return None
    code = _CODE.search(raw) if status == 500 else None
    return int(code[1]) if code else status


def _pause(raw: str, *errors: BaseException) -> float | None:
    """Return the seconds that the provider asks to wait, in a header or in the body."""
    asked = (retry_after(headers) for headers in _headers(*errors))
    pause = next((seconds for seconds in asked if seconds is not None), None)
    delay = _RETRY_DELAY.search(raw) if pause is None else None
    return float(delay[1]) if delay else pause


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
    text = _plain(_HINT.sub("", _PREFIX.sub("", text)).strip())
    text = " ".join(redact(_message_in(text) or text, secrets).split()).rstrip(".")
    return text if len(text) <= _LONGEST_DETAIL else text[:_LONGEST_DETAIL] + "…"


def _plain(text: str) -> str:
    """Return the text of a body that litellm printed as Python prints bytes."""
    if not text.startswith(("b'", 'b"')):
        return text
    try:
        return str(ast.literal_eval(text).decode())
    except (ValueError, SyntaxError):
        return text


def _message_in(text: str) -> str | None:
    """Return the message in a JSON error body, or None."""
    try:
        body: Any = json.JSONDecoder().raw_decode(text, text.index("{"))[0]
    except ValueError:
        return None
    error = body.get("error", body)
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) and message else None
