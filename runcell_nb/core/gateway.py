"""The seam between the engine and a model (API 13).

A gateway turns one `ModelRequest` into a stream of deltas. It neither runs tools nor keeps state
between requests. Retries before the first delta are its own; it tells them as `RetryDelta`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from .messages import Message
from .usage import RequestUsage

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
"""How much a model thinks before it answers; mapped to each provider's own control."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it.

    Attributes:
        name: Name by which the model calls it.
        description: What it does, for the model.
        parameters: JSON Schema of its arguments, always of type object; `{}` when it has none to show.
    """

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model. It holds no key: where keys come from is the gateway's own affair.

    Attributes:
        model: The model's name as the gateway knows it (the provider included).
        system: System prompt; None for none.
        messages: The conversation, valid by `message_log.valid_log`, ending with a user or tool message.
        tools: What the model may call, in a stable order.
        thinking_level: None when it is not to be sent at all.
        patience: Seconds the run has left for waiting between retries; None for no limit.
    """

    model: str
    system: str | None
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    thinking_level: ThinkingLevel | None = None
    patience: float | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's thinking.

    Attributes:
        text: May be empty when only provider data arrives.
        provider: What the provider wants back with this block (a signature, say); set on its last piece.
    """

    text: str
    provider: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolArgumentsDelta:
    """A piece of a tool call that is still being written; for display and as a sign of life only."""

    call_id: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """One finished tool call; `arguments` is JSON text exactly as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """What the request has used so far, by the provider's own count; it counts when the rest is cut."""

    usage: RequestUsage


@dataclass(frozen=True, slots=True)
class ErrorDelta:
    """Something went wrong; the rest of the stream is read all the same, and the first error counts.

    Attributes:
        error: Any object; the run fails with it as the cause, unless a valid result was handed in.
    """

    error: object


@dataclass(frozen=True, slots=True)
class RetryDelta:
    """The request failed before its first delta and is tried again after `delay` seconds."""

    attempt: int
    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class FinishDelta:
    """The end of a response; a stream without one was cut and is an error.

    Attributes:
        reason: 'stop', 'tool-calls', 'length', 'content-filter' or what else the provider says.
        usage: What the request used.
    """

    reason: str
    usage: RequestUsage


ModelDelta = (
    TextDelta
    | ReasoningDelta
    | ToolArgumentsDelta
    | ToolCallDelta
    | UsageDelta
    | ErrorDelta
    | RetryDelta
    | FinishDelta
)
"""What a gateway yields."""


class ContextOverflowError(Exception):
    """The request does not fit the model's context window.

    A gateway raises it, or an error of its own below it, before the first delta. The engine then makes
    the conversation shorter, once, and asks again.
    """


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model.

    Attributes:
        name: The name with its provider.
        context_window: Tokens of prompt and answer together; None when unknown.
        input_price: US dollars per token; None when unpriced.
        output_price: US dollars per token; None when unpriced.
        supports_images: None when unknown. It only informs: nothing is refused beforehand.
        supports_thinking: None when unknown.
        local: Runs on this machine, so that a request costs nothing.
        note: One sentence that a person should see beside the name.
    """

    name: str
    context_window: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    supports_images: bool | None = None
    supports_thinking: bool | None = None
    local: bool = False
    note: str | None = None


@runtime_checkable
class ModelGateway(Protocol):
    """What answers requests: litellm, the offline demo, a script, a recording or your own."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Answer one request; usually an async generator.

        Args:
            request: The conversation and what the model may call.

        Returns:
            Deltas, the last of them a `FinishDelta`.
        """
        ...

    async def describe(self, name: str) -> ModelInfo:
        """Describe a model.

        Args:
            name: As in `ModelRequest.model`.

        Raises:
            InvalidOptionError: The model is unknown: `Unknown model "…"` and up to five likely ones.
            CredentialError: Its provider needs a key and none is set.
        """
        ...
