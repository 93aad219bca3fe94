"""The value of `notebook.metadata.runcell`: threads and files, as plain JSON of bounded size.

`metadata.schema.json` beside this module describes it. No text in it is half of a surrogate pair (nbformat
would raise and leave the notebook empty), and no known key or token is in it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runcell_nb.core.jsontext import plain, scrubbed

from .file_history import FileHistory
from .file_restore import named
from .redaction import known_secrets, redacted_texts, texts_in, with_texts
from .state_merge import VERSION, merged
from .state_reading import MAX_UNPACKED_BYTES, LoadedState, is_newer, other_entries, state_from_metadata
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
    sandbox_files: str | None = None,
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
        files: States of the files; those that no turn names are not kept.
        sandbox_files: State of the sandbox now; None when it was not kept.
        before: The value that was there before: its `revision` and what other writers put there are kept.
            One of a newer version is returned as it is: this version would damage it.
        limit_bytes: Of threads and files together.

    Raises:
        ValueError: A newer version's value cannot be written as it is: it is nested too deep.
    """
    before = {} if before is None else before
    if is_newer(before):
        copy: dict[str, Any] = scrubbed(plain(before))
        return copy
    others = other_entries(before)
    drafts = [ThreadDraft(thread) for thread in book if thread is not book.active]
    drafts = [*sorted(drafts, key=lambda draft: draft.state["revision"]), ThreadDraft(book.active)]
    changed = redacted_texts([*texts_in(others), *(text for draft in drafts for text in draft.texts())])
    for draft in drafts:
        draft.change_texts(changed)
    room = max(0, limit_bytes - _FRAME_BYTES)
    wanted = _wanted_states(book, sandbox_files)
    kept, notes = _kept_files(files, wanted, room // 2)
    _fit(drafts, shortenings(drafts), room - json_bytes(kept))
    _fit(drafts, omissions(drafts), room)
    left = room - sum(draft.size for draft in drafts)
    if json_bytes(kept) > left:
        kept, notes = _kept_files(files, wanted, left)
    state: dict[str, Any] = {
        **with_texts(others, changed),
        **({"revision": before["revision"]} if "revision" in before else {}),
        "version": VERSION,
        "activeThread": drafts[-1].name,
        "threads": {draft.name: draft.stored() for draft in drafts},
        "files": kept,
        "sandbox": {"type": "virtual", "files": sandbox_files if sandbox_files in kept["states"] else None},
        "notes": notes,
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


def _wanted_states(book: ThreadBook, sandbox_files: str | None) -> list[str]:
    """Return the ids of the states that the notebook can go back to, the most useful first."""
    others = sorted((thread for thread in book if thread is not book.active), key=lambda one: -one.revision)
    turns = [turn for thread in (book.active, *others) for turn in reversed(thread.turns)]
    states = [sandbox_files, *(state for turn in turns for state in (turn.files_after, turn.files_before))]
    return [state for state in dict.fromkeys(states) if state is not None]


def _kept_files(
    files: FileHistory, wanted: Sequence[str], limit_bytes: int
) -> tuple[dict[str, Any], list[str]]:
    """Return the states that fit, and sentences on what is left out."""
    part = files.to_dict(limit_bytes, wanted)
    states, blobs, notes = part["states"], part["blobs"], []
    missing = [state for state in wanted if state in files and state not in states]
    if missing and missing[0] == wanted[0]:
        notes.append("The files of the sandbox are too big to be kept in the notebook.")
    elif missing:
        notes.append(f"{len(missing):,} earlier states of the files are too big to be kept in the notebook.")
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
