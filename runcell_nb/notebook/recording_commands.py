"""`%runcell record …` and `%runcell replay …`: the notebook as a test that costs nothing."""

from __future__ import annotations

from collections.abc import Callable

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.sync_bridge import run_blocking

from .command_words import chosen, up_to
from .recordings import NotebookRecordings, Place
from .replay_mode import check_mode
from .session import NotebookSession
from .shown_text import count_text, one_line, visible


def record_command(session: NotebookSession, words: list[str]) -> str:
    """Run `%runcell record`; without a word it is `on`.

    Args:
        session: Of the notebook.
        words: What stands behind it.

    Raises:
        InvalidOptionError: An unknown command, or a recording that is damaged and would be lost.
    """
    name, *rest = words or ["on"]
    command = chosen("record", name, _RECORD)
    up_to(f"record {name}", rest, 0)
    run_blocking(session.recordings.load)
    return command(session.recordings)


def replay_command(session: NotebookSession, words: list[str]) -> str:
    """Run `%runcell replay`; without a word it tells where things stand.

    Args:
        session: Of the notebook.
        words: A mode, and `--timing`.

    Raises:
        InvalidOptionError: What is no mode.
    """
    recordings = session.recordings
    run_blocking(recordings.load)
    modes = [word for word in words if word != "--timing"]
    up_to("replay", modes, 1, noun="mode")
    if modes:
        recordings.mode = check_mode(modes[0], "%runcell replay")
        recordings.timing = "--timing" in words
    elif words:
        raise InvalidOptionError("%runcell replay --timing needs a mode: %runcell replay auto --timing.")
    return "\n".join([_mode(recordings), *_recorded(recordings)] if not words else [_mode(recordings)])


def _mode(recordings: NotebookRecordings) -> str:
    choice = recordings.choice()
    told = {
        "strict": "cells are answered from the recording only; what is not in it fails",
        "auto": "cells that are as recorded are answered from the recording; the others are asked",
        "off": "the model answers",
    }[choice.mode]
    timing = ", with the time that the model took" if recordings.timing and choice.mode != "off" else ""
    return "\n".join(filter(None, [f"replay {choice.mode}: {told}{timing}.", choice.note]))


def _recorded(recordings: NotebookRecordings) -> list[str]:
    recording = recordings.recording
    if recordings.problem is not None:
        return [visible(str(recordings.problem))]
    if recording is None or not len(recording):
        return ["nothing is recorded; %runcell record starts it."]
    where = f"in {recordings.file.name}" if recordings.file else "in the notebook"
    rows = [
        f"  cell {visible(cell.cell)[:8]:<9} {count_text(len(cell.steps), 'request'):>12}  "
        f"{visible(cell.model)}  {one_line(cell.prompt, 60)}"
        for cell in recording.cells
    ]
    played = f"; {recordings.replayed} were replayed in this kernel" if recordings.replayed else ""
    return [f"{count_text(len(recording), 'request')} recorded {where}{played}:", *rows]


def _on(recordings: NotebookRecordings) -> str:
    recordings.is_on = True
    if recordings.choice().mode == "strict":
        return "the replay is strict: nothing is asked, so nothing is recorded."
    return "what the model answers is recorded from now on; %runcell replay auto or strict plays it again."


def _off(recordings: NotebookRecordings) -> str:
    recordings.is_on = False
    return "nothing is recorded from now on; what is recorded stays."


def _placed(place: Place) -> Callable[[NotebookRecordings], str]:
    def put(recordings: NotebookRecordings) -> str:
        recordings.place = place
        started = _on(recordings)
        if recordings.recording is not None:
            run_blocking(recordings.store)
        where = "in the notebook" if place == "notebook" else "in a file beside the notebook"
        unknown = place == "file" and recordings.recording is not None and recordings.file is None
        return f"the recording is {where}; {started}" if not unknown else _UNKNOWN_PLACE

    return put


_UNKNOWN_PLACE = (
    "where the notebook is on disk is not known, so the recording stays in it; "
    "save the notebook, or set RUNCELL_NOTEBOOK to its path."
)


def _clear(recordings: NotebookRecordings) -> str:
    file = run_blocking(recordings.clear)
    kept = f" {file.name} is {file.name}.old now." if file is not None else ""
    return f"nothing is recorded of this notebook any more.{kept}"


_RECORD: dict[str, Callable[[NotebookRecordings], str]] = {
    "on": _on,
    "off": _off,
    "notebook": _placed("notebook"),
    "file": _placed("file"),
    "clear": _clear,
}
