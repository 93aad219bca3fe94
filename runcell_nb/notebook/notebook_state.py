"""The value of `notebook.metadata.runcell`: threads and files, as plain JSON of bounded size.

`metadata.schema.json` beside this module describes it. No text in it is half of a surrogate pair (nbformat
would raise and leave the notebook empty), and no known key or token is in it.
"""

from __future__ import annotations

import base64
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from runcell_nb.core.jsontext import plain, scrubbed
from runcell_nb.models.redaction import known_secrets, redacted_texts, texts_in, with_texts

from .file_history import FileHistory
from .file_restore import named
from .kept_sandboxes import KeptShelf
from .state_merge import VERSION, merged
from .state_reading import (
    MAX_UNPACKED_BYTES,
    LoadedState,
    is_newer,
    newest_deleted,
    other_entries,
    state_from_metadata,
)
from .thread_draft import Edit, ThreadDraft, json_bytes, omissions, shortenings
from .turns import ThreadBook

__all__ = ["MAX_METADATA_BYTES", "LoadedState", "merged", "state_from_metadata", "state_to_metadata"]

MAX_METADATA_BYTES = 2_000_000
"""Of threads and files together, as compact JSON; entries of other writers are not counted."""

_FRAME_BYTES = 10_000
"""Room for what is around the threads and files."""


def state_to_metadata(
    book: ThreadBook,
    files: FileHistory,
    shelf: KeptShelf | None = None,
    before: Mapping[str, Any] | None = None,
    limit_bytes: int = MAX_METADATA_BYTES,
) -> dict[str, Any]:
    """Return what the notebook keeps, as plain JSON; threads and files stay as they are.

    The same input gives the same value. Where it would be too big, these go, each with a sentence in its
    place or in `notes`: file states beyond half of the room, the oldest first; big tool results, those of
    inactive threads and old ones first; more file states; the logs of inactive threads, then of the active
    one; and at last long and old messages.

    Args:
        book: All threads.
        files: States of the files; kept are those that sandboxes have now, and those of turns in sandboxes
            that can be made again.
        shelf: The sandboxes now; None for an empty main one.
        before: The value that was there before: its `revision` and what other writers put there are kept.
            One of a newer version is returned as it is: this version would damage it.
        limit_bytes: Of threads and files together.

    Raises:
        ValueError: A newer version's value cannot be written as it is: it is nested too deep.
    """
    before = {} if before is None else before
    shelf = KeptShelf() if shelf is None else shelf
    if is_newer(before):
        copy: dict[str, Any] = scrubbed(plain(before))
        return copy
    others = other_entries(before)
    parts: dict[str, Any] = {"deleted": newest_deleted(book.deleted), **shelf.to_dict(files)}
    drafts = [ThreadDraft(thread) for thread in book if thread is not book.active]
    drafts = [*sorted(drafts, key=lambda draft: draft.state["revision"]), ThreadDraft(book.active)]
    said = (text for draft in drafts for text in draft.texts())
    changed = redacted_texts([*texts_in([others, parts]), *said])
    for draft in drafts:
        draft.change_texts(changed)
    room = max(0, limit_bytes - _FRAME_BYTES - json_bytes(parts))
    wanted = _wanted_states(book, shelf)
    kept, notes = _kept_files(files, wanted, room // 2)
    _fit(drafts, shortenings(drafts), room - json_bytes(kept))
    _fit(drafts, omissions(drafts), room)
    left = room - sum(draft.size for draft in drafts)
    if json_bytes(kept) > left:
        kept, notes = _kept_files(files, wanted, left)
    parts |= shelf.to_dict(kept["states"])
    state: dict[str, Any] = {
        **with_texts(others | parts, changed),
        **({"revision": before["revision"]} if "revision" in before else {}),
        "version": VERSION,
        "activeThread": drafts[-1].name,
        "threads": {draft.name: draft.stored() for draft in drafts},
        "files": kept,
        "notes": [*_too_big(shelf, files, kept["states"]), *notes],
    }
    clean: dict[str, Any] = scrubbed(state)
    return clean


def _fit(drafts: Sequence[ThreadDraft], edits: Iterable[Edit], room: int) -> None:
    """Make drafts smaller until they fit, or there is nothing more to do."""
    for edit in edits:
        small = sum(draft.size for draft in drafts) <= room
        if small and sum(draft.unpacked for draft in drafts) <= MAX_UNPACKED_BYTES:
            return
        edit()


def _wanted_states(book: ThreadBook, shelf: KeptShelf) -> list[str]:
    """Return the ids of the states that the notebook can go back to, the most useful first."""
    others = sorted((thread for thread in book if thread is not book.active), key=lambda one: -one.revision)
    turns = [turn for thread in (book.active, *others) for turn in reversed(thread.turns)]
    there = [turn for turn in turns if turn.sandbox in shelf.rebuilt]  # not of a folder on a disk, say
    states = [*shelf.states, *(state for turn in there for state in (turn.files_after, turn.files_before))]
    return [state for state in dict.fromkeys(states) if state is not None]


def _too_big(shelf: KeptShelf, files: FileHistory, kept: Container[str]) -> list[str]:
    """Return a sentence on the sandboxes whose files are not kept, if there are any."""
    states = {name: sandbox.files for name, sandbox in shelf.sandboxes.items()}
    missing = [name for name, state in states.items() if state in files and state not in kept]
    return [f"Too big to be kept in the notebook: the files of sandbox {named(missing)}."] if missing else []


def _kept_files(
    files: FileHistory, wanted: Sequence[str], limit_bytes: int
) -> tuple[dict[str, Any], list[str]]:
    """Return the states that fit, and sentences on what is left out."""
    part = files.to_dict(limit_bytes, wanted)
    states, blobs, notes = part["states"], part["blobs"], []
    missing = sum(state in files and state not in states for state in wanted)
    if missing:
        which = "1 state" if missing == 1 else f"{missing:,} states"
        notes.append(f"Too big to be kept in the notebook: {which} of the files.")
    telling = {
        state for state, paths in states.items() if redacted_texts(paths)
    }  # the id is a digest of the paths
    if telling:
        notes.append("States with a key or token in the name of a file are not kept in the notebook.")
    secrets = known_secrets()
    secret = {key for key, text in blobs.items() if _holds_any(base64.b64decode(text), secrets)}
    if secret:
        paths = {path for paths in states.values() for path, key in paths.items() if key in secret}
        notes.append(f"Not kept in the notebook, because a key or token is in it: {named(sorted(paths))}.")
    return {
        "states": {state: paths for state, paths in states.items() if state not in telling},
        "blobs": {key: text for key, text in blobs.items() if key not in secret},
    }, notes


def _holds_any(content: bytes, secrets: Iterable[bytes]) -> bool:
    return any(secret in content for secret in secrets)
