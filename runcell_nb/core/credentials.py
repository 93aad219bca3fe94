"""Where the keys of a run come from: the `credentials` option, checked (API 7, FACTS 15)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Literal, cast

from pydantic.alias_generators import to_snake

from .credential_store import CredentialStore
from .errors import CredentialError

_USE = (
    "use 'env', 'local', {'type': 'api_keys', 'keys': {provider: key}}, {'type': 'agent_dir', 'path': …} "
    "or {'type': 'shared', 'key': …, 'store': …}."
)
_HANDED_OVER = ("_API_KEY", "_BASE_URL")
_TOKENS = frozenset({"ANTHROPIC_AUTH_TOKEN", "VERCEL_OIDC_TOKEN"})


@dataclass(frozen=True, slots=True)
class EnvCredentials:
    """Keys are read from the environment at run time."""

    mode: ClassVar[Literal["env"]] = "env"


@dataclass(frozen=True, slots=True)
class LocalCredentials:
    """Keys of a developer's machine, read from pi's `auth.json` at run time.

    Attributes:
        agent_dir: The folder of that file; None for `~/.pi/agent`.
    """

    mode: ClassVar[Literal["local"]] = "local"
    agent_dir: str | None = None


@dataclass(frozen=True, slots=True)
class KeyCredentials:
    """Keys given in code.

    Attributes:
        keys: Provider -> key, a copy of what was given; never in a repr.
    """

    mode: ClassVar[Literal["api_keys"]] = "api_keys"
    keys: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class FolderCredentials:
    """Keys in the `auth.json` of a folder, read at run time.

    Attributes:
        path: The folder.
    """

    mode: ClassVar[Literal["agent_dir"]] = "agent_dir"
    path: str


@dataclass(frozen=True, slots=True)
class SharedCredentials:
    """Keys in a store that several processes share, read at run time.

    Attributes:
        key: Under which name the store holds them.
        store: Who holds them.
    """

    mode: ClassVar[Literal["shared"]] = "shared"
    key: str = field(repr=False)
    store: CredentialStore = field(repr=False)


CredentialPlan = EnvCredentials | LocalCredentials | KeyCredentials | FolderCredentials | SharedCredentials
"""A checked `credentials` option; `.mode` says which source is used. No repr shows a key."""

ENV_CREDENTIALS = EnvCredentials()
"""The default."""


def normalize_credentials(credentials: Any = "env", env_name: str | None = None) -> CredentialPlan:
    """Check a `credentials` option.

    Args:
        credentials: `"env"`, `"local"` or a mapping with `type`: `env`; `local` (`agent_dir`,
            `allow_in_production`); `api_keys` (`keys`: provider -> key); `agent_dir` (`path`); `shared`
            (`key`, `store`: a `CredentialStore`). The camelCase spellings are accepted too.
        env_name: Name of the deployment environment, such as 'production'.

    Returns:
        The plan. Nothing is read yet.

    Raises:
        CredentialError: An unknown type or field, an unusable value, or the keys of a developer's machine
            in production. It names the option or the provider and never shows a key.
    """
    given = {"type": credentials} if isinstance(credentials, str) else credentials
    if not isinstance(given, Mapping):
        raise CredentialError(f"credentials must be a word or a mapping, not {type(given).__name__}; {_USE}")
    option = {to_snake(name): value for name, value in given.items() if isinstance(name, str)}
    kind = option.pop("type", None)
    kind = to_snake(kind) if isinstance(kind, str) else None
    if given.get("type") is None:
        raise CredentialError(f"credentials need a 'type'; {_USE}")
    if kind not in _READERS:
        raise CredentialError(f"Unknown credentials type{_shown(given.get('type'))}; {_USE}")
    fields, read = _READERS[kind]
    for name in option:
        if name not in fields:
            known = ", ".join(map(repr, fields)) or "none beside 'type'"
            raise CredentialError(
                f"credentials of type {kind!r} have no field{_shown(name)}; the fields are: {known}."
            )
    return read(option, env_name)


def env_credentials(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the mode `env` hands over (FACTS 15.5).

    Args:
        environ: The environment. Names are compared with their case.

    Returns:
        The non-empty ones that end in `_API_KEY` or `_BASE_URL`, and two tokens.
    """
    return {
        name: value
        for name, value in environ.items()
        if value and (name.endswith(_HANDED_OVER) or name in _TOKENS)
    }


def _env(option: Mapping[str, Any], env_name: str | None) -> CredentialPlan:
    return ENV_CREDENTIALS


def _local(option: Mapping[str, Any], env_name: str | None) -> CredentialPlan:
    if env_name == "production" and option.get("allow_in_production") is not True:
        raise CredentialError(
            "credentials='local' are refused in production; pass allow_in_production=True or use 'env'."
        )
    folder = option.get("agent_dir")
    return LocalCredentials(None if folder is None else _folder(folder, "agent_dir"))


def _keys(option: Mapping[str, Any], env_name: str | None) -> CredentialPlan:
    keys = option.get("keys")
    if not isinstance(keys, Mapping) or not keys:
        raise CredentialError("credentials of type 'api_keys' need at least one key: keys={provider: key}.")
    for provider, key in keys.items():
        if not isinstance(provider, str) or not provider:
            raise CredentialError("keys= of credentials must go by provider names, such as 'openai'.")
        if not isinstance(key, str) or not key:
            wrong = "empty" if isinstance(key, str) else f"a {type(key).__name__}"
            raise CredentialError(f"The key of {provider!r} in credentials must be text, and it is {wrong}.")
    return KeyCredentials(MappingProxyType(dict(keys)))


def _agent_dir(option: Mapping[str, Any], env_name: str | None) -> CredentialPlan:
    return FolderCredentials(_folder(option.get("path"), "path"))


def _shared(option: Mapping[str, Any], env_name: str | None) -> CredentialPlan:
    key, store = option.get("key"), option.get("store")
    if not isinstance(key, str) or not key:
        raise CredentialError("credentials of type 'shared' need key=, their name in the store.")
    if not callable(getattr(store, "with_lock", None)):
        raise CredentialError(
            "store= of credentials must have an async method with_lock(key, fn); "
            f"this {type(store).__name__} has none."
        )
    return SharedCredentials(key, cast(CredentialStore, store))


_READERS: dict[str, tuple[tuple[str, ...], Callable[[Mapping[str, Any], str | None], CredentialPlan]]] = {
    "env": ((), _env),
    "local": (("agent_dir", "allow_in_production"), _local),
    "api_keys": (("keys",), _keys),
    "agent_dir": (("path",), _agent_dir),
    "shared": (("key", "store"), _shared),
}


def _folder(value: Any, name: str) -> str:
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str) or not path.strip():
        wrong = "empty" if isinstance(path, str) else f"a {type(path).__name__}"
        raise CredentialError(f"{name}= of credentials must name a folder, and it is {wrong}.")
    return path


def _shown(word: Any) -> str:
    """Return a wrong word for a message, unless it could be a key that stands in the wrong place."""
    return f" {word!r}" if isinstance(word, str) and re.fullmatch(r"[A-Za-z_]{1,20}", word) else ""
