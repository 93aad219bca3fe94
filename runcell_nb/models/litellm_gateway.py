"""Hosted and local models through litellm (API 13)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from contextlib import aclosing
from typing import Any

from runcell_nb.core.gateway import ModelDelta, ModelInfo, ModelRequest

from .catalogue import Entry, Target, find, litellm_entries
from .litellm_import import load, preload
from .litellm_response import Response
from .prices import price
from .providers import access_to, base_url_of, is_local


class LiteLLMGateway:
    """Answers requests with any model that litellm reaches: `provider/id`, or an id of its catalogue."""

    def __init__(self) -> None:
        self._entries: tuple[Entry, ...] = ()
        self._catalogue_size = -1

    def preload(self) -> Future[Any]:
        """Start importing litellm in the background, so that the first request need not wait for it."""
        return preload()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Answer one request.

        Args:
            request: The conversation and what the model may call.

        Yields:
            Deltas, the last of them a `FinishDelta`.

        Raises:
            InvalidOptionError: The model is unknown.
            CredentialError: A key is needed and there is none.
            ModelRequestError: The provider or the network failed.
        """
        litellm = await load()
        base_url = request.credentials.base_url if request.credentials else None
        target = self._find(litellm, request.model, base_url)
        response = Response(
            litellm, request, target, access_to(target.provider, request.credentials, os.environ)
        )
        try:
            async with aclosing(response.deltas()) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            await response.close()

    async def describe(self, name: str) -> ModelInfo:
        """Describe a model, and check that the environment has its key.

        Args:
            name: `provider/id` or an id of the catalogue.

        Raises:
            InvalidOptionError: The model is unknown: `Unknown model "…"` and up to five likely ones.
            CredentialError: Its provider needs a key and none is set.
        """
        target = self._find(await load(), name, None)
        access = access_to(target.provider, None, os.environ)
        info = target.info
        return ModelInfo(
            name=target.qualified,
            context_window=info.get("max_input_tokens") or info.get("max_tokens"),
            input_price=price(info, "input_cost_per_token"),
            output_price=price(info, "output_cost_per_token"),
            supports_images=info.get("supports_vision"),
            supports_thinking=info.get("supports_reasoning"),
            local=is_local(target.provider, access.base_url),
            note=_retirement(info),
        )

    def _find(self, litellm: Any, model: str, base_url: str | None) -> Target:
        if self._catalogue_size != len(litellm.model_cost):  # users can register models
            self._entries = litellm_entries(litellm.model_cost)
            self._catalogue_size = len(litellm.model_cost)
        return find(
            model,
            self._entries,
            lambda provider: _is_provider(litellm, provider),
            lambda provider: bool(base_url or base_url_of(provider, os.environ)),
        )


def _is_provider(litellm: Any, name: str) -> bool:
    if name in litellm.provider_list:
        return True
    try:  # some providers are only in a table of litellm's, beside that list
        return bool(litellm.get_llm_provider(model=f"{name}/any")[1] == name)
    except Exception:
        return False


def _retirement(info: Mapping[str, Any]) -> str | None:
    date, successor = info.get("deprecation_date"), info.get("successor_model")
    if not date:
        return None
    return f"Its provider ends it on {date}" + (f"; its successor is {successor}." if successor else ".")
