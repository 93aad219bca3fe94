"""Hosted and local models through litellm (API 13)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from contextlib import aclosing
from functools import lru_cache
from typing import Any

from runcell_nb.core.credentials import CredentialPlan
from runcell_nb.core.gateway import ModelDelta, ModelInfo, ModelRequest

from .catalogue import Entry, Target, find, litellm_entries
from .credential_sources import CredentialSource, EnvSource, source_of
from .litellm_import import load, preload
from .litellm_response import Response
from .local_servers import with_names
from .prices import price
from .providers import is_local
from .request_error import ModelRequestError


class LiteLLMGateway:
    """Answers requests with any model that litellm reaches: `provider/id`, or an id of its catalogue.

    Args:
        credentials: Where keys come from; the environment by default.
    """

    def __init__(self, credentials: CredentialSource | None = None) -> None:
        self._credentials: CredentialSource = credentials or EnvSource()

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
        target = self._find(litellm, request.model)
        access = await self._credentials.access(target.provider)
        response = Response(litellm, request, target, access)
        failure = None
        try:
            async with aclosing(response.deltas()) as deltas:
                async for delta in deltas:
                    yield delta
        except ModelRequestError as error:
            failure = error
        finally:
            await response.close()
        if failure is not None:
            raise await with_names(failure, target, access)

    async def describe(self, name: str) -> ModelInfo:
        """Describe a model, and check that its key is there.

        Args:
            name: `provider/id` or an id of the catalogue.

        Raises:
            InvalidOptionError: The model is unknown: `Unknown model "…"` and up to five likely ones.
            CredentialError: Its provider needs a key and there is none.
        """
        target = self._find(await load(), name)
        access = await self._credentials.access(target.provider)
        info = target.info
        return ModelInfo(
            name=target.qualified,
            context_window=info.get("max_input_tokens") or info.get("max_tokens"),
            input_price=price(info, "input_cost_per_token"),
            output_price=price(info, "output_cost_per_token"),
            supports_images=info.get("supports_vision"),
            supports_thinking=info.get("supports_reasoning"),
            local=is_local(target.provider, access.base_url, target.id),
            note=_retirement(info),
        )

    def _find(self, litellm: Any, model: str) -> Target:
        return find(
            model,
            _catalogue(litellm, len(litellm.model_cost)),
            lambda provider: _is_provider(litellm, provider),
            self._credentials.has_base_url,
        )


def gateway_with(plan: CredentialPlan) -> LiteLLMGateway:
    """Return a gateway that uses the keys of a plan.

    Args:
        plan: A checked `credentials` option.
    """
    return LiteLLMGateway(source_of(plan))


@lru_cache(maxsize=1)
def _catalogue(litellm: Any, size: int) -> tuple[Entry, ...]:
    """Return the catalogue, one for all gateways; anew when its size says that a model was registered."""
    return litellm_entries(litellm.model_cost)


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
