"""The virtual sandbox: a private folder, and bashkit, a shell that can see nothing else.

bashkit reimplements bash and its usual commands in one library. It touches the machine only through
the folders mounted into it, has no network, and refuses links that lead out of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.sandbox import SPECIFICATION_VERSION, ExecResult

from .private_folder import PrivateFolder, new_private_folder
from .shell_process import ShellCommand
from .workspace import DirectoryWorkspace

WORKING_DIRECTORY = "/workspace"
"""Where the workspace is inside the shell."""

SHELL_NOTES = """\
The shell of this sandbox is bashkit, not bash: most of bash's syntax with reimplemented commands.
- The workspace is /workspace, where every command starts. Only it and /tmp are kept. Each command gets \
a new shell: cd, export and functions do not last. A command ends when its background jobs have ended.
- There: awk, sed, grep, rg, jq, yq, find, xargs, sort, uniq, cut, paste, join, tr, diff, patch, tar, \
gzip, zip, unzip, bc, xxd, base64, sha256sum, tree, make, and sqlite3 (without .import).
- python3 is Monty, a small Python for calculations: functions, simple classes, f-strings, json, math, \
datetime, pathlib and open() work. There is no csv, re, collections, random, time, dataclasses, sys.argv, \
sys.exit or os.listdir, no -m and no pip package, no yield, match, del, decorators, str.format or % \
formatting, no iterating over a file (use readlines()), and its clock stands still (use date). \
For tables use awk or sqlite3.
- Missing: network (curl and wget fail), git, pip, npm, node, perl, compilers, a terminal.
- Limits: 10 MiB of output a command, 100,000 lines of seq, 10,000 lines of yes. `while read` is slow on \
big files: use awk. File names cannot hold a newline or tab. ls -l shows no owner."""
"""What the model is told of this shell; the tests run what is claimed here."""

_LEFTOVER = re.compile(r"\.bashkit-tmp-[0-9a-f]{16}-[0-9a-f]{16}")


class VirtualProvider:
    """Makes virtual sandboxes."""

    specification_version = SPECIFICATION_VERSION
    provider_id = "virtual"

    async def create_session(self, *, session_id: str) -> VirtualSession:
        """Start a session in a new private folder."""
        return VirtualSession(session_id, await asyncio.to_thread(_new_home))


class VirtualSession(DirectoryWorkspace):
    """One virtual sandbox; its folder goes with it.

    Args:
        session_id: Its id.
        home: A folder with the subfolders `workspace` and `tmp`.
    """

    working_directory = WORKING_DIRECTORY
    shell_notes = SHELL_NOTES

    def __init__(self, session_id: str, home: PrivateFolder) -> None:
        super().__init__(home.path / "workspace")
        self.id = session_id
        self._home = home
        self._mounts = {WORKING_DIRECTORY: str(home.path / "workspace"), "/tmp": str(home.path / "tmp")}
        self._commands: set[ShellCommand] = set()
        self._may_have_leftovers = False

    async def run(
        self,
        command: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> ExecResult:
        """Run a command in a new shell.

        Args:
            command: Shell source.
            cwd: Folder of the workspace; None is the workspace.
            env: The variables the shell starts with.
            timeout: Seconds; past it exit code 124, the output so far, and stderr names the limit.

        Raises:
            InvalidOptionError: `cwd` is no folder, or a variable is not text.
        """
        for name, value in (env or {}).items():
            if not isinstance(value, str):
                raise InvalidOptionError(f"exec: env {name!r} must be a string, got {type(value).__name__}.")
        if cwd is not None and await self.list_directory(cwd) is None:
            raise InvalidOptionError(f"exec: cwd {cwd!r} is not a folder of the workspace; create it first.")
        request = {
            "command": command,
            "cwd": f"{WORKING_DIRECTORY}/{cwd}" if cwd else WORKING_DIRECTORY,
            "env": {"HOME": WORKING_DIRECTORY, **(env or {})},
            "mounts": self._mounts,
        }
        return await self._finish(ShellCommand(request), timeout)

    async def _finish(self, command: ShellCommand, timeout: float | None) -> ExecResult:
        self._commands.add(command)
        try:
            return await command.finish(timeout)
        finally:
            self._commands.discard(command)
            self._may_have_leftovers |= command.was_cut
            if self._may_have_leftovers and not self._commands:
                await self._remove_leftovers()

    async def _remove_leftovers(self) -> None:
        """Remove the half-written files that killed commands leave: bashkit writes, then renames."""
        self._may_have_leftovers, swept = False, False
        try:
            found = await asyncio.to_thread(_leftovers, self._home.path)
            swept = not self._commands  # some of these may belong to one begun meanwhile: its end sweeps
            for path in found if swept else ():  # a few, and here, so that no command can begin meanwhile
                with contextlib.suppress(OSError):
                    path.unlink()
        finally:
            self._may_have_leftovers |= not swept

    async def stop(self) -> None:
        """Stop all commands and remove the folder."""
        for command in self._commands:
            command.stop()
        await asyncio.to_thread(self._home.remove)


def _new_home() -> PrivateFolder:
    home = new_private_folder()
    for name in ("workspace", "tmp"):
        (home.path / name).mkdir()
    return home


def _leftovers(root: Path) -> list[Path]:
    return [
        Path(folder, name)
        for folder, _, names in os.walk(root)
        for name in names
        if _LEFTOVER.fullmatch(name)
    ]
