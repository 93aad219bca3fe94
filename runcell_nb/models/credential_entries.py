"""What an entry of stored credentials says: a key, a sign-in that holds, or why neither can be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runcell_nb.core.errors import CredentialError

from .keys import clean_key
from .providers import key_variables

_TAKES_ACCESS_TOKEN = {"anthropic": "sk-ant-oat", "xai": ""}
"""Providers to which litellm sends an access token as it must be sent, and how such a token begins.

Of Anthropic's litellm makes a bearer token with the header that Anthropic wants beside it; to xAI a key
goes as a bearer token anyway. For ChatGPT and GitHub Copilot it uses nothing but sign-ins of its own.
"""

_REFERENCES = ("!", "$", "os.environ/", "oidc/")
"""How pi and litellm write where a key is to be fetched from: from a command, a variable, a service."""

_LARGEST_SECONDS = 100_000_000_000
"""As seconds the year 5138, as milliseconds 1973: an `expires` below it can only be in seconds."""


def entry_of(provider: str, entries: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return name and value of the entry of a provider, or None.

    Names go by the variable that they stand for (FACTS 15.6), so that `vercel-ai-gateway` is litellm's
    `vercel_ai_gateway` and `google` its `gemini`.

    Args:
        provider: litellm's name of it.
        entries: Provider -> entry.
    """
    if provider in entries:
        return provider, entries[provider]
    for variable in key_variables(provider):
        for name, entry in entries.items():
            if isinstance(name, str) and key_variables(name)[0] == variable:
                return name, entry
    return None


def key_of(provider: str, entry: Any, where: str, now: float) -> str | None:
    """Return what to send as the key, or None when the entry has none.

    Args:
        provider: litellm's name of who gets it.
        entry: `{"type": "api_key", "key": …}` or `{"type": "oauth", "access": …, "expires": …}`; `expires`
            is in milliseconds since 1970, as pi writes it, or in seconds.
        where: Of the entry, for messages.
        now: The time in seconds since 1970.

    Raises:
        CredentialError: The entry cannot be used; it is never shown.
    """
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    if kind == "api_key":
        return _api_key(entry.get("key"), where)
    if kind == "oauth":
        return _access_token(provider, entry, where, now)
    raise CredentialError(f"{where} is of no known type; put {{'type': 'api_key', 'key': …}} there.")


def _api_key(key: Any, where: str) -> str | None:
    if key is None:
        return None
    if not isinstance(key, str):
        raise CredentialError(f"{where} has a key that is a {type(key).__name__}; put the key there as text.")
    key = clean_key(key, where)
    if key.startswith(_REFERENCES):
        raise CredentialError(f"{where} says where to fetch a key, which is not done; put the key there.")
    return key or None


def _access_token(provider: str, entry: Mapping[str, Any], where: str, now: float) -> str:
    start = _TAKES_ACCESS_TOKEN.get(provider)
    token, expires = entry.get("access"), entry.get("expires")
    if start is None:
        raise CredentialError(
            f"{where} is a sign-in (OAuth), which litellm cannot use for {provider!r}; put an API key there."
        )
    if expires is not None and (isinstance(expires, bool) or not isinstance(expires, (int, float))):
        raise CredentialError(f"{where} has no usable 'expires'; sign in to {provider!r} again.")
    if expires is not None and not _seconds(expires) > now:
        raise CredentialError(
            f"The sign-in of {provider!r} has expired ({where}); sign in again or put an API key there."
        )
    token = clean_key(token, where) if isinstance(token, str) else ""
    if not token or not token.startswith(start):
        raise CredentialError(f"{where} has no access token of {provider!r}; sign in again or put a key.")
    return token


def _seconds(expires: float) -> float:
    return expires if expires < _LARGEST_SECONDS else expires // 1000
