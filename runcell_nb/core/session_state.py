"""The conversations of a sandbox, kept in its state folder under the id of their session (FACTS 12.14).

What the agent runs can write there too, so what is read back is checked like anybody's input. A file has
two lines: what it is and whose, as JSON, and the journal.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Iterable, Sequence

from .journal import journal_from, journal_of
from .messages import Message
from .paths import STATE_FOLDER
from .sandbox import Sandbox

SESSION_FOLDER = f"{STATE_FOLDER}/sessions"
"""Where sessions are kept, as <number>-<digest of the id>; the highest number is the newest."""

MAX_SESSIONS = 50
"""Sessions that a sandbox keeps; the oldest go first."""

MAX_SESSION_BYTES = 64 * 1024 * 1024
"""Bytes of one session's file; a larger one is not written, and not unpacked when somebody else wrote it."""

_NAME = re.compile(r"[0-9]{12}-[0-9a-f]{64}")
_NUMBERS = 10**12


async def load_session(sandbox: Sandbox, session_id: str) -> tuple[Message, ...] | None:
    """Return the conversation of a session.

    Args:
        sandbox: Where it was kept.
        session_id: Any text.

    Returns:
        Its log, valid by `message_log.valid_log`; None when there is none, or nothing that could be
        one: another engine's, cut, tampered with, too big, no file. Never raises for what it finds.
    """
    try:
        async with sandbox.lock(SESSION_FOLDER):  # a save removes the file that was listed
            own = _names_of(await sandbox.list_directory(SESSION_FOLDER) or [], _digest(session_id))
            data = await sandbox.read_file(f"{SESSION_FOLDER}/{own[-1]}") if own else None
        return None if data is None else await asyncio.to_thread(_unpacked, data, session_id)
    except Exception:  # a folder or a link in its place, say: each backend has its own words for that
        return None


async def save_session(sandbox: Sandbox, session_id: str, messages: Sequence[Message]) -> None:
    """Keep the conversation of a session instead of what was kept of it before.

    Args:
        sandbox: Where to keep it; runs that share it wait for each other.
        session_id: Any text.
        messages: Its log.

    Raises:
        ValueError: The conversation is too big to be kept, or cannot be written as JSON.
        InvalidOptionError: The sandbox is destroyed, or its state folder cannot be written.
        Exception: What else the sandbox's backend raises.
    """
    data = await asyncio.to_thread(_packed, session_id, messages)
    if len(data) > MAX_SESSION_BYTES:
        raise ValueError(
            f"The session has {len(data)} bytes, the limit is {MAX_SESSION_BYTES}; it was not kept."
        )
    digest = _digest(session_id)
    async with sandbox.lock(SESSION_FOLDER):
        names = _sessions(await sandbox.list_directory(SESSION_FOLDER) or [])
        number = (int(names[-1][:12]) + 1) % _NUMBERS if names else 0
        newest = f"{number:012}-{digest}"
        # The new one first: if the machine stops between the two, both are there and the newer counts.
        await sandbox.write_file(f"{SESSION_FOLDER}/{newest}", data)
        others = [name for name in names if not name.endswith(digest)]
        for name in (*_names_of(names, digest), *others[: -(MAX_SESSIONS - 1)]):
            if name != newest:
                await sandbox.remove(f"{SESSION_FOLDER}/{name}")


def _sessions(names: Iterable[str]) -> list[str]:
    """Return the names that are of sessions, the oldest first; folders count, so that they are replaced."""
    return sorted(name for name in (name.rstrip("/") for name in names) if _NAME.fullmatch(name))


def _names_of(names: Iterable[str], digest: str) -> list[str]:
    return [name for name in _sessions(names) if name.endswith(digest)]


def _digest(session_id: str) -> str:
    # Lone surrogates are legal in Python text and must neither fail here nor be taken for one another.
    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()


def _packed(session_id: str, messages: Sequence[Message]) -> bytes:
    journal: str = journal_of(messages)["journalGz"]
    return _head(session_id) + journal.encode("ascii")


def _unpacked(data: bytes, session_id: str) -> tuple[Message, ...] | None:
    head = _head(session_id)
    if len(data) > MAX_SESSION_BYTES or not data.startswith(head):
        return None
    return journal_from({**journal_of(()), "journalGz": data[len(head) :].decode("ascii")})


def _head(session_id: str) -> bytes:
    """Return the first line. It is compared and never parsed, so that nothing in it can do harm."""
    told = {name: value for name, value in journal_of(()).items() if name != "journalGz"}
    return json.dumps({**told, "sessionId": session_id}).encode("ascii") + b"\n"
