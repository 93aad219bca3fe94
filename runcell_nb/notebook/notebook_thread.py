"""One named thread of a notebook: its conversation, and which cell said which turn of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NotRequired, TypedDict, TypeGuard, Unpack

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.jsontext import scrub
from runcell_nb.core.messages import Message
from runcell_nb.core.thread import Thread, thread_from_dict

from .kept_sandboxes import MAIN as MAIN_SANDBOX

MAX_NAME = 60
"""Characters of a thread's name."""

MAX_REVISION = 2**40
"""Of a thread: no notebook comes to it, so that a larger one is a stranger's and counts as 0."""

_CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}|#[0-9]+")
_KEPT = "kept:"
"""Before the address of a cell in a turn that was read: VS Code numbers the cells anew when a notebook is
opened, so that by then another cell may have the address.
"""

_MAX_COUNT = 2**52
"""Larger numbers would not survive a front end, which reads the notebook's JSON as JavaScript does."""

MAX_PROMPT = 4000
"""Characters of a prompt that are stored; the thread's own messages hold the whole of it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a thread, and the cell it belongs to.

    Attributes:
        cell: Id of the cell, or its place in the order of this kernel's cells ('#3').
        prompt: As typed.
        model: What answered.
        messages_before: Messages of the thread before it.
        log_before: Entries of the engine's log before it; None when the log of now does not begin with
            these any more (it was compacted) or there was no log.
        files_before: Id of the state of the files before it; None when that was not kept.
        files_after: Likewise, after it.
        tokens: Used by it, in and out.
        cost: As shown to a person.
        sandbox: Name of the sandbox in which it ran.
    """

    cell: str
    prompt: str
    model: str
    messages_before: int
    log_before: int | None
    files_before: str | None
    files_after: str | None
    tokens: int
    cost: str
    sandbox: str = MAIN_SANDBOX


class TurnOfRun(TypedDict):
    """What a run tells of its turn; as the attributes of `Turn` of these names."""

    cell: str
    prompt: str
    model: str
    files_before: str | None
    files_after: str | None
    tokens: int
    cost: str
    sandbox: NotRequired[str]


@dataclass(frozen=True, slots=True)
class ThreadMark:
    """Where a thread stands before a run.

    Attributes:
        messages: How many there are.
        log: The engine's log; None when there is none to resume.
    """

    messages: int
    log: tuple[Message, ...] | None


class NotebookThread:
    """One named thread of the notebook. Use `ThreadBook` to make, rename and cut one.

    Args:
        name: As `check_thread_name` takes it.
        thread: The conversation.
        turns: Oldest first.
        revision: Grows by one with every change; of two copies the higher one is newer.
        rewound_from: For a fork that a rewind made and that nobody has taken up since: name of the
            thread that was cut.
        made_by: Id of the cell whose command made the thread; None where that is not known.
    """

    def __init__(
        self,
        name: str,
        thread: Thread | None = None,
        turns: Iterable[Turn] = (),
        revision: int = 0,
        rewound_from: str | None = None,
        made_by: str | None = None,
    ) -> None:
        self.name = check_thread_name(name)
        self.thread = Thread() if thread is None else thread
        self.revision = revision
        self.rewound_from = rewound_from
        self.made_by = made_by
        self._turns = list(turns)
        self._log = self.thread.log  # that the turns were last compared with

    def __repr__(self) -> str:
        return f"<NotebookThread {self.name!r} {len(self.turns)} turns, revision {self.revision}>"

    @property
    def turns(self) -> list[Turn]:
        """The turns, oldest first."""
        now = self.thread.log
        if now is not self._log:  # a run, perhaps not of a cell, may have rewritten it
            same = _common_start(self._log or (), now or ())
            self._turns, self._log = _without_log_past(same, self._turns), now
        return self._turns

    def adopt(self, cell: str, prompt: str) -> None:
        """Let a cell that only has an address take the kept turn that asked for the same.

        Args:
            cell: As in `Turn`; one with an id of its own has nothing to adopt.
            prompt: That it is about to run.
        """
        if not _is_address(cell) or self.turn_of(cell) is not None:
            return
        asked = stored_prompt(prompt)
        kept = [turn for turn in self.turns if turn.cell.startswith(_KEPT) and turn.prompt == asked]
        same = next((turn for turn in kept if turn.cell == _KEPT + cell), kept[0] if kept else None)
        if same is not None:
            self._turns = [replace(turn, cell=cell) if turn is same else turn for turn in self.turns]

    def turn_of(self, cell: str) -> int | None:
        """Return the index of the turn that belongs to a cell, None when it has none here."""
        return next((index for index, turn in enumerate(self.turns) if turn.cell == cell), None)

    def mark(self) -> ThreadMark:
        """Return where the thread stands; to be taken before a run and given to `ThreadBook.add_turn`."""
        return ThreadMark(self.thread.message_count, self.thread.log)

    def add_turn(self, before: ThreadMark, **run: Unpack[TurnOfRun]) -> None:
        """Add the turn of a run that the conversation has by now.

        Earlier turns whose part of the log is not in the log any more lose their `log_before`.

        Args:
            before: From `mark`, before the run.
            **run: What the run tells of its turn.
        """
        length = len(before.log or ())
        told = length > 0 or before.messages == 0  # else the messages were replayed in a new log
        fits = told and (self.thread.log or ())[:length] == (before.log or ())
        turn = Turn(messages_before=before.messages, log_before=length if fits else None, **run)
        self._turns = [*self.turns, turn]
        self.rewound_from = None
        self.revision += 1

    def rewind(self, index: int) -> NotebookThread | None:
        """Cut the thread to before a turn.

        Args:
            index: Of the turn, from 0.

        Returns:
            The thread as it was, under the same name; None when nothing but that one turn is gone.

        Raises:
            InvalidOptionError: There is no such turn.
        """
        check_turn(self, index, len(self.turns) - 1)
        turn = self.turns[index]
        alone = turn is self.turns[-1] and self.thread.message_count <= turn.messages_before + 2
        was = self._cut(turn.messages_before, turn.log_before, index)
        return None if alone else was

    def empty(self) -> NotebookThread:
        """Take everything out of the thread; return it as it was, under the same name."""
        return self._cut(0, None, 0)

    def fork(self, name: str) -> NotebookThread:
        """Return an independent copy under another name, that no command has made."""
        return NotebookThread(name, self.thread.clone(), self.turns, self.revision)

    def put(self, thread: Thread, turns: Iterable[Turn]) -> None:
        """Go on with another conversation.

        Args:
            thread: In place of the one so far.
            turns: That it has.
        """
        self.thread, self._turns, self._log = thread, list(turns), thread.log
        self.rewound_from = None
        self.revision += 1

    def _cut(self, messages: int, log: int | None, turns: int) -> NotebookThread:
        was = NotebookThread(self.name, self.thread, self.turns, self.revision)
        self.put(self.thread.rewound(messages, log), _without_log_past(log or 0, self.turns[:turns]))
        return was

    def to_dict(self) -> dict[str, Any]:
        """Return the thread as plain JSON values: a `ThreadState` with name, revision and turns."""
        state: dict[str, Any] = {
            **self.thread.to_dict(),
            "name": self.name,
            "revision": self.revision,
            "turns": [_turn_state(turn) for turn in self.turns],
        }
        if self.rewound_from is not None:
            state["rewoundFrom"] = self.rewound_from
        if self.made_by is not None:
            state["madeBy"] = scrub(self.made_by)
        return state


def notebook_thread_from_dict(state: Any) -> NotebookThread:
    """Return the thread that `to_dict` described.

    A `log_before` past the end of the log is forgotten: a continuation may have been left out to save room.
    A revision over `MAX_REVISION` is 0: nothing that is done here could ever outdo it.

    Args:
        state: As from `to_dict`, perhaps through JSON; without a revision it is 0, without turns none.

    Raises:
        InvalidOptionError: What `thread_from_dict` refuses, or a name, revision or turn that is none.
    """
    thread = thread_from_dict(state)
    name, revision = check_thread_name(state.get("name")), state.get("revision", 0)
    if type(revision) is not int or revision < 0:
        raise InvalidOptionError(
            f"Thread {name!r}: revision must be a whole number from 0, got {revision!r}."
        )
    entries = state.get("turns", [])
    if not isinstance(entries, list):
        raise InvalidOptionError(f"Thread {name!r}: turns must be a list, got {type(entries).__name__}.")
    turns = [_turn_from(f"Thread {name!r}, turn {at}", entry, thread) for at, entry in enumerate(entries, 1)]
    origin, maker = state.get("rewoundFrom"), state.get("madeBy")
    _require(f"Thread {name!r}", state, "madeBy", "text", maker is None or isinstance(maker, str))
    return NotebookThread(
        name,
        thread,
        _without_log_past(len(thread.log or ()), turns),
        revision if revision <= MAX_REVISION else 0,
        None if origin is None else check_thread_name(origin),
        _scrubbed(maker),
    )


def check_thread_name(name: object) -> str:
    """Return a thread's name if it can be one.

    Raises:
        InvalidOptionError: Not 1 to 60 visible characters on one line, or blanks at an end.
    """
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= MAX_NAME
        or not name.isprintable()
        or name != name.strip()
    ):
        raise InvalidOptionError(
            f"A thread's name is 1 to {MAX_NAME} visible characters on one line, "
            f"without blanks at its ends, got {str(name)[: MAX_NAME + 1]!r}."
        )
    return name


def check_turn(thread: NotebookThread, index: object, last: int) -> None:
    """Refuse what is no index of a turn from 0 to `last`.

    Raises:
        InvalidOptionError: Names what there is.
    """
    if last < 0:
        raise InvalidOptionError(f"Thread {thread.name!r} has no turns to go back to.")
    if not _is_count(index) or index > last:
        raise InvalidOptionError(
            f"Thread {thread.name!r} has {len(thread.turns)} turns; "
            f"give a number from 0 to {last}, got {index!r}."
        )


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_COUNT


def _common_start(old: Sequence[Message], new: Sequence[Message]) -> int:
    """Return how many messages two logs begin with alike."""
    pairs = zip(old, new, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))


def _without_log_past(length: int, turns: Iterable[Turn]) -> list[Turn]:
    return [replace(turn, log_before=None) if (turn.log_before or 0) > length else turn for turn in turns]


def stored_prompt(prompt: str) -> str:
    """Return a prompt as it is stored; a stored one stays as it is."""
    prompt = scrub(prompt)
    if len(prompt) <= MAX_PROMPT:
        return prompt
    digest = hashlib.sha256(prompt.encode()).hexdigest()[:12]
    return f"{prompt[: MAX_PROMPT - 100]}… ({len(prompt):,} characters, sha256 {digest}…)"


def _turn_state(turn: Turn) -> dict[str, Any]:
    return {
        "cell": scrub(turn.cell),
        "prompt": stored_prompt(turn.prompt),
        "model": scrub(turn.model),
        "messagesBefore": turn.messages_before,
        "logBefore": turn.log_before,
        "filesBefore": turn.files_before,
        "filesAfter": turn.files_after,
        "tokens": turn.tokens,
        "cost": scrub(turn.cost),
        "sandbox": scrub(turn.sandbox),
    }


def _turn_from(what: str, entry: Any, thread: Thread) -> Turn:
    if not isinstance(entry, dict):
        raise InvalidOptionError(f"{what} must be a mapping, got {type(entry).__name__}.")
    for key in ("cell", "prompt", "model", "cost"):
        _require(what, entry, key, "text", isinstance(entry.get(key), str))
    for key in ("filesBefore", "filesAfter"):
        _require(what, entry, key, "text or null", isinstance(entry.get(key), str | None))
    _require(what, entry, "sandbox", "text", isinstance(entry.get("sandbox", ""), str))
    for key in ("messagesBefore", "tokens"):
        _require(what, entry, key, "a whole number from 0", _is_count(entry.get(key)))
    log, messages = entry.get("logBefore"), entry["messagesBefore"]
    _require(what, entry, "logBefore", "a whole number from 0 or null", log is None or _is_count(log))
    there = thread.message_count
    _require(what, entry, "messagesBefore", f"at most {there}, the messages there are", messages <= there)
    return Turn(
        cell=_kept_cell(scrub(entry["cell"])),
        prompt=stored_prompt(entry["prompt"]),
        model=scrub(entry["model"]),
        messages_before=messages,
        log_before=log,
        files_before=_scrubbed(entry.get("filesBefore")),
        files_after=_scrubbed(entry.get("filesAfter")),
        tokens=entry["tokens"],
        cost=scrub(entry["cost"]),
        sandbox=scrub(entry.get("sandbox", MAIN_SANDBOX)),
    )


def _is_address(cell: str) -> bool:
    """Tell an address of a cell from an id, and from a place in the order of a kernel's cells."""
    return cell != "" and not cell.startswith(_KEPT) and _CELL_ID.fullmatch(cell) is None


def _kept_cell(cell: str) -> str:
    return _KEPT + cell if _is_address(cell) else cell


def _scrubbed(text: str | None) -> str | None:
    return None if text is None else scrub(text)


def _require(what: str, entry: dict[str, Any], key: str, wanted: str, right: bool) -> None:
    if not right:
        raise InvalidOptionError(f"{what}: {key} must be {wanted}, got {str(entry.get(key))[:80]!r}.")
