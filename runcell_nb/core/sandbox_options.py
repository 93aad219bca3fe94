"""Sandboxes made from options (API 5): each creation can be awaited, or entered with `async with`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping
from types import TracebackType
from typing import Any

from .backends import load_sandbox_provider
from .errors import InvalidOptionError
from .sandbox import Sandbox, SandboxProvider, SandboxSession, new_session_id
from .sandbox_config import CustomOption, SandboxOption, capabilities_of, env_of, resolve_sandbox_config
from .snapshot import files_of

__all__ = [
    "SandboxCreation",
    "SandboxOption",
    "create_sandbox",
    "create_sandbox_provider",
    "create_virtual_sandbox",
    "resolve_sandbox_config",
    "restore_sandbox",
]


class SandboxCreation:
    """A sandbox on its way: await it to own it, or enter it to have it destroyed at the end."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, Sandbox]]) -> None:
        self._make = make
        self._made: Sandbox | None = None

    def __await__(self) -> Generator[Any, None, Sandbox]:
        return self._make().__await__()

    async def __aenter__(self) -> Sandbox:
        self._made = await self._make()
        return self._made

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._made is not None:
            await self._made.destroy()


def create_sandbox_provider(option: object = "virtual") -> SandboxProvider:
    """Return what makes sessions for an option.

    Raises:
        InvalidOptionError: The option is wrong.
        RuncellNotImplementedError: This version has no such backend.
    """
    config = resolve_sandbox_config(option)
    if isinstance(config, CustomOption):
        provider: SandboxProvider = config.provider
    else:
        provider = load_sandbox_provider(config.type)()
    return provider


def create_sandbox(option: object = "virtual") -> SandboxCreation:
    """Make a sandbox.

    Args:
        option: A `SandboxOption`.

    Returns:
        What gives a `Sandbox` when awaited or entered. Then it raises `InvalidOptionError` for a wrong
        option and `RuncellNotImplementedError` for a backend that this version does not have.
    """
    return SandboxCreation(lambda: _create(option))


def create_virtual_sandbox(env: Mapping[str, str] | None = None) -> SandboxCreation:
    """Make a virtual sandbox.

    Args:
        env: Variables of every command.
    """
    return create_sandbox({"type": "virtual", "env": env})


def restore_sandbox(snapshot: object, env: Mapping[str, str] | None = None) -> SandboxCreation:
    """Make a virtual sandbox with the files of a snapshot.

    Args:
        snapshot: As `Sandbox.snapshot` returned it; it is checked whole before a sandbox exists.
        env: Variables of every command.

    Returns:
        What gives a `Sandbox` when awaited or entered. Then it raises `InvalidOptionError` for a
        snapshot that is not well formed.
    """
    return SandboxCreation(lambda: _restore(snapshot, env))


async def _create(option: object) -> Sandbox:
    config = resolve_sandbox_config(option)
    session = await create_sandbox_provider(config).create_session(session_id=new_session_id())
    if not isinstance(session, SandboxSession):
        await _abandon(session)
        raise InvalidOptionError(
            f"The sandbox provider made {session!r}, which lacks members of SandboxSession; "
            "it needs id, working_directory, run, read_file, write_file, remove, list_files and stop."
        )
    return Sandbox(session, kind=config.type, capabilities=capabilities_of(config), env=env_of(config))


async def _abandon(session: object) -> None:
    end = getattr(session, "destroy", None) or getattr(session, "stop", None)
    if callable(end):
        try:
            await end()
        except Exception:  # what is told is why the session is useless
            return


async def _restore(snapshot: object, env: Mapping[str, str] | None) -> Sandbox:
    files = files_of(snapshot)
    sandbox = await create_virtual_sandbox(env)
    try:
        for path, data in files.items():
            await sandbox.write_file(path, data)
    except BaseException:
        await sandbox.destroy()
        raise
    return sandbox
