"""The named sandboxes of a notebook, each made when a cell first needs it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.sandbox import Sandbox
from runcell_nb.core.sandbox_config import CustomOption, SandboxConfig, env_of
from runcell_nb.core.sandbox_options import create_sandbox, create_sandbox_provider, resolve_sandbox_config

from .file_history import FileHistory
from .kept_sandboxes import MAIN, KeptSandbox, KeptShelf, check_sandbox_name
from .shown_text import count_text


@dataclass(slots=True)
class _Place:
    """Where a sandbox is, or will be.

    Attributes:
        option: What it is made from.
        handle: The sandbox; None before it is made.
        files: Id of the state that its files had last; None when that is not known.
        before: What a kernel before had here, until that is brought back.
        settled: Whether what a kernel before had is no matter any more.
        made_by: Id of the cell whose command named it; None where that is not known.
    """

    option: Any
    handle: Sandbox | None = None
    files: str | None = None
    before: KeptSandbox | None = None
    settled: bool = False
    made_by: str | None = None

    @property
    def config(self) -> SandboxConfig:
        """The option, checked."""
        return resolve_sandbox_config(self.option)

    def kept(self) -> KeptSandbox:
        """Return what a notebook keeps of it."""
        if self.before is not None:
            return self.before
        config = self.config
        return KeptSandbox(config.type, self.files, tuple(env_of(config)), self.made_by)


@dataclass(frozen=True, slots=True)
class SandboxRow:
    """One line of the list of sandboxes.

    Attributes:
        name: Of the sandbox.
        kind: Its type, 'virtual' say.
        active: Whether cells use it unless told otherwise.
        made: Whether it has been made; before it has no files.
    """

    name: str
    kind: str
    active: bool
    made: bool


class SandboxShelf:
    """Sandboxes by name.

    Attributes:
        active: Name of the one that cells use unless told otherwise.
    """

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {MAIN: _Place("virtual")}
        self.active = MAIN
        self._chosen = False  # in this kernel, by somebody

    @property
    def names(self) -> list[str]:
        """The names of all sandboxes, in the order they were named."""
        return list(self._places)

    @property
    def rows(self) -> list[SandboxRow]:
        """The list of sandboxes as a person reads it."""
        return [
            SandboxRow(name, place.config.type, name == self.active, place.handle is not None)
            for name, place in self._places.items()
        ]

    def check(self, name: str | None) -> str:
        """Return the name of a sandbox, the active one's for None.

        Raises:
            InvalidOptionError: There is none of that name; names the nearest ones.
        """
        if name is None:
            return self.active
        if name not in self._places:
            close = difflib.get_close_matches(name, self._places, n=3) or self._places
            known = ", ".join(map(repr, close))
            raise InvalidOptionError(
                f"This notebook has no sandbox {name!r}; there is {known}. "
                "Make one with %runcell sandbox new NAME."
            )
        return name

    def made(self, name: str | None = None) -> Sandbox | None:
        """Return a sandbox if it has been made, None before."""
        return self._places[self.check(name)].handle

    async def get(self, name: str | None = None) -> Sandbox:
        """Return a sandbox, made on first use.

        Raises:
            InvalidOptionError: There is none of that name.
        """
        place = self._places[self.check(name)]
        if place.handle is None:
            place.handle = await create_sandbox(place.option)
        return place.handle

    def new(self, name: str, option: object, made_by: str | None = None) -> bool:
        """Name a sandbox; it is made when a cell first needs it.

        Args:
            name: Of the sandbox.
            option: What it is made from.
            made_by: Id of the cell whose command this is. When the same cell has named the same sandbox
                before, it stays as it is: its cells run again too.

        Returns:
            Whether it is a new one.

        Raises:
            InvalidOptionError: The name is taken or cannot be one, or the option is wrong.
            RuncellNotImplementedError: This version has no such sandbox.
        """
        check_sandbox_name(name)
        held = self._places.get(name)
        if held is not None:
            same_cell = made_by is not None and held.made_by == made_by
            if same_cell and held.config == resolve_sandbox_config(option):
                return False
            raise InvalidOptionError(f"The notebook already has a sandbox {name!r}; take another name.")
        create_sandbox_provider(option)  # refuses what could not be made
        self._places[name] = _Place(option, settled=True, made_by=made_by)
        return True

    def switch(self, name: str) -> None:
        """Let cells use a sandbox from now on.

        Raises:
            InvalidOptionError: There is none of that name.
        """
        self.active, self._chosen = self.check(name), True

    async def reset(self, name: str | None = None) -> None:
        """Give a sandbox back; the next cell that needs it gets a new, empty one.

        Raises:
            InvalidOptionError: There is none of that name.
        """
        place = self._places[self.check(name)]
        handle, place.handle = place.handle, None
        place.files, place.before, place.settled = None, None, True
        if handle is not None:
            await handle.destroy()

    async def delete(self, name: str) -> None:
        """Give a sandbox back and forget its name.

        Raises:
            InvalidOptionError: There is none of that name, or it is the active one.
        """
        if self.check(name) == self.active:
            raise InvalidOptionError(
                f"Sandbox {name!r} is the active one; switch to another first (%runcell sandbox switch NAME)."
            )
        await self.reset(name)
        del self._places[name]

    async def close(self) -> None:
        """Give all sandboxes back."""
        for name in self._places:
            await self.reset(name)

    def foreign(self, name: str) -> str | None:
        """Tell whose the files of a sandbox are, when they are not the notebook's to remove or put back.

        Returns:
            The beginning of a sentence: it is a folder on this machine's disk, say. None for a sandbox that
            the notebook has made and may empty.

        Raises:
            InvalidOptionError: There is none of that name.
        """
        config = self._places[self.check(name)].config
        if isinstance(config, CustomOption):
            return f"Sandbox {name!r} is one of your own making"
        folder = getattr(config, "root_dir", None)
        return None if folder is None else f"Sandbox {name!r} is a folder on your disk ({folder})"

    def note_files(self, name: str, files: str | None) -> None:
        """Take note of the files that a sandbox has now.

        Args:
            name: Of the sandbox; one that is gone by now is passed over.
            files: Id of their state; None when it was not kept.
        """
        place = self._places.get(name)
        if place is not None and self.foreign(name) is None:
            place.files = files

    def kept(self) -> KeptShelf:
        """Return what a notebook keeps of the sandboxes."""
        return KeptShelf({name: place.kept() for name, place in self._places.items()}, self.active)

    async def take_up(self, kept: KeptShelf) -> None:
        """Name the sandboxes that a kernel before had; their files come back when a cell needs them.

        One that has files by now, or was made by a command in this kernel, stays as it is.

        Args:
            kept: As the notebook has kept them.
        """
        for name, before in kept.sandboxes.items():
            place = self._places.setdefault(name, _Place("virtual", made_by=before.made_by))
            used = place.handle is not None and await place.handle.list_files()
            if (before.files or before.variables) and not (used or place.settled):
                place.before = before
        if not self._chosen:
            self.active = kept.active

    async def bring_back(self, name: str, files: FileHistory) -> str | None:
        """Bring the files that a kernel before had into a new sandbox, once.

        Args:
            name: Of a sandbox that is made.
            files: Has their state.

        Returns:
            A sentence on what is there again and what is gone; None where nothing was to be brought back.
        """
        place = self._places[self.check(name)]
        before, sandbox = place.before, place.handle
        if before is None or sandbox is None:
            return None
        problem = None if before.files is None else await files.restore(sandbox, before.files)
        place.files, place.before, place.settled = before.files, None, True
        which = "The sandbox" if name == MAIN else f"Sandbox {name!r}"
        count = count_text(len(await sandbox.list_files()), "file")
        told = [f"{which} is a new one since the kernel restarted; {count} of before are back."]
        if before.variables:
            told.append(f"Values of variables are not kept: {', '.join(before.variables)} are not set there.")
        return " ".join([*told, *([problem] if problem else [])])
