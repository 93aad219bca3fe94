"""The one place where a backend is chosen by name; it is imported only when used."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, cast

from .credentials import ENV_CREDENTIALS, CredentialPlan
from .errors import RuncellNotImplementedError
from .gateway import ModelGateway

_SANDBOXES = {"virtual": "runcell_nb.sandboxes.virtual:VirtualProvider"}

_GATEWAYS = {"local/demo": "runcell_nb.models.demo:DemoModel"}
_OTHER_MODELS = "runcell_nb.models.litellm_gateway:gateway_with"


def load_sandbox_provider(kind: str) -> Any:
    """Return the class that makes sandboxes of a kind.

    Raises:
        RuncellNotImplementedError: This version does not have it.
    """
    if kind not in _SANDBOXES:
        raise RuncellNotImplementedError(
            f"Sandboxes of type {kind!r} are not in this version yet; use 'virtual' or a custom provider."
        )
    return _load(_SANDBOXES[kind])


def load_gateway(model_id: str, credentials: CredentialPlan = ENV_CREDENTIALS) -> ModelGateway:
    """Return the gateway that answers for a model.

    With keys from the environment there is one a process. Otherwise it is the caller's own, so that no
    other agent can use its keys and nothing outlives it; it is cheap to make.

    Args:
        model_id: As the user gave it; it may still be unknown to the gateway.
        credentials: Where its keys come from.

    Raises:
        CredentialError: The keys are said to be where nothing can be.
    """
    if model_id in _GATEWAYS:
        return _without_keys(_GATEWAYS[model_id])
    if credentials == ENV_CREDENTIALS:
        return _with_environment()
    return cast(ModelGateway, _load(_OTHER_MODELS)(credentials))


@cache
def _without_keys(target: str) -> ModelGateway:
    return cast(ModelGateway, _load(target)())


@cache
def _with_environment() -> ModelGateway:
    return cast(ModelGateway, _load(_OTHER_MODELS)(ENV_CREDENTIALS))


def _load(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)
