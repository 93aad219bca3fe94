"""Whether cells are replayed, and whether they are recorded: what says so, and what comes first."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from runcell_nb.core.errors import InvalidOptionError

Mode = Literal["strict", "auto", "off"]
"""strict: all must come from the recording; auto: what is as recorded; off: nothing."""

MODES: tuple[str, ...] = get_args(Mode)

REPLAY_VARIABLE = "RUNCELL_REPLAY"
RECORD_VARIABLE = "RUNCELL_RECORD"

_NO = frozenset(("", "0", "false", "no", "off"))


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """The mode of a cell.

    Attributes:
        mode: That counts.
        note: A sentence for the person when it is not the one that the notebook asks for; else None.
    """

    mode: Mode
    note: str | None = None


def check_mode(value: str, where: str) -> Mode:
    """Return a mode if it is one.

    Args:
        value: As typed or set.
        where: What it is the value of, for the sentence.

    Raises:
        InvalidOptionError: It is none.
    """
    if value in MODES:
        return value  # type: ignore[return-value]
    close = difflib.get_close_matches(value, MODES, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    raise InvalidOptionError(f"{where} is strict, auto or off, got {value[:80]!r}{hint}.")


def chosen_mode(
    environ: Mapping[str, str], option: str | None, command: str | None, setting: str
) -> ModeChoice:
    """Return the mode that counts.

    `RUNCELL_REPLAY=strict` comes before everything: a notebook cannot make its own test ask a model. So does
    `RUNCELL_REPLAY=off` beside `RUNCELL_RECORD=1`: all is to be recorded anew. Else the nearest to the cell
    counts: its option, the command, the variable, the setting.

    Args:
        environ: The environment.
        option: Of the cell; None without one.
        command: Of the last `%runcell replay MODE`; None before one.
        setting: `c.Runcell.replay`; empty for none.

    Raises:
        InvalidOptionError: The variable or the setting holds what is no mode.
    """
    variable = environ.get(REPLAY_VARIABLE, "").strip()
    told = check_mode(variable, REPLAY_VARIABLE) if variable else None
    wanted = option or command
    if told == "strict":
        loosened = wanted in ("auto", "off")
        note = f"{REPLAY_VARIABLE}=strict is set: the replay stays strict, not {wanted}."
        return ModeChoice("strict", note if loosened else None)
    if told == "off" and recording_is_on(environ, None):
        return ModeChoice("off")
    by_setting = check_mode(setting, "c.Runcell.replay") if setting else None
    return ModeChoice(check_mode(wanted, "--replay") if wanted else told or by_setting or "off")


def recording_is_on(environ: Mapping[str, str], command: bool | None) -> bool:
    """Return whether what is asked live is recorded.

    Args:
        environ: The environment; `RUNCELL_RECORD=1` comes before everything.
        command: Of the last `%runcell record on` or `off`; None before one.
    """
    return environ.get(RECORD_VARIABLE, "").strip().lower() not in _NO or bool(command)
