"""Requests to the litellm gateway and what came of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from runcell_nb.core.gateway import ModelCredentials, ModelDelta, ModelRequest, TextDelta, ToolSpec
from runcell_nb.core.messages import Message, user_text
from runcell_nb.models.litellm_gateway import LiteLLMGateway

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


def request_to(model: str, *messages: Message, base_url: str | None = None, **more: Any) -> ModelRequest:
    """A request with the canary key to a server; with no address one that goes by the environment."""
    credentials = ModelCredentials(KEY, base_url) if base_url else None
    return ModelRequest(
        model, "Be brief.", messages or (user_text("How is the weather?"),), credentials=credentials, **more
    )


def to(server: WireServer, model: str = MODELS["openai"], *messages: Any, **more: Any) -> ModelRequest:
    """A request with the canary key to a server on loopback."""
    suffix = "/v1" if model.startswith("openai/") else ""
    return request_to(model, *messages, base_url=server.url + suffix, **more)


async def deltas_of(request: ModelRequest) -> list[ModelDelta]:
    """Everything that the gateway yields."""
    return [delta async for delta in LiteLLMGateway().stream(request)]


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
