"""The record of a turn in its cell's output: all there is in VS Code and Colab, the backup elsewhere.

A record holds what its turn has added, and no more, so that a notebook grows with its content only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runcell_nb.core.journal import journal_from, journal_of
from runcell_nb.core.jsontext import scrubbed
from runcell_nb.core.messages import Message
from runcell_nb.models.redaction import redacted_texts, texts_in, with_texts

from .kept_log import STAGES, UnpackingRoom, log_texts, log_with, shortened
from .notebook_thread import NotebookThread, notebook_thread_from_dict
from .state_merge import VERSION, deleted_of
from .state_reading import MAX_THREADS, MAX_UNPACKED_BYTES
from .thread_draft import cut_message

TURN_MIME = "application/vnd.runcell.turn+json"
"""Of the record in a display's MIME bundle."""

MAX_RECORD_BYTES = 256 * 1024
"""A record is smaller, as JSON."""

MAX_MESSAGE = 16_000
"""Characters of each of the two messages of a turn."""

_HEAD = ("version", "name", "id", "revision", "madeBy")

MAX_JOURNAL_BYTES = 48 * 1024
"""Of the turn's part of the log, compressed; a larger one is shortened, or left out."""


def turn_record(thread: NotebookThread) -> dict[str, Any]:
    """Return the record of the last turn of a thread, as plain JSON without keys.

    Args:
        thread: With at least one turn.
    """
    whole, turn = thread.thread, thread.turns[-1]
    latest = NotebookThread(
        thread.name, whole.rewound(whole.message_count, None), [turn], thread.revision, None, thread.made_by
    ).to_dict()
    start = turn.log_before or 0
    log = (whole.log or ())[start:]
    added = latest["messages"][turn.messages_before : turn.messages_before + 2]
    head = {key: latest[key] for key in _HEAD if key in latest}
    record = {**head, "index": len(thread.turns) - 1, "turn": latest["turns"][0], "messages": added}
    changed = redacted_texts([*texts_in(record), *log_texts(log)])
    record = with_texts(record, changed)
    record["messages"] = [cut_message(message, MAX_MESSAGE) for message in record["messages"]]
    continuation = _small_journal(log_with(log, changed))
    if continuation is not None:
        record |= {"logStart": start, "continuation": continuation}
    clean: dict[str, Any] = scrubbed(record)
    return clean


def threads_from_outputs(cells: Iterable[Any], metadata: Any = None) -> dict[str, Any]:
    """Return the threads that the records in a notebook's outputs tell of, to be `merged` with its metadata.

    Args:
        cells: Of the notebook, as JSON; anything may stand there.
        metadata: The value of `metadata.runcell` of the same notebook: it knows which threads were renamed or
            deleted, and these are left out.

    Returns:
        A state without a revision, in the form of `metadata.runcell`; `{}` when there are no records. A
        thread of which turns are missing says so in its `notes`.
    """
    threads: dict[str, _Told] = {}
    deleted = deleted_of(metadata)
    for records in _by_id(cells).values():
        for told in _told_threads(records):
            if told.records[-1].revision <= deleted.get(told.name, -1):
                continue
            known = threads.get(told.name)
            if known is None or told.spoken > known.spoken:
                threads[told.name] = told
    if not threads:
        return {}
    latest = max(threads.values(), key=lambda told: told.spoken)
    room = UnpackingRoom(MAX_UNPACKED_BYTES)
    return {
        "version": VERSION,
        "activeThread": latest.name,
        "threads": {name: told.state(room) for name, told in threads.items()},
    }


@dataclass(frozen=True, slots=True)
class _Record:
    """One record that was found and is sound but for its continuation."""

    name: str
    id: str
    revision: int
    index: int
    turn: dict[str, Any]
    messages: list[dict[str, Any]]
    log_start: int | None
    continuation: Any
    made_by: str | None

    def log(self, room: UnpackingRoom) -> tuple[Message, ...] | None:
        """Return the turn's part of the log; None when there is none that could be."""
        if self.log_start is None or not isinstance(self.continuation, dict):
            return None
        return journal_from(self.continuation) if room.takes(self.continuation.get("journalGz")) else None


@dataclass(frozen=True, slots=True)
class _Told:
    """A thread as its records tell it, oldest turn first."""

    name: str
    records: Sequence[_Record]

    @property
    def spoken(self) -> str:
        """When the last message was said."""
        return str(self.records[-1].messages[-1]["createdAt"])

    def state(self, room: UnpackingRoom) -> dict[str, Any]:
        last = self.records[-1]
        log, starts = self._log(room)
        state = {
            "version": VERSION,
            "id": last.id,
            "name": self.name,
            "revision": last.revision,
            "messages": [message for record in self.records for message in record.messages],
            "turns": [
                record.turn | {"messagesBefore": 2 * at, "logBefore": start}
                for at, (record, start) in enumerate(zip(self.records, starts, strict=True))
            ],
        }
        missing = last.index + 1 - len(self.records)
        had = f"Thread {self.name!r} had {last.index + 1:,} turns"
        notes = [f"{had}; {missing:,} could not be found in the notebook."]
        more = {
            "continuation": journal_of(log) if log else None,
            "notes": notes if missing > 0 else None,
            "madeBy": last.made_by,
        }
        return state | {key: value for key, value in more.items() if value}

    def _log(self, room: UnpackingRoom) -> tuple[tuple[Message, ...] | None, list[int | None]]:
        """Put the log together from its parts; None when one is missing. And where each turn begins in it."""
        log: list[Message] | None = []
        starts: list[int | None] = []
        for record in self.records:
            part = record.log(room)
            if part is None:
                log = None
            elif record.log_start == 0:  # the log anew: the first turn, or it was compacted
                log, starts = list(part), [None] * len(starts)
            elif log is not None and len(log) == record.log_start:
                log += part
            else:
                log = None
            # Whose log begins anew after other turns has no place in it to go back to.
            starts.append(record.log_start or (None if starts else 0) if log is not None else None)
        return (None, [None] * len(starts)) if log is None else (tuple(log), starts)


def _small_journal(log: Sequence[Message]) -> dict[str, Any] | None:
    for stage in (0, STAGES):
        journal = journal_of(shortened(log, stage) if stage else log)
        if log and len(journal["journalGz"]) <= MAX_JOURNAL_BYTES:
            return journal
    return None


def _by_id(cells: Iterable[Any]) -> dict[str, list[_Record]]:
    found: dict[str, list[_Record]] = {}
    for cell in cells:
        for content in _contents(cell):
            record = _record_of(content)
            if record is not None:
                found.setdefault(record.id, []).append(record)
    return found


def with_cell_ids(state: dict[str, Any], cells: Iterable[Any]) -> dict[str, Any]:
    """Return a state whose turns belong to the cells of the notebook that hold their records.

    A runner that tells no cell ids (nbclient, nbconvert) leaves turns that are known by their place only.

    Args:
        state: The value of `metadata.runcell`; anything may stand there. It is changed.
        cells: Of the same notebook, as JSON.
    """
    threads = state.get("threads")
    for cell in cells if isinstance(threads, dict) else ():
        for content in _contents(cell):
            record, cell_id = _record_of(content), cell.get("id")
            thread = threads.get(record.name) if record is not None and isinstance(threads, dict) else None
            turns = thread.get("turns") if isinstance(thread, dict) else None
            if record is None or not isinstance(turns, list) or not record.index < len(turns):
                continue
            turn = turns[record.index]
            if isinstance(turn, dict) and isinstance(cell_id, str) and str(turn.get("cell")).startswith("#"):
                turn["cell"] = cell_id
    return state


def _contents(cell: Any) -> Iterator[Any]:
    outputs = cell.get("outputs") if isinstance(cell, Mapping) else None
    for output in outputs if isinstance(outputs, list) else ():
        data = output.get("data") if isinstance(output, Mapping) else None
        if isinstance(data, Mapping) and TURN_MIME in data:
            yield data[TURN_MIME]


def _record_of(content: Any) -> _Record | None:
    """Return a record; None for what is none."""
    try:
        index, start = content["index"], content.get("logStart")
        turn = content["turn"] | {"messagesBefore": 0, "logBefore": None}
        head = {key: content[key] for key in _HEAD if key in content}
        messages = content["messages"]
        state = notebook_thread_from_dict({**head, "messages": messages, "turns": [turn]}).to_dict()
    except Exception:  # a stranger's file may hold anything
        return None
    counts = type(index) is int and index >= 0 and (start is None or (type(start) is int and start >= 0))
    if not counts or [message["role"] for message in state["messages"]] != ["user", "agent"]:
        return None
    return _Record(
        state["name"],
        state["id"],
        state["revision"],
        index,
        state["turns"][0],
        state["messages"],
        start,
        content.get("continuation"),
        state.get("madeBy"),
    )


def _told_threads(records: Iterable[_Record]) -> Iterator[_Told]:
    """Yield the threads of one id, a fork and what it was forked from have the same, as they were last.

    A record says: with this revision the thread ended with this turn. So the records of turns that were
    taken back later, but still stand in their cells, fall away.
    """
    threads: dict[str, list[_Record]] = {}
    for record in sorted(records, key=lambda one: one.revision):
        turns = threads.get(record.name)
        if turns is None:
            if len(threads) == MAX_THREADS:
                continue
            turns = threads[record.name] = _origin(threads.values(), record.index)
        while turns and turns[-1].index >= record.index:
            turns.pop()
        turns.append(record)
    return (_Told(name, turns) for name, turns in threads.items())


def _origin(threads: Iterable[list[_Record]], index: int) -> list[_Record]:
    """Return a copy of the turns that a fork begins with."""
    return next((list(turns) for turns in reversed(list(threads)) if len(turns) >= index > 0), [])
