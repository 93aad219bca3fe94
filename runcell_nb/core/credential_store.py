"""Keys in a store that several processes share (API 7, FACTS 15.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

from .errors import CredentialError

T = TypeVar("T")

Blob = Mapping[str, Any]
"""Provider -> entry, as in pi's `auth.json`: `{"type": "api_key", "key": …}` or
`{"type": "oauth", "access": …, "refresh": …, "expires": …}`; JSON values only."""


@runtime_checkable
class CredentialStore(Protocol):
    """Holds blobs of credentials under names, with a lock for each name."""

    async def with_lock(self, key: str, fn: Callable[[Blob | None], tuple[T, Blob | None]]) -> T:
        """Call a function on a blob while nobody else can.

        Callers wait for each other in a queue; none fails because another one is at work.

        Args:
            key: Name of the blob.
            fn: A plain function, not async: gets the current blob, None when there is none, and returns
                `(result, next)`. `next` is written in place of the current blob; None writes nothing.

        Returns:
            The result of `fn`.
        """
        ...


class AuthStore:
    """The entries of one blob. Each operation takes the store's lock once; other entries stay as they are.

    Args:
        store: Who holds the blob.
        key: Its name there.
    """

    def __init__(self, store: CredentialStore, key: str) -> None:
        self._store = store
        self._key = key

    async def entries(self) -> Blob | None:
        """Return all entries; None when the store has no such blob."""
        return _checked(await self._locked(lambda current: (current, None)))

    async def read(self, provider: str) -> Any:
        """Return the entry of a provider, or None."""
        return await self._locked(lambda current: ((current or {}).get(provider), None))

    async def modify(self, provider: str, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        """Put an entry in the place of that of a provider, and return it."""
        return await self._locked(lambda current: (entry, {**(current or {}), provider: entry}))

    async def delete(self, provider: str) -> None:
        """Remove the entry of a provider; nothing is written when there is none."""

        def without(current: Blob | None) -> tuple[None, Blob | None]:
            if current is None or provider not in current:
                return None, None
            return None, {name: entry for name, entry in current.items() if name != provider}

        await self._locked(without)

    async def list(self) -> list[dict[str, Any]]:
        """Return `{"providerId", "type"}` of each entry, without its secrets."""
        return await self._locked(
            lambda current: (
                [
                    {"providerId": name, "type": entry.get("type") if isinstance(entry, Mapping) else None}
                    for name, entry in (current or {}).items()
                ],
                None,
            )
        )

    async def _locked(self, fn: Callable[[Blob | None], tuple[T, Blob | None]]) -> T:
        try:
            return await self._store.with_lock(self._key, lambda current: fn(_checked(current)))
        except CredentialError:
            raise
        except Exception as error:
            raise CredentialError(
                f"The shared credential store failed with {type(error).__name__}; see the cause.", cause=error
            ) from error


def _checked(blob: Any) -> Blob | None:
    if blob is None or isinstance(blob, Mapping):
        return blob
    raise CredentialError(
        f"The shared credential store holds a {type(blob).__name__} instead of a mapping of providers to "
        "entries; write one there."
    )
