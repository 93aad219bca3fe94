"""Sandbox options: what may be asked for, checked before anything starts (API 5, FACTS 14.1-14.5)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PositiveInt,
    StrictBool,
    ValidationError,
)
from pydantic.alias_generators import to_camel, to_snake

from .errors import InvalidOptionError
from .sandbox import SPECIFICATION_VERSION, Capabilities


def _strings_only(env: object) -> dict[str, str] | None:
    if env is None:
        return None
    if not isinstance(env, Mapping):
        raise ValueError("must be a mapping of names to strings")
    return {name: value for name, value in env.items() if isinstance(name, str) and isinstance(value, str)}


def _absolute(path: object) -> str:
    if not isinstance(path, (str, PurePath)) or not str(path).strip():
        raise ValueError("must name a folder")
    if not Path(path).is_absolute():
        raise ValueError("must be an absolute path")
    return os.path.normpath(path)


def _provider(provider: Any) -> Any:
    version = getattr(provider, "specification_version", None)
    if version != SPECIFICATION_VERSION:
        raise ValueError(f"must have specification_version {SPECIFICATION_VERSION!r}, not {version!r}")
    if not callable(getattr(provider, "create_session", None)):
        raise ValueError("must have a method create_session")
    return provider


_Env = Annotated[dict[str, str] | None, BeforeValidator(_strings_only)]
_Folder = Annotated[str, BeforeValidator(_absolute)]


class _Option(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True, strict=True
    )


class VirtualOption(_Option):
    """A shell in a private folder that sees nothing of this machine.

    Attributes:
        env: Variables of every command; values that are not strings are dropped.
    """

    type: Literal["virtual"]
    env: _Env = None


class HostOption(_Option):
    """Commands run on this machine, as you.

    Attributes:
        root_dir: Absolute path of the workspace; created if missing.
        isolation: Literally 'external': you isolate this machine yourself.
        env: Variables of every command; values that are not strings are dropped.
        inherit_host_env: Start from the whole environment, keys included.
    """

    type: Literal["host"]
    root_dir: _Folder
    isolation: Literal["external"]
    env: _Env = None
    inherit_host_env: StrictBool = False


class BubblewrapOption(_Option):
    """Commands run on this machine under bubblewrap.

    Attributes:
        root_dir: Absolute path of the workspace; None for a private folder.
        env: Variables of every command; values that are not strings are dropped.
        network: Let commands use the network.
        memory_mb: Most memory, in MiB.
        max_processes: Most processes at once.
        disk_mb: Most disk space, in MiB.
    """

    type: Literal["bubblewrap"]
    root_dir: _Folder | None = None
    env: _Env = None
    network: StrictBool = False
    memory_mb: PositiveInt | None = None
    max_processes: PositiveInt | None = None
    disk_mb: PositiveInt | None = None


class VercelOption(_Option):
    """A Vercel sandbox; all settings but `type` go to its client unchanged."""

    model_config = ConfigDict(extra="allow")

    type: Literal["vercel"]


class CustomOption(_Option):
    """A backend of your own.

    Attributes:
        provider: A `SandboxProvider`.
    """

    type: Literal["custom"]
    provider: Annotated[Any, AfterValidator(_provider)]


SandboxConfig = VirtualOption | HostOption | BubblewrapOption | VercelOption | CustomOption
"""A checked sandbox option."""

SandboxOption = Literal["virtual"] | Mapping[str, Any] | SandboxConfig
"""What `sandbox=` takes: the word 'virtual', a dict with `type`, or its model."""

_MODELS: dict[str, type[SandboxConfig]] = {
    "virtual": VirtualOption,
    "host": HostOption,
    "bubblewrap": BubblewrapOption,
    "vercel": VercelOption,
    "custom": CustomOption,
}

_EXAMPLES = {
    "host": "{'type': 'host', 'root_dir': '/absolute/folder', 'isolation': 'external'}",
    "custom": "{'type': 'custom', 'provider': my_provider}",
}


def resolve_sandbox_config(option: object = "virtual") -> SandboxConfig:
    """Check a sandbox option.

    Args:
        option: A `SandboxOption`; absent means virtual, None does not.

    Raises:
        InvalidOptionError: It is none.
    """
    if isinstance(option, SandboxConfig):
        return option
    if isinstance(option, str) and option == "virtual":
        return VirtualOption(type="virtual")
    kind = option.get("type") if isinstance(option, Mapping) else None
    if not isinstance(option, Mapping) or not isinstance(kind, str) or kind not in _MODELS:
        raise InvalidOptionError(_unknown(option, kind))
    if kind == "vercel" and "sandbox" in option:
        raise InvalidOptionError(
            "A vercel sandbox option takes settings, not a ready-made 'sandbox'; leave that key out."
        )
    try:
        return _MODELS[kind].model_validate(dict(option))
    except ValidationError as error:
        raise InvalidOptionError(_problems(kind, error)) from None


def capabilities_of(config: SandboxConfig) -> Capabilities:
    """Return what a handle made from an option can do (FACTS 14.5)."""
    match config:
        case VercelOption():
            return Capabilities(ports=True, resume=True)
        case HostOption() | BubblewrapOption():
            return Capabilities(resume=True)
        case CustomOption():
            return Capabilities(resume=callable(getattr(config.provider, "resume_session", None)))
        case _:
            return Capabilities()


def env_of(config: SandboxConfig) -> dict[str, str]:
    """Return the variables that every command of the sandbox gets."""
    if isinstance(config, (VirtualOption, HostOption, BubblewrapOption)):
        return dict(config.env or {})
    return {}


def _unknown(option: object, kind: object) -> str:
    types = ", ".join(repr(name) for name in _MODELS)
    if isinstance(option, str) and option in _MODELS:
        example = _EXAMPLES.get(option, f"{{'type': {option!r}}}")
        return f"The sandbox option {option!r} needs settings; give a dict such as {example}."
    what = f"a dict of type {kind!r}" if isinstance(option, Mapping) else repr(option)
    return f"A sandbox option is 'virtual' or a dict whose 'type' is one of {types}; got {what}."


def _problems(kind: str, error: ValidationError) -> str:
    """Say what is wrong by the Python names of the settings; values of `env` may be secrets."""
    issues = []
    for issue in error.errors(include_url=False):
        name = to_snake(str(issue["loc"][0]))
        said = issue["msg"].removeprefix("Value error, ").removeprefix("Input ")
        if issue["type"] == "missing":
            issues.append(f"{name} is missing")
        elif issue["type"] == "extra_forbidden":
            issues.append(f"there is no setting {name}")
        elif name in ("env", "provider"):
            issues.append(f"{name} {said}")
        else:
            issues.append(f"{name} {said[0].lower()}{said[1:]}, got {issue['input']!r}")
    example = f" Example: {_EXAMPLES[kind]}." if kind in _EXAMPLES else ""
    return f"Sandbox option of type {kind!r}: {'; '.join(issues)}.{example}"
