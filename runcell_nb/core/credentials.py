"""Where the keys of a run come from (API 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .errors import CredentialError, RuncellNotImplementedError

_LATER = ("local", "api_keys", "apiKeys", "agent_dir", "agentDir", "shared")


@dataclass(frozen=True, slots=True)
class CredentialPlan:
    """A checked `credentials` option.

    Attributes:
        mode: Which source is used.
    """

    mode: Literal["env"]


ENV_CREDENTIALS = CredentialPlan("env")
"""Keys are read from the environment at run time."""


def normalize_credentials(credentials: Any = "env", env_name: str | None = None) -> CredentialPlan:
    """Check a `credentials` option.

    Args:
        credentials: `"env"` or `{"type": "env"}`: keys are read from the environment at run time.
        env_name: Name of the deployment environment, such as 'production'.

    Raises:
        CredentialError: An unknown type, or keys of a developer's machine in production.
        RuncellNotImplementedError: A source that this version does not have.
    """
    kind = credentials.get("type") if isinstance(credentials, Mapping) else credentials
    if kind == "env":
        return ENV_CREDENTIALS
    if kind == "local" and env_name == "production" and not _allows_production(credentials):
        raise CredentialError(
            "credentials='local' are refused in production; pass allow_in_production=True or use 'env'."
        )
    if kind in _LATER:
        raise RuncellNotImplementedError(
            f"credentials of type {kind!r} are not available in this version; use 'env'."
        )
    raise CredentialError(f"Unknown credentials type {kind!r}; use 'env'.")


def _allows_production(credentials: Any) -> bool:
    allowed = isinstance(credentials, Mapping) and credentials.get(
        "allow_in_production", credentials.get("allowInProduction")
    )
    return allowed is True
