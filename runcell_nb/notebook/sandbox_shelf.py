"""The named sandboxes of a notebook, each made when a cell first needs it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.sandbox import Sandbox
from runcell_nb.core.sandbox_options import create_sandbox, create_sandbox_provider, resolve_sandbox_config

MAIN = "main"
"""The sandbox that cells share unless told otherwise."""

MAX_NAME = 60


@dataclass(slots=True)
class _Place:
    option: Any
    handle: Sandbox | None = None


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

    @property
    def names(self) -> list[str]:
        """The names of all sandboxes, in the order they were named."""
        return list(self._places)

    @property
    def rows(self) -> list[SandboxRow]:
        """The list of sandboxes as a person reads it."""
        return [
            SandboxRow(
                name,
                resolve_sandbox_config(place.option).type,
                name == self.active,
                place.handle is not None,
            )
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

    def new(self, name: str, option: object) -> None:
        """Name a sandbox; it is made when a cell first needs it.

        Raises:
            InvalidOptionError: The name is taken or cannot be one, or the option is wrong.
            RuncellNotImplementedError: This version has no such sandbox.
        """
        if not 0 < len(name) <= MAX_NAME or not name.isprintable() or name != name.strip():
            raise InvalidOptionError(
                f"A sandbox's name is 1 to {MAX_NAME} visible characters on one line, got {name[:80]!r}."
            )
        if name in self._places:
            raise InvalidOptionError(f"The notebook already has a sandbox {name!r}; take another name.")
        create_sandbox_provider(option)  # refuses what could not be made
        self._places[name] = _Place(option)

    def switch(self, name: str) -> None:
        """Let cells use a sandbox from now on.

        Raises:
            InvalidOptionError: There is none of that name.
        """
        self.active = self.check(name)

    async def reset(self, name: str | None = None) -> None:
        """Give a sandbox back; the next cell that needs it gets a new, empty one.

        Raises:
            InvalidOptionError: There is none of that name.
        """
        place = self._places[self.check(name)]
        handle, place.handle = place.handle, None
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
