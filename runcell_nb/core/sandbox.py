"""What a sandbox is: the contract of its backends and the handle that people and tools hold (API 5)."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import ClassVar, Protocol, runtime_checkable
from uuid import uuid4

from .errors import InvalidOptionError, RuncellNotImplementedError
from .key_lock import KeyLock
from .paths import assert_safe_workspace_path, is_state_path
from .snapshot import SandboxSnapshot, snapshot_of

SPECIFICATION_VERSION = "harness-sandbox-v1"
"""The version of `SandboxProvider` that this package speaks."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What a command did.

    Attributes:
        exit_code: 0 for success; 124 past the timeout; 128+N when killed by signal N.
        stdout: Output, as text.
        stderr: Errors, as text.
    """

    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One file of the workspace.

    Attributes:
        path: Relative to the workspace.
        size: Bytes.
        modified: Aware, UTC.
    """

    path: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend can do beyond files and commands."""

    ports: bool = False
    native_snapshot: bool = False
    resume: bool = False


@runtime_checkable
class SandboxSession(Protocol):
    """One live workspace of a backend. Paths that reach it are checked and normalised.

    Optional members: `expose_url(port)`, `destroy()`, `read_files(paths)`, `list_directory(path)`
    and `shell_notes` (what the model should know of this shell). They are found by name.
    """

    id: str
    working_directory: str

    async def run(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> ExecResult:
        """Run a shell command; past `timeout` seconds exit code 124 with the output so far."""
        ...

    async def read_file(self, path: str) -> bytes | None:
        """Return the content of a file, None when missing."""
        ...

    async def write_file(self, path: str, data: bytes) -> None:
        """Write a file, creating its parents."""
        ...

    async def remove(self, path: str) -> None:
        """Remove a file or folder; no-op when missing."""
        ...

    async def list_files(self) -> Sequence[FileInfo]:
        """Return every regular file of the workspace."""
        ...

    async def stop(self) -> None:
        """End the session; its state may be kept for a resume."""
        ...


@runtime_checkable
class SandboxProvider(Protocol):
    """What makes sessions: a backend of this package or your own.

    Optional member: `resume_session(session_id=…)`.
    """

    specification_version: str
    provider_id: str

    async def create_session(self, *, session_id: str) -> SandboxSession:
        """Start a session under this id."""
        ...


class Sandbox:
    """A live sandbox: a workspace of files and a shell over it.

    Made by `create_sandbox`. Use it as an async context manager or call `destroy`.
    """

    _live: ClassVar[weakref.WeakSet[Sandbox]] = weakref.WeakSet()

    def __init__(
        self,
        session: SandboxSession,
        *,
        kind: str,
        capabilities: Capabilities,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._session = session
        self._env = dict(env or {})
        self._locks: dict[str, KeyLock] = {}
        self._destroying: asyncio.Task[None] | None = None
        self.kind = kind
        self.capabilities = capabilities
        Sandbox._live.add(self)

    def __repr__(self) -> str:
        state = "destroyed" if self._destroying else "live"
        return f"<Sandbox {self.kind} {self.id} {state}>"

    @property
    def id(self) -> str:
        """Stable id of the session."""
        return self._session.id

    @property
    def working_directory(self) -> str:
        """Absolute path of the workspace as commands see it."""
        return self._session.working_directory

    @property
    def shell_notes(self) -> str:
        """What the model should know of this shell; empty when there is nothing to say."""
        return str(getattr(self._session, "shell_notes", ""))

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> ExecResult:
        """Run a shell command in the workspace.

        Args:
            command: Shell source. Neither `cd` nor `export` lasts until the next call.
            cwd: Folder of the workspace; None or '.' is the workspace itself.
            env: Variables of this call; they win over the sandbox's.
            timeout: Seconds; past it exit code 124, the output so far, and stderr names the limit.

        Raises:
            InvalidOptionError: The sandbox is destroyed, or an argument is wrong.
        """
        session = self._alive()
        if not isinstance(command, str):
            raise InvalidOptionError(f"exec: command must be a string, got {command!r}.")
        if timeout is not None and (
            isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0
        ):
            raise InvalidOptionError(f"exec: timeout must be a positive number of seconds, got {timeout!r}.")
        folder = None if cwd in (None, ".") else assert_safe_workspace_path(cwd)
        return await session.run(command, cwd=folder, env={**self._env, **(env or {})}, timeout=timeout)

    async def read_file(self, path: str) -> bytes | None:
        """Return the bytes of a file, None when missing."""
        return await self._alive().read_file(assert_safe_workspace_path(path))

    async def read_text_file(self, path: str) -> str | None:
        """Return a file as UTF-8 text (undecodable bytes replaced), None when missing."""
        data = await self.read_file(path)
        return None if data is None else data.decode("utf-8", "replace")

    async def read_files(self, paths: Sequence[str]) -> list[bytes | None]:
        """Return many files at once, None for each that is missing."""
        session, safe = self._alive(), [assert_safe_workspace_path(path) for path in paths]
        bulk = getattr(session, "read_files", None)
        if bulk is not None:
            return list(await bulk(safe))
        return [await session.read_file(path) for path in safe]

    async def write_file(self, path: str, data: str | bytes) -> None:
        """Write text (as UTF-8) or bytes, creating parents."""
        clean = assert_safe_workspace_path(path)
        if isinstance(data, str):
            data = data.encode("utf-8", "replace")
        elif not isinstance(data, (bytes, bytearray, memoryview)):
            raise InvalidOptionError(f"write_file: data must be text or bytes, got {type(data).__name__}.")
        await self._alive().write_file(clean, bytes(data))

    async def remove(self, path: str) -> None:
        """Remove a file or folder; no-op when missing."""
        await self._alive().remove(assert_safe_workspace_path(path))

    async def list_files(self, path: str = ".") -> list[FileInfo]:
        """Return every file below a folder, sorted by path."""
        session = self._alive()
        prefix = "" if path == "." else assert_safe_workspace_path(path) + "/"
        files = [info for info in await session.list_files() if not is_state_path(info.path)]
        return sorted((info for info in files if info.path.startswith(prefix)), key=lambda info: info.path)

    async def list_directory(self, path: str = ".") -> list[str] | None:
        """Return the names in a folder, folders with a trailing `/`; None when it is no folder."""
        session = self._alive()
        clean = "" if path == "." else assert_safe_workspace_path(path)
        native = getattr(session, "list_directory", None)
        names = await native(clean) if native is not None else await self._names_from_files(clean)
        if names is None:
            return None
        hidden = {".runcell/", ".runcell"} if not clean else set()
        return [name for name in names if name not in hidden]

    async def _names_from_files(self, folder: str) -> list[str] | None:
        prefix = folder + "/" if folder else ""
        paths = [info.path for info in await self._alive().list_files()]
        rests = [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]
        names = {
            first + "/" if slash else first for first, slash, _ in (rest.partition("/") for rest in rests)
        }
        return sorted(names) if names or not folder else None

    async def snapshot(self) -> SandboxSnapshot:
        """Return every regular file as plain JSON, engine state left out."""
        infos = await self.list_files()
        contents = await self.read_files([info.path for info in infos])
        return snapshot_of(
            {info.path: data for info, data in zip(infos, contents, strict=True) if data is not None}
        )

    async def expose_url(self, port: int) -> str:
        """Return a public URL for a port of the sandbox.

        Raises:
            RuncellNotImplementedError: The backend has no ports.
        """
        session = self._alive()
        expose = getattr(session, "expose_url", None)
        if not self.capabilities.ports or expose is None:
            raise RuncellNotImplementedError(
                f"A {self.kind} sandbox cannot expose port {port!r}; use one with ports."
            )
        return str(await expose(port))

    @asynccontextmanager
    async def lock(self, key: str) -> AsyncIterator[None]:
        """Hold a key of this handle: one holder at a time, in call order; on any event loop.

        Raises:
            InvalidOptionError: Re-entered by the task that holds it, held by a task that cannot go on
                before this one is done (see `KeyLock`), or the sandbox is destroyed.
        """
        self._alive()
        lock = self._locks.setdefault(key, KeyLock())  # atomic, also between threads
        await lock.acquire(key)
        try:
            self._alive()
            yield
        finally:
            lock.release()

    async def destroy(self) -> None:
        """End the sandbox; calling it again, or at the same time, is harmless."""
        if self._destroying is None:
            Sandbox._live.discard(self)
            self._destroying = asyncio.ensure_future(self._end())
        await asyncio.shield(self._destroying)

    async def _end(self) -> None:
        end = getattr(self._session, "destroy", None) or self._session.stop
        await end()

    def _alive(self) -> SandboxSession:
        if self._destroying is not None:
            raise InvalidOptionError(
                f"Sandbox {self.id} was destroyed; make a new one with create_sandbox()."
            )
        return self._session

    async def __aenter__(self) -> Sandbox:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.destroy()


def is_live_sandbox(value: object) -> bool:
    """Tell a live handle from everything that only looks like one (FACTS 14.6)."""
    return isinstance(value, Sandbox) and value in Sandbox._live


def new_session_id() -> str:
    """Return a fresh session id."""
    return uuid4().hex
