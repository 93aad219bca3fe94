"""Keys and tokens out of what a notebook or a recording stores: it is mailed, pushed and published."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from .redact import redact

_SEPARATOR = "\n\x000\x00\n"
"""Between texts that are looked at together: no environment variable has a NUL, and no pattern spans one.
The digit ends the search of a pattern that looks for one further on.
"""

_MAX_CLEAN = 200_000

_PROBE = "no word of any language"
_SHORTEST = 6


def redacted_texts(texts: Iterable[str]) -> dict[str, str]:
    """Return those of the texts that hold a key or token, each with what to store instead.

    Args:
        texts: All that will be stored; one call for many texts, since each call reads the environment.
    """
    unique = _clean.unknown(texts)
    whole = _SEPARATOR.join(unique)
    clean = redact(whole)
    parts = unique if clean == whole else clean.split(_SEPARATOR)
    if len(parts) != len(unique):  # one of them has the separator inside
        parts = [redact(text) for text in unique]
    changed = {text: part for text, part in zip(unique, parts, strict=True) if text != part}
    _clean.add(text for text in unique if text not in changed)
    return changed


def known_secrets() -> list[bytes]:
    """Return the keys and tokens of the environment, as they are and as JSON has them.

    They are for files. What merely looks like a key does not count there: a file is the user's work.
    """
    return list(_secrets_of(tuple(os.environ.items())))


@lru_cache(maxsize=4)
def _secrets_of(environment: tuple[tuple[str, str], ...]) -> tuple[bytes, ...]:
    held = {value.strip() for name, value in environment if _is_secret(name)}
    known = [secret for secret in held if len(secret) >= _SHORTEST]
    spellings = {*known, *(json.dumps(secret)[1:-1] for secret in known)}
    return tuple(sorted(spelling.encode("utf-8", "surrogateescape") for spelling in spellings))


class _CleanTexts:
    """Texts without keys, by their hash: what is looked at after each run is nearly the same as before."""

    def __init__(self) -> None:
        self._hashes: set[tuple[int, int]] = set()
        self._secrets: list[bytes] = []

    def unknown(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that have to be looked at, each once."""
        secrets = known_secrets()
        if secrets != self._secrets or len(self._hashes) > _MAX_CLEAN:
            self._hashes, self._secrets = set(), secrets
        return [text for text in dict.fromkeys(texts) if (len(text), hash(text)) not in self._hashes]

    def add(self, texts: Iterable[str]) -> None:
        """Take note of texts that have no keys."""
        self._hashes.update((len(text), hash(text)) for text in texts)


_clean = _CleanTexts()


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of JSON data, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from texts_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts_in(item)


def with_texts(value: Any, changed: Mapping[str, str]) -> Any:
    """Return a copy of JSON data with some texts, or keys, in place of others."""
    if isinstance(value, str):
        return changed.get(value, value)
    if isinstance(value, Mapping):
        return {changed.get(key, key): with_texts(item, changed) for key, item in value.items()}
    return [with_texts(item, changed) for item in value] if isinstance(value, (list, tuple)) else value


def _is_secret(variable: str) -> bool:
    """Tell whether `redact` takes what a variable holds for a secret: then it masks this value."""
    return redact(_PROBE, (), {variable: _PROBE}) != _PROBE
