"""From a source of credentials to the key and address of one provider (API 7)."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from runcell_nb.core.credential_file import auth_file, read_auth_file
from runcell_nb.core.credential_store import AuthStore
from runcell_nb.core.credentials import (
    CredentialPlan,
    EnvCredentials,
    FolderCredentials,
    KeyCredentials,
    LocalCredentials,
    SharedCredentials,
)
from runcell_nb.core.errors import CredentialError

from .credential_entries import entry_of, key_of
from .provider_addresses import ADDRESSES, sent_along
from .providers import LOCAL, NO_KEY, Access, address_for, base_url_of, env_access

Entries = Mapping[str, Any]


class CredentialSource(Protocol):
    """Tells how a provider is reached. Read anew for each request; no repr of it shows a key."""

    async def access(self, provider: str) -> Access:
        """Return the key and address of a provider.

        Args:
            provider: litellm's name of it.

        Raises:
            CredentialError: There is no key that can be used; it names the provider and the source.
        """
        ...

    def has_base_url(self, provider: str) -> bool:
        """Return whether the provider is reached at a custom address, where any model may be served."""
        ...


class EnvSource:
    """The environment as it is at the time of the request."""

    async def access(self, provider: str) -> Access:
        """Return the key and address that the environment has for a provider."""
        return env_access(provider, os.environ)

    def has_base_url(self, provider: str) -> bool:
        """Return whether the environment has an address for a provider."""
        return base_url_of(provider, os.environ) is not None


class StoredSource:
    """Entries kept somewhere; nothing of the environment is used but the addresses of local servers.

    Args:
        read: Returns provider -> entry, None when there is nothing.
        place: What a person calls the source.
        remedy: What a person does to put a key there.
    """

    def __init__(self, read: Callable[[], Awaitable[Entries | None]], place: str, remedy: str) -> None:
        self._read = read
        self._place = place
        self._remedy = remedy

    async def access(self, provider: str) -> Access:
        """Return the key of an entry, and the address of its provider or of the server on this machine."""
        base_url = address_for(provider, os.environ) if provider in LOCAL else self._address(provider)
        name, key = self._key(provider, await self._read())
        variable = sent_along(provider, os.environ)
        if variable:
            raise CredentialError(
                f"{variable} is set in the environment, and litellm would let it take part in requests to "
                f"{provider!r} with the key from {self._place}; unset it, or use credentials='env'."
            )
        return Access(key, base_url, f"{self._place} under {name!r}")

    def has_base_url(self, provider: str) -> bool:
        """Return whether a local server is told to be somewhere; others are at their own address."""
        return provider in LOCAL and base_url_of(provider, os.environ) is not None

    def _address(self, provider: str) -> str:
        if provider not in ADDRESSES:
            raise CredentialError(
                f"{provider!r} works only with credentials='env': beside a key litellm reads more about it "
                f"from the environment, or signs in by itself. The key was to come from {self._place}."
            )
        return ADDRESSES[provider]

    def _key(self, provider: str, entries: Entries | None) -> tuple[str, str]:
        """Return the name of the entry and its key."""
        name, entry = entry_of(provider, entries or {}) or (provider, None)
        where = f"The entry {name!r} in {self._place}"
        key = None if entry is None else key_of(provider, entry, where, time.time())
        if key is None and provider not in LOCAL:
            absent = ", which does not exist" if entries is None else ""
            raise CredentialError(
                f"No key for {provider!r} in {self._place}{absent}: {self._remedy}, "
                "or use the model local/demo, which needs none."
            )
        return name, key or NO_KEY


def source_of(plan: CredentialPlan) -> CredentialSource:
    """Return the source that a plan means.

    Args:
        plan: A checked `credentials` option.

    Raises:
        CredentialError: The plan names a folder that cannot be.
    """
    match plan:
        case EnvCredentials():
            return EnvSource()
        case LocalCredentials(folder) | FolderCredentials(folder):
            path = auth_file(folder)
            return StoredSource(
                partial(read_auth_file, path), str(path), "sign in with pi or put an entry with a key there"
            )
        case KeyCredentials(keys):
            entries = {provider: {"type": "api_key", "key": key} for provider, key in keys.items()}
            return StoredSource(partial(_given, entries), "credentials of type 'api_keys'", "add it to keys=")
        case SharedCredentials(key, store):
            return StoredSource(
                AuthStore(store, key).entries, "the shared credential store", "put an entry with a key there"
            )


async def _given(entries: Entries) -> Entries:
    return entries
