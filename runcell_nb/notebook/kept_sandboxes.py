"""What a notebook keeps of its sandboxes: names, kinds and files, so that another kernel can make them again.

Values of variables may be secrets and are never kept. Only sandboxes of the type virtual are made again: a
notebook is somebody's file, and must not make cells work on this machine's disk.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.jsontext import scrub

MAIN = "main"
"""The sandbox that cells share unless told otherwise."""

MAX_NAME = 60
"""Characters of a sandbox's name."""

MAX_SANDBOXES = 100
"""Sandboxes that are read."""

REBUILT = "virtual"
"""The type of the sandboxes that are made again."""

_MAX_VARIABLES = 20


@dataclass(frozen=True, slots=True)
class KeptSandbox:
    """One sandbox, as a notebook keeps it.

    Attributes:
        type: Where it runs, 'virtual' say.
        files: Id of the state that its files had last; None when that was not kept.
        variables: Names of the variables that its commands had.
        made_by: Id of the cell whose command named it; None where that is not known.
    """

    type: str = REBUILT
    files: str | None = None
    variables: tuple[str, ...] = ()
    made_by: str | None = None


@dataclass(frozen=True, slots=True)
class KeptShelf:
    """The sandboxes of a notebook, as it keeps them.

    Attributes:
        sandboxes: By name.
        active: Name of the one that cells use unless told otherwise.
    """

    sandboxes: Mapping[str, KeptSandbox] = field(default_factory=lambda: {MAIN: KeptSandbox()})
    active: str = MAIN

    @property
    def states(self) -> list[str]:
        """Ids of the states of all files, those of the active sandbox first."""
        names = sorted(self.sandboxes, key=lambda name: name != self.active)
        return [state for state in (self.sandboxes[name].files for name in names) if state is not None]

    @property
    def rebuilt(self) -> set[str]:
        """Names of the sandboxes that another kernel makes again."""
        return {name for name, kept in self.sandboxes.items() if kept.type == REBUILT}

    def to_dict(self, states: Container[str]) -> dict[str, Any]:
        """Return the entries `sandboxes` and `activeSandbox` of `metadata.runcell`, as plain JSON.

        Args:
            states: The states of files that are kept.
        """
        return {
            "activeSandbox": self.active,
            "sandboxes": {name: _state_of(kept, states) for name, kept in self.sandboxes.items()},
        }


def check_sandbox_name(name: object) -> str:
    """Return a sandbox's name if it can be one.

    Raises:
        InvalidOptionError: Not 1 to 60 visible characters on one line, or blanks at an end.
    """
    fits = isinstance(name, str) and 0 < len(name) <= MAX_NAME
    if not isinstance(name, str) or not fits or not name.isprintable() or name != name.strip():
        raise InvalidOptionError(
            f"A sandbox's name is 1 to {MAX_NAME} visible characters on one line, "
            f"without blanks at its ends, got {str(name)[:80]!r}."
        )
    return name


def shelf_from_metadata(
    entries: Mapping[str, Any], states: Container[str], tell: Callable[[str], object]
) -> KeptShelf:
    """Return the sandboxes that a notebook has kept; never raises for what it finds.

    Args:
        entries: The value of `metadata.runcell`. Formerly `sandbox` held the main one alone.
        states: The states of files that are there.
        tell: Is told in a sentence what is left out.
    """
    value = entries.get("sandboxes", {MAIN: entries["sandbox"]} if "sandbox" in entries else {})
    if not isinstance(value, dict):
        tell("The sandboxes of this notebook are damaged and left out.")
        value = {}
    if len(value) > MAX_SANDBOXES:
        tell(f"The notebook has {len(value):,} sandboxes; {MAX_SANDBOXES} of them are read.")
    found = {MAIN: KeptSandbox()}
    for name in list(value)[:MAX_SANDBOXES]:
        try:
            kept = _sandbox_from(check_sandbox_name(name), value[name], states, tell)
        except Exception as error:  # whatever a stranger's file brings about, the others are read
            tell(f"Sandbox {str(name)[:MAX_NAME]!r} of this notebook is left out: {error}")
            continue
        found[name] = kept
    active = entries.get("activeSandbox", MAIN)
    if not isinstance(active, str) or active not in found:
        which = f" {active[:MAX_NAME]!r}" if isinstance(active, str) else ""
        tell(f"The active sandbox{which} is not there; cells work in {MAIN!r}.")
        active = MAIN
    return KeptShelf(found, active)


def _state_of(kept: KeptSandbox, states: Container[str]) -> dict[str, Any]:
    state: dict[str, Any] = {"type": kept.type, "files": kept.files if kept.files in states else None}
    if kept.variables:
        state["variables"] = list(kept.variables[:_MAX_VARIABLES])
    if kept.made_by is not None:
        state["madeBy"] = kept.made_by
    return state


def _sandbox_from(
    name: str, value: Any, states: Container[str], tell: Callable[[str], object]
) -> KeptSandbox:
    if not isinstance(value, dict):
        raise InvalidOptionError(f"it is no mapping but {type(value).__name__}.")
    kind = value.get("type")
    if kind != REBUILT and name != MAIN:
        which = f" {kind[:20]!r}" if isinstance(kind, str) else ""
        raise InvalidOptionError(
            f"one of type{which} is not made again from a notebook; %runcell sandbox new makes it."
        )
    files, names = value.get("files"), value.get("variables", [])
    if isinstance(files, str) and files not in states:
        tell(f"The files of sandbox {name!r} were not kept in this notebook.")
        files = None
    variables = names[:_MAX_VARIABLES] if isinstance(names, list) else []
    maker = value.get("madeBy")
    return KeptSandbox(
        files=files if isinstance(files, str) else None,
        variables=tuple(scrub(entry[:MAX_NAME]) for entry in variables if isinstance(entry, str)),
        made_by=scrub(maker) if isinstance(maker, str) else None,
    )
