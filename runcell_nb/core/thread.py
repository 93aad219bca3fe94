"""Threads: a conversation over many runs, portable as plain JSON (API 6, FACTS 12)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NotRequired, TypedDict
from uuid import uuid4

from .errors import InvalidOptionError
from .journal import journal_from, journal_of
from .jsontext import compact_json, plain, scrub, scrubbed
from .messages import Message

VERSION = 1


class ThreadMessageState(TypedDict):
    """One message as JSON."""

    role: Literal["user", "agent"]
    content: str
    createdAt: str
    data: NotRequired[Any]


class ThreadState(TypedDict):
    """A thread as JSON; the continuation is opaque."""

    version: int
    id: str
    messages: list[ThreadMessageState]
    continuation: NotRequired[Any]


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """One message of a thread.

    Attributes:
        role: Who spoke.
        content: The text.
        data: The structured result of an agent message; None also when there is none.
        created_at: ISO 8601 text in UTC.
        has_data: Tells a result that is None from no result.
    """

    role: Literal["user", "agent"]
    content: str
    data: Any = None
    created_at: str = ""
    has_data: bool = False


class Thread:
    """A conversation. A successful run given it adds two messages; a failed one changes nothing."""

    def __init__(self, id: str | None = None) -> None:
        if id is not None and (not isinstance(id, str) or not id):
            raise InvalidOptionError(f"A thread's id must be a non-empty string, got {id!r}.")
        self._id = id or str(uuid4())
        self._messages: list[ThreadMessage] = []
        self._log: tuple[Message, ...] | None = None
        self._foreign: Any = None
        self._busy = False

    def __repr__(self) -> str:
        return f"<Thread {self._id} {len(self._messages)} messages>"

    @property
    def id(self) -> str:
        """The id given, or a UUID."""
        return self._id

    @property
    def messages(self) -> list[ThreadMessage]:
        """A copy of the messages, oldest first."""
        return copy.deepcopy(self._messages)

    @property
    def message_count(self) -> int:
        """How many messages there are; `messages` would copy them all."""
        return len(self._messages)

    @property
    def log(self) -> tuple[Message, ...] | None:
        """The engine's own log, which says more than `messages`; None when there is none to resume."""
        return self._log

    def clone(self) -> Thread:
        """Return an independent copy under the same id."""
        other = Thread(self._id)
        other._messages = copy.deepcopy(self._messages)
        other._log, other._foreign = self._log, copy.deepcopy(self._foreign)
        return other

    def rewound(self, messages: int, log: int | None) -> Thread:
        """Return an independent copy of how the thread was earlier, under the same id.

        Args:
            messages: How many of the oldest messages it keeps.
            log: How many of the oldest entries of the engine's log it keeps. None, or 0: it has no log,
                and the next run is told the messages instead.

        Raises:
            InvalidOptionError: The thread has fewer of them.
        """
        _check_count("messages", messages, len(self._messages))
        if log is not None:
            _check_count("log entries", log, len(self._log or ()))
        other = Thread(self._id)
        other._messages = copy.deepcopy(self._messages[:messages])
        other._log = self._log[:log] if self._log and log else None
        return other

    def to_dict(self) -> ThreadState:
        """Return the thread as plain JSON values."""
        state: ThreadState = {
            "version": VERSION,
            "id": self._id,
            "messages": [_message_state(message) for message in self._messages],
        }
        if self._log is not None:
            state["continuation"] = journal_of(self._log)
        elif self._foreign is not None:
            state["continuation"] = copy.deepcopy(self._foreign)
        return state

    def acquire(self) -> None:
        """Claim the thread for one run.

        Raises:
            InvalidOptionError: Another run has it.
        """
        if self._busy:
            raise InvalidOptionError(
                "This thread is in use by another run; wait for it, or give this one thread.clone()."
            )
        self._busy = True

    def release(self) -> None:
        """Let the next run have the thread."""
        self._busy = False

    def record(
        self, prompt: str, text: str, log: Sequence[Message], *, data: Any = None, has_data: bool = False
    ) -> None:
        """Add one successful run.

        Args:
            prompt: As given, untrimmed; only lone surrogates are replaced, which no file takes.
            text: What the agent said.
            log: The engine's log, this run included.
            data: The structured result; it has a JSON form.
            has_data: Whether there is one.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        kept = scrubbed(plain(data)) if has_data else None
        self._messages += [
            ThreadMessage("user", scrub(prompt), created_at=now),
            ThreadMessage("agent", scrub(text), kept, now, has_data),
        ]
        self._log, self._foreign = tuple(log), None


def create_thread(id: str | None = None) -> Thread:
    """Return an empty thread.

    Args:
        id: Its id; a fresh UUID by default.
    """
    return Thread(id)


def thread_from_dict(state: object) -> Thread:
    """Return the thread that `to_dict` described.

    Args:
        state: As from `to_dict`, perhaps through JSON. `created_at` is taken for `createdAt`.

    Raises:
        InvalidOptionError: Another version, no id, a malformed message, or something that is no JSON.
    """
    if not isinstance(state, Mapping):
        raise InvalidOptionError(
            f"A thread state must be a mapping of version {VERSION}, got {type(state).__name__}."
        )
    version, entries = state.get("version"), state.get("messages")
    if isinstance(version, bool) or version != VERSION:
        raise InvalidOptionError(
            f"Unsupported thread version {version!r}; this package reads version {VERSION}."
        )
    if not isinstance(state.get("id"), str) or not isinstance(entries, list):
        raise InvalidOptionError(
            f"A thread state of version {VERSION} needs a string id and a list of messages."
        )
    thread = Thread(state["id"])
    thread._messages = [_message_from(index, entry) for index, entry in enumerate(entries)]
    continuation = _json_of(state.get("continuation"), "The continuation of a thread")
    thread._log = journal_from(continuation)
    thread._foreign = continuation if thread._log is None else None
    return thread


def replay_prompt(messages: Sequence[ThreadMessage], prompt: str) -> str:
    """Return the prompt with earlier messages told before it (FACTS 12.10).

    Args:
        messages: Of the thread; none gives the prompt alone, unchanged.
        prompt: What the user says now.
    """
    if not messages:
        return prompt
    parts = ["The conversation so far:"]
    for message in messages:
        parts.append(f"{'User' if message.role == 'user' else 'Agent'}: {message.content}")
        if message.role == "agent" and message.has_data:
            parts.append(f"Agent's result: {compact_json(message.data)}")
    return "\n\n".join([*parts, "The user now says:", prompt])


def _check_count(what: str, count: object, there: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= there:
        raise InvalidOptionError(f"This thread has {there} {what}, it cannot be cut after {count!r}.")


def _message_state(message: ThreadMessage) -> ThreadMessageState:
    state: ThreadMessageState = {
        "role": message.role,
        "content": message.content,
        "createdAt": message.created_at,
    }
    if message.has_data:
        state["data"] = copy.deepcopy(message.data)
    return state


def _message_from(index: int, entry: Any) -> ThreadMessage:
    created = entry.get("createdAt", entry.get("created_at")) if isinstance(entry, Mapping) else None
    well_formed = (
        isinstance(entry, Mapping)
        and entry.get("role") in ("user", "agent")
        and isinstance(entry.get("content"), str)
        and isinstance(created, str)
    )
    if not well_formed:
        raise InvalidOptionError(
            f"Thread message {index} needs role 'user' or 'agent', content and createdAt as text."
        )
    has_data = "data" in entry and entry["role"] == "agent"
    data = _json_of(entry["data"], f"Thread message {index}: data") if has_data else None
    return ThreadMessage(entry["role"], scrub(entry["content"]), data, str(created), has_data)


def _json_of(value: Any, what: str) -> Any:
    """Return a copy of plain JSON data, without lone surrogates."""
    try:
        return scrubbed(plain(value))
    except (ValueError, RecursionError) as error:
        raise InvalidOptionError(f"{what} must be plain JSON values: {error}.", cause=error) from error
