"""HTTP connections of litellm, closed with the event loop that they belong to.

litellm keeps a client for each loop and never closes it, so every `asyncio.run` would leave open sockets
behind. For Anthropic and Gemini it has one client for all loops, whose connections break when a second loop
uses it.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncGenerator
from typing import Any

_SHARES_ONE_CLIENT = frozenset({"anthropic", "gemini", "vertex_ai"})
_ROUNDS_TO_CLOSE_SOCKETS = 3

_open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[Any, None]]] = (
    weakref.WeakKeyDictionary()
)


async def http_arguments(litellm: Any, provider: str) -> dict[str, Any]:
    """Return the keywords that keep a call on the connections of the running loop.

    Args:
        litellm: The module.
        provider: Who is called.
    """
    loop = asyncio.get_running_loop()
    if loop not in _open:
        keeper = _keep_open(litellm, loop)
        _open[loop] = (await anext(keeper), keeper)
    return {"client": _open[loop][0]} if provider in _SHARES_ONE_CLIENT else {}


async def _keep_open(litellm: Any, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[Any, None]:
    """Yield a client and hold it open: a loop that shuts down closes its async generators."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    client: Any = AsyncHTTPHandler()
    try:
        yield client
    finally:
        _open.pop(loop, None)  # its value holds the loop, which would never be freed
        await client.close()
        await _close_cached(litellm)
        for _ in range(_ROUNDS_TO_CLOSE_SOCKETS):  # transports close in later rounds of the loop
            await asyncio.sleep(0)


async def _close_cached(litellm: Any) -> None:
    """Close what litellm cached for the running loop; its name ends the cache keys."""
    cache = litellm.in_memory_llm_clients_cache
    suffix = cache.update_cache_key_with_event_loop("")
    for key in [key for key in cache.cache_dict if key.endswith(suffix)]:
        client = cache.cache_dict[key]
        cache.delete_cache(key)
        await client.close()
