"""Requests to the litellm gateway and what came of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from runcell_nb.core.gateway import ModelDelta, ModelRequest, TextDelta, ToolSpec, UsageDelta
from runcell_nb.core.messages import Message, user_text
from runcell_nb.models.litellm_gateway import LiteLLMGateway
from runcell_nb.models.providers import Access, key_variables

from .wire_servers import WireServer

KEY = "Canary7f3e.9b1d/4c2a+8e6f=5d0b"
"""A key without a known beginning, so that only knowing it removes it, and that URLs have to escape."""
MODELS = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-sonnet-5-5"}
WEATHER = ToolSpec(
    "get_weather",
    "Tell the weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)

USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}


@dataclass(frozen=True, slots=True)
class RequestTo(ModelRequest):
    """A request that knows its server: the gateway for it has the canary key and that address."""

    base_url: str = ""


@dataclass(frozen=True, slots=True)
class CanaryAt:
    """A source of credentials with the canary key for every provider, at one address."""

    base_url: str

    async def access(self, provider: str) -> Access:
        return Access(KEY, self.base_url, key_variables(provider)[0])

    def has_base_url(self, provider: str) -> bool:
        return True


def request_to(model: str, *messages: Message, base_url: str | None = None, **more: Any) -> ModelRequest:
    """A request with the canary key to a server; with no address one that goes by the environment."""
    asked = messages or (user_text("How is the weather?"),)
    if base_url is None:
        return ModelRequest(model, "Be brief.", asked, **more)
    return RequestTo(model, "Be brief.", asked, base_url=base_url, **more)


def to(server: WireServer, model: str = MODELS["openai"], *messages: Any, **more: Any) -> ModelRequest:
    """A request with the canary key to a server on loopback."""
    suffix = "/v1" if model.startswith("openai/") else ""
    return request_to(model, *messages, base_url=server.url + suffix, **more)


async def deltas_of(request: ModelRequest) -> list[ModelDelta]:
    """What the gateway yields, without the counts on the way."""
    return [delta async for delta in stream_of(request) if not isinstance(delta, UsageDelta)]


def stream_of(request: ModelRequest) -> AsyncIterator[ModelDelta]:
    """The stream of a gateway that has the key for the request."""
    source = CanaryAt(request.base_url) if isinstance(request, RequestTo) else None
    return LiteLLMGateway(source).stream(request)


async def read_into(deltas: list[ModelDelta], stream: AsyncIterator[ModelDelta]) -> None:
    """Keep what came before an error."""
    async for delta in stream:
        deltas.append(delta)


def parts_of_key(text: str, key: str = KEY) -> list[str]:
    """The pieces of six characters of a key that a text shows."""
    return [key[at : at + 6] for at in range(len(key) - 5) if key[at : at + 6] in text]


def of_type(deltas: Sequence[ModelDelta], kind: type) -> list[Any]:
    return [delta for delta in deltas if isinstance(delta, kind)]


def text_of(deltas: Sequence[ModelDelta]) -> str:
    return "".join(delta.text for delta in of_type(deltas, TextDelta))
