"""One request to litellm: opened, retried until its first delta, read to its end, closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any

from runcell_nb.core.gateway import FinishDelta, ModelDelta, ModelRequest, RetryDelta, UsageDelta
from runcell_nb.core.messages import ToolMessage
from runcell_nb.core.usage import RequestUsage, UsageSource

from .catalogue import Target
from .failures import broken_stream, failure_of
from .gemini_stream import SPEAKS_GEMINI, GeminiEnding
from .litellm_chunks import ChunkReader
from .litellm_connections import http_arguments
from .litellm_wire import wire_messages, wire_tools
from .prices import request_usage
from .providers import Access, is_local
from .request_error import ModelRequestError
from .retry import retrying
from .thinking import thinking_arguments

if TYPE_CHECKING:
    from tenacity import RetryCallState

_CONNECT_SECONDS = 30.0
_READ_SECONDS = 600.0  # the run's own limit on silence (API 10) comes long before

_ENDINGS_WITHOUT_CONTENT = frozenset({"length", "content-filter"})
"""Endings that say something even when nothing came before them."""

_MOST_TOKENS_OF_NOTHING = 10
"""Output tokens of an answer that is meant to be empty: its markers. More means that something was lost."""


class Response:
    """The answer to one request while it comes in."""

    def __init__(self, litellm: Any, request: ModelRequest, target: Target, access: Access) -> None:
        self._litellm = litellm
        self._request = request
        self._target = target
        self._access = access
        self._reader = ChunkReader(target.provider)
        self._stream: Any = None
        self._gemini: GeminiEnding | None = None
        self._begun = False
        self._ended = False
        self._retry: RetryDelta | None = None

    async def deltas(self) -> AsyncGenerator[ModelDelta, None]:
        """Yield everything, from the first `RetryDelta` to the `FinishDelta`.

        Raises:
            ModelRequestError: The provider or the network failed.
        """
        first: Sequence[ModelDelta] = ()
        async for attempt in retrying(self._request.patience, self._before_sleep):
            if self._retry is not None:
                yield self._retry
                await asyncio.sleep(self._retry.delay)
            with attempt:
                first = await self._attempt()
        for delta in first:
            yield delta
        failure = None
        try:
            while not self._ended:
                for delta in await self._read():
                    yield delta
        except Exception as error:
            failure = self._failure(error, told=bool(first))
        if failure is not None:  # raised in the handler, it would keep litellm's as its context
            raise failure
        usage, rest = self._usage(), tuple(self._reader.close())
        if rest:  # a run may end with one of these calls and never see the ending
            yield UsageDelta(usage)
        for delta in rest:
            yield delta
        yield FinishDelta(self._reader.finish_reason or "stop", usage)

    async def close(self) -> None:
        """Close the HTTP stream; nothing to do when it has been read to its end."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.aclose()

    async def _attempt(self) -> Sequence[ModelDelta]:
        """Open the stream and return its first deltas; none when it ended well without any."""
        try:
            self._stream = await self._litellm.acompletion(**await self._arguments())
            self._gemini = GeminiEnding.of(self._stream)
            deltas: Sequence[ModelDelta] = ()
            while not deltas and not self._ended:
                deltas = await self._read()
            return deltas
        except Exception as error:
            failure = self._failure(error)
        await self.close()
        self._reader, self._begun, self._ended = ChunkReader(self._target.provider), False, False
        raise failure

    async def _read(self) -> Sequence[ModelDelta]:
        """Return the deltas of the next chunk; past the last one, look at how the response ended.

        Past its usage a stream of litellm's only hands itself to a logging worker, which stays bound to
        the first event loop that used it: that end is left out.
        """
        chunk = await anext(self._stream, None)
        self._begun = True
        deltas = self._reader.read(chunk) if chunk is not None else ()
        if chunk is None or self._reader.complete:
            self._ended = True
            self._check_end()
        return deltas

    def _check_end(self) -> None:
        """Refuse what is no answer: litellm makes up an ending where the provider sent none."""
        reader, gemini, model = self._reader, self._gemini, self._target.qualified
        finished = _provider_finished(self._stream) if gemini is None else gemini.reason is not None
        if reader.finish_reason is None or not finished:
            raise broken_stream(model, "broke off before its end")
        if gemini is not None and gemini.failed:
            raise broken_stream(model, f"ended with {gemini.reason} instead of an answer")
        if not reader.has_content and not self._may_be_empty():
            raise broken_stream(model, "was empty")

    def _may_be_empty(self) -> bool:
        """Return whether an ending says enough with nothing before it.

        After tool results a model may have nothing to add, which Claude says with an empty answer. It is
        taken for one only when the provider itself counted what it wrote: almost nothing.
        """
        if self._reader.finish_reason in _ENDINGS_WITHOUT_CONTENT:
            return True
        return (
            self._reader.finish_reason == "stop"
            and isinstance(self._request.messages[-1], ToolMessage)
            and _provider_counted(self._stream)
            and _visible_tokens(self._reader.usage) <= _MOST_TOKENS_OF_NOTHING
        )

    def _failure(self, error: Exception, told: bool = False) -> ModelRequestError:
        if isinstance(error, ModelRequestError):
            return error
        begun = self._begun or (self._stream is not None and self._target.provider not in SPEAKS_GEMINI)
        return failure_of(error, self._target.qualified, self._access, begun, told)

    def _before_sleep(self, state: RetryCallState) -> None:
        reason = str(state.outcome.exception()) if state.outcome else ""
        self._retry = RetryDelta(state.attempt_number, state.upcoming_sleep, reason)

    def _usage(self) -> RequestUsage:
        source: UsageSource = "provider" if _provider_counted(self._stream) else "estimated"
        if is_local(self._target.provider, self._access.base_url, self._target.id):
            source = "local"
        return request_usage(self._litellm, self._target, self._reader.usage, source)

    async def _arguments(self) -> dict[str, Any]:
        """Return the keywords of the call. Key and base URL are explicit: litellm reads the environment."""
        import httpx

        request, target, access = self._request, self._target, self._access
        optional = {
            "tools": wire_tools(request.tools) or None,
            "api_key": access.api_key,
            "api_base": access.base_url,
        }
        return {
            "model": target.qualified,
            "messages": wire_messages(request.system, request.messages, target.provider),
            "stream": True,
            "stream_options": {"include_usage": True},
            "timeout": httpx.Timeout(_READ_SECONDS, connect=_CONNECT_SECONDS),
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            "no-log": True,
            # litellm appends what signs a call of Gemini's to its id, too long for any other provider.
            "thought_signature_in_tool_call_id": False,
            **thinking_arguments(request.thinking_level, target, self._litellm.model_cost, request.messages),
            **await http_arguments(self._litellm, target.provider),
            **{name: value for name, value in optional.items() if value is not None},
        }


def _provider_finished(stream: Any) -> bool:
    """Return whether the ending came from the provider; other streams than litellm's wrapper make up none."""
    if not hasattr(stream, "received_finish_reason"):
        return True
    return bool(
        stream.received_finish_reason
        or stream.intermittent_finish_reason
        or getattr(stream, "received_any_finish_reason", False)
    )


def _visible_tokens(usage: Any) -> int:
    """Return the output tokens without those of thinking, which some providers count but do not send."""
    details = getattr(usage, "completion_tokens_details", None)
    return (getattr(usage, "completion_tokens", 0) or 0) - (getattr(details, "reasoning_tokens", 0) or 0)


def _provider_counted(stream: Any) -> bool:
    """Return whether any chunk brought figures; litellm estimates them silently where none did."""
    usages = (getattr(chunk, "usage", None) for chunk in getattr(stream, "chunks", ()))
    return any(usage is not None and usage.total_tokens for usage in usages)
