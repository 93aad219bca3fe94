"""Model servers on this machine: noticed on loopback, with the models they have.

A look is bounded in time and size, follows no redirect and never fails for what a server does.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from runcell_nb.core.errors import InvalidOptionError

from .catalogue import Entry, Target, suggestions
from .local_addresses import LOCAL_KINDS, LocalKind, chosen_address, kind_of
from .local_listings import READERS, LocalModel
from .providers import Access, is_loopback, key_variables
from .request_error import ModelRequestError

LOOK_SECONDS = 0.2
"""The longest that a look takes; servers on loopback answer in a few milliseconds."""

_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model server that answers on loopback.

    Attributes:
        kind: `Ollama`, `LM Studio`, `llama.cpp` or `vLLM`.
        base_url: Where its chat API begins.
        models: In the server's order; embedding models are left out where it tells them.
    """

    kind: str
    base_url: str
    models: tuple[LocalModel, ...]


_Look = Callable[[LocalKind, str, str | None], Awaitable[LocalServer]]
"""Looks at one server: its kind, its base URL and its key."""


async def find_local_servers(
    environ: Mapping[str, str], seconds: float = LOOK_SECONDS
) -> tuple[LocalServer, ...]:
    """Look for model servers on loopback, all at once.

    Args:
        environ: The environment: variables such as `OLLAMA_HOST` say where to look instead of the default
            port. An address that is not on loopback is never asked.
        seconds: The longest that the look takes; what has not answered by then is not there.

    Returns:
        The servers that have a model, in the order of `LOCAL_KINDS`.
    """
    addresses = [(kind, _address(kind, environ)) for kind in LOCAL_KINDS]
    async with _looking(seconds) as look:
        looks = [look(kind, url, _key(kind, environ)) for kind, url in addresses if url is not None]
        found = await asyncio.gather(*looks)
    return tuple(server for server in found if server.models)


async def with_names(error: ModelRequestError, target: Target, access: Access) -> ModelRequestError:
    """Return the error for a model that a local server lacks, with the names that it has.

    Args:
        error: Of the request; returned as it is when it means something else or the server has no names.
        target: The model that was asked for.
        access: How.
    """
    kind, url = kind_of(target.provider), access.base_url
    if error.status != 404 or kind is None or url is None or not _may_be_asked(url):
        return error
    async with _looking(LOOK_SECONDS) as look:
        server = await look(kind, url, access.api_key)
    ids = [model.name.removeprefix(f"{kind.provider}/") for model in server.models]
    if not ids or target.id in ids or f"{target.id}:latest" in ids:  # something between refused
        return error
    likely = suggestions(target.qualified, [Entry(kind.provider, model_id) for model_id in ids])
    return ModelRequestError(
        f'Unknown model "{target.qualified}": {kind.label} on this machine does not have it; '
        f"did you mean {', '.join(likely)}?",
        status=error.status,
        detail=error.detail,
    )


def _address(kind: LocalKind, environ: Mapping[str, str]) -> str | None:
    """Return where to look, or None for nowhere. A variable without sense is told when its model is used."""
    with suppress(InvalidOptionError):
        url = chosen_address(kind, environ) or kind.default
        return url if _may_be_asked(url) else None
    return None


def _may_be_asked(url: str) -> bool:
    return is_loopback(url) and urlsplit(url).scheme == "http"


def _key(kind: LocalKind, environ: Mapping[str, str]) -> str | None:
    """Return the key for an address that was chosen; who listens on a default port could be anyone."""
    if chosen_address(kind, environ) is None:
        return None
    return next((environ[name].strip() for name in key_variables(kind.provider) if environ.get(name)), None)


@asynccontextmanager
async def _looking(seconds: float) -> AsyncIterator[_Look]:
    """Give what looks at one server; nothing of it goes on after the deadline."""
    httpx: Any = await asyncio.to_thread(importlib.import_module, "httpx")  # its import takes a while
    deadline = asyncio.get_running_loop().time() + seconds

    async def look(kind: LocalKind, url: str, key: str | None) -> LocalServer:
        ask = _Asker(client, deadline, url.removesuffix("/v1"), key)
        return LocalServer(kind.label, url, tuple(await READERS[kind.provider](ask)))

    async with httpx.AsyncClient(verify=False, trust_env=False, timeout=None) as client:
        yield look


@dataclass(frozen=True, slots=True)
class _Asker:
    """Asks one server until the deadline."""

    client: Any
    deadline: float
    root: str
    key: str | None

    async def __call__(self, path: str, body: dict[str, Any] | None = None) -> Any:
        import httpx

        headers = {"accept-encoding": "identity"}  # nothing that unpacks to more than it seems
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        method = "GET" if body is None else "POST"
        try:
            async with (
                asyncio.timeout_at(self.deadline),
                self.client.stream(method, self.root + path, json=body, headers=headers) as response,
            ):
                content = await _body(response) if response.status_code == 200 else b""
            return json.loads(content)
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError):
            return None


async def _body(response: Any) -> bytes:
    """Return the body; nothing of one that is too long."""
    content = bytearray()
    async for chunk in response.aiter_raw():
        content += chunk
        if len(content) > _MOST_BYTES:
            return b""
    return bytes(content)
