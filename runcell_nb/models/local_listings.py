"""How each kind of model server lists its models, as its documentation says (2026).

Every reader is lenient: anything may listen on these ports. What lacks the marks of its kind has no models.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .local_addresses import LLAMA_CPP, LM_STUDIO, OLLAMA, VLLM


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A chat model on a server.

    Attributes:
        name: `provider/id`, which `create_agent` takes.
        context_window: Tokens of prompt and answer together; None when the server does not say.
        loaded: Whether it is in memory, so that it answers at once; None when the server does not say.
        calls_tools: None when the server does not say.
    """

    name: str
    context_window: int | None = None
    loaded: bool | None = None
    calls_tools: bool | None = None


class Ask(Protocol):
    """Asks one server."""

    async def __call__(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Return the JSON that the server gives, or that answers a body; None for anything else."""


class Reader(Protocol):
    """Reads the models of one kind of server."""

    def __call__(self, ask: Ask) -> Awaitable[Sequence[LocalModel]]:
        """Return its chat models; none when it is no server of that kind."""


async def _ollama(ask: Ask) -> Sequence[LocalModel]:
    """Read what Ollama has on this machine: what it only passes on to its cloud has a remote host."""
    rows = [row for row in _rows(await ask("/api/tags"), "models") if _is_name(row.get("name"))]
    here = [row for row in rows if row.get("digest") and not row.get("remote_host")]
    details = await asyncio.gather(*(ask("/api/show", {"model": row["name"]}) for row in here))
    models = (_ollama_model(row, detail) for row, detail in zip(here, details, strict=True))
    return [model for model in models if model is not None]


def _ollama_model(row: dict[str, Any], detail: Any) -> LocalModel | None:
    name = f"{OLLAMA.provider}/{row['name']}"
    capabilities = _dict(detail).get("capabilities")
    if not isinstance(capabilities, list):  # an old server, or one that did not say in time
        is_embedding = "bert" in str(_dict(row.get("details")).get("family"))
        return None if is_embedding else LocalModel(name)
    if _lacks_completion(capabilities):
        return None
    info = _dict(detail["model_info"]) if "model_info" in detail else {}
    window = _count(info.get(f"{info.get('general.architecture')}.context_length"))
    return LocalModel(name, window, None, "tools" in capabilities)


async def _lm_studio(ask: Ask) -> Sequence[LocalModel]:
    """Read its own API: the one like OpenAI's does not tell embedding models from others."""
    rows = _rows(await ask("/api/v1/models"), "models")
    if not rows:  # before version 0.4
        rows = _rows(await ask("/api/v0/models"), "data")
    models = [row for row in rows if row.get("type") in ("llm", "vlm")]
    return [_lm_studio_model(row) for row in models if _is_name(row.get("key") or row.get("id"))]


def _lm_studio_model(row: dict[str, Any]) -> LocalModel:
    instances = _rows(row, "loaded_instances")
    window = _count(_dict(instances[0].get("config")).get("context_length")) if instances else None
    window = window or _count(row.get("loaded_context_length")) or _count(row.get("max_context_length"))
    loaded = bool(instances) or row.get("state") == "loaded"
    return LocalModel(f"{LM_STUDIO.provider}/{row.get('key') or row['id']}", window, loaded)


async def _llama_cpp(ask: Ask) -> Sequence[LocalModel]:
    reply = await ask("/v1/models")
    rows = _owned_by("llamacpp", reply)
    if not rows:
        return []
    settings = _dict(_dict(await ask("/props")).get("default_generation_settings"))
    silent = [row.get("name") for row in _rows(reply, "models") if _lacks_completion(row.get("capabilities"))]
    window = _count(settings.get("n_ctx"))
    return [_llama_cpp_model(row, window) for row in rows if row["id"] not in silent]


def _llama_cpp_model(row: dict[str, Any], window: int | None) -> LocalModel:
    """Return one model; only a server that has several says which of them are loaded."""
    state = _dict(row.get("status")).get("value")
    window = window or _count(_dict(row.get("meta")).get("n_ctx_train"))
    return LocalModel(f"{LLAMA_CPP.provider}/{row['id']}", window, state == "loaded" if state else None)


async def _vllm(ask: Ask) -> Sequence[LocalModel]:
    rows = _owned_by("vllm", await ask("/v1/models"))
    return [LocalModel(f"{VLLM.provider}/{row['id']}", _count(row.get("max_model_len"))) for row in rows]


READERS: Mapping[str, Reader] = {
    OLLAMA.provider: _ollama,
    LM_STUDIO.provider: _lm_studio,
    LLAMA_CPP.provider: _llama_cpp,
    VLLM.provider: _vllm,
}
"""By the provider of `LocalKind`."""


def _lacks_completion(capabilities: Any) -> bool:
    """Return whether capabilities are told and do not include chat, as those of embedding models."""
    return isinstance(capabilities, list) and "completion" not in capabilities


def _owned_by(owner: str, reply: Any) -> list[dict[str, Any]]:
    """Return the rows of a list like OpenAI's that name who serves them."""
    return [row for row in _rows(reply, "data") if row.get("owned_by") == owner and _is_name(row.get("id"))]


def _rows(reply: Any, field: str) -> list[dict[str, Any]]:
    return [row for row in _list(reply, field) if isinstance(row, dict)]


def _list(reply: Any, field: str) -> list[Any]:
    value = _dict(reply).get(field)
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_name(value: Any) -> bool:
    """Return whether a name can be shown and typed; it comes from whoever listens on the port."""
    return isinstance(value, str) and bool(value) and value.isprintable()


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
