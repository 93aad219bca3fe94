"""Reading the value of `metadata.runcell`: somebody's file, so nothing in it is believed.

What is damaged or hostile is left out, each with one sentence; the rest is taken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.journal import ENGINE
from runcell_nb.core.jsontext import plain, scrub, scrubbed

from .file_history import FileHistory
from .kept_log import UnpackingRoom
from .kept_sandboxes import KeptShelf, shelf_from_metadata
from .notebook_thread import MAX_REVISION, NotebookThread, check_thread_name, notebook_thread_from_dict
from .state_merge import VERSION, deleted_of
from .turns import MAIN, ThreadBook

MAX_THREADS = 200
"""Threads that are read."""

MAX_UNPACKED_BYTES = 64 * 1024 * 1024
"""What the continuations of all threads together unpack to."""

MAX_OTHER_BYTES = 8 * 1024 * 1024
"""What the entries of other writers may take together."""

MAX_DELETED = 100
"""Threads that were deleted, of which a notebook keeps that: those with the highest revisions."""

OWN_KEYS = frozenset(
    (
        "version",
        "revision",
        "activeThread",
        "threads",
        "deleted",
        "files",
        "activeSandbox",
        "sandboxes",
        "sandbox",
        "notes",
    )
)
"""Entries that this package writes, or has written; others are kept as they are."""

_MAX_PROBLEMS = 20
_MAX_SENTENCE = 400


@dataclass(frozen=True, slots=True)
class LoadedState:
    """What a notebook has kept.

    Attributes:
        book: Its threads; an empty `main` when there are none.
        files: States of files.
        shelf: Its sandboxes; the states of their files are in `files`.
        problems: What was left out, and why, one sentence each: when the notebook was written, or now.
            They quote a stranger's file.
    """

    book: ThreadBook
    files: FileHistory
    shelf: KeptShelf = field(default_factory=KeptShelf)
    problems: list[str] = field(default_factory=list)


def state_from_metadata(value: Any) -> LoadedState:
    """Return what the value of `metadata.runcell` holds; never raises for what it finds.

    Args:
        value: Any JSON value; None when there is none.
    """
    problems = _Problems()
    entries = _entries(value, problems)
    threads = _threads(entries.get("threads", {}), problems)
    files = _files(entries.get("files", {"states": {}, "blobs": {}}), problems)
    other_entries(entries, problems.add)
    problems.take_notes(entries)
    shelf = shelf_from_metadata(entries, files, problems.add)
    book = _book(threads, entries.get("activeThread"), newest_deleted(deleted_of(entries)), problems)
    return LoadedState(book, files, shelf, problems.sentences)


def newest_deleted(deleted: Mapping[str, int]) -> dict[str, int]:
    """Return what a notebook keeps of the threads that were deleted: revisions by name, bounded."""
    newest = sorted(deleted, key=lambda name: (-deleted[name], name))[:MAX_DELETED]
    return {name: deleted[name] for name in newest}


def is_newer(value: Any) -> bool:
    """Tell whether a state was written by a newer version, which may be read and changed by that alone."""
    version = value.get("version") if isinstance(value, Mapping) else None
    return type(version) is int and version > VERSION


def other_entries(
    value: Mapping[str, Any], tell: Callable[[str], object] = lambda sentence: None
) -> dict[str, Any]:
    """Return a clean copy of the entries of other writers, such as recordings.

    Args:
        value: Of `metadata.runcell`.
        tell: Is told in a sentence what is left out.
    """
    kept: dict[str, Any] = {}
    room = MAX_OTHER_BYTES
    for key in value.keys() - OWN_KEYS:
        try:
            clean = scrubbed(plain(value[key]))
            room -= len(json.dumps(clean))
        except (ValueError, RecursionError):
            tell(f"The entry {key[:60]!r} of the notebook's metadata is nested too deep and left out.")
            continue
        if room < 0:
            tell("The entries of other writers in the notebook's metadata are too big and left out.")
            return {}
        kept[scrub(key)] = clean
    return dict(sorted(kept.items()))


class _Problems:
    """Sentences, not too many and none too long."""

    def __init__(self) -> None:
        self._told: dict[str, None] = {}
        self._more = 0

    def add(self, sentence: str) -> None:
        if len(self._told) < _MAX_PROBLEMS:
            self._told[scrub(sentence[:_MAX_SENTENCE])] = None
        else:
            self._more += 1

    def take_notes(self, entry: Mapping[str, Any]) -> None:
        """Tell what the writer has left out."""
        notes = entry.get("notes")
        for note in notes[:_MAX_PROBLEMS] if isinstance(notes, list) else ():
            if isinstance(note, str) and note:
                self.add(note)

    @property
    def sentences(self) -> list[str]:
        more = [f"{self._more:,} more things could not be read."] if self._more else []
        return [*self._told, *more]


def _entries(value: Any, problems: _Problems) -> dict[str, Any]:
    if value is None or value == {}:
        return {}
    version = value.get("version") if isinstance(value, dict) else None
    if is_newer(value):
        problems.add(
            "What this notebook keeps of its threads was written by a newer version of runcell-nb "
            f"(format {str(version)[:20]}, this one reads {VERSION}); it is left as it is and not used."
        )
    elif not isinstance(value, dict) or type(version) is not int or version != VERSION:
        problems.add("What this notebook keeps of its threads has no readable format; it is not used.")
    else:
        return {key: item for key, item in value.items() if isinstance(key, str)}
    return {}


def _threads(value: Any, problems: _Problems) -> list[NotebookThread]:
    if not isinstance(value, dict):
        problems.add("The threads of this notebook are damaged and left out.")
        return []
    if len(value) > MAX_THREADS:
        problems.add(f"The notebook has {len(value):,} threads; {MAX_THREADS} of them are read.")
    reader, found = _ThreadReader(problems), []
    for name in list(value)[:MAX_THREADS]:
        try:
            found.append(reader.read(name, value[name]))
        except Exception as error:  # whatever a stranger's file brings about, the other threads are read
            problems.add(f"Thread {str(name)[:60]!r} of this notebook is damaged and left out: {error}")
    return found


class _ThreadReader:
    """Reads threads; what they unpack to is counted over all of them."""

    def __init__(self, problems: _Problems) -> None:
        self._problems = problems
        self._room = UnpackingRoom(MAX_UNPACKED_BYTES)

    def read(self, name: Any, state: Any) -> NotebookThread:
        check_thread_name(name)
        if not isinstance(state, dict):
            raise InvalidOptionError("it is no mapping.")
        bare = {key: item for key, item in state.items() if key != "continuation"} | {"name": name}
        revision = bare.get("revision")
        if type(revision) is int and revision > MAX_REVISION:
            self._problems.add(
                f"The revision of thread {name!r} is higher than a notebook comes to; it counts as 0."
            )
        continuation = state.get("continuation")
        if continuation is None or self._is_readable(continuation):
            thread = notebook_thread_from_dict({**bare, "continuation": continuation})
        else:
            thread = notebook_thread_from_dict(bare)
        if _is_ours(continuation) and thread.thread.log is None:
            thread = notebook_thread_from_dict(bare)  # a damaged log is nobody else's
            self._problems.add(
                f"The tool calls of thread {name!r} cannot be read; the model is told its messages instead."
            )
        self._problems.take_notes(state)
        return thread

    def _is_readable(self, continuation: Any) -> bool:
        return not _is_ours(continuation) or self._room.takes(continuation.get("journalGz"))


def _is_ours(continuation: Any) -> bool:
    return isinstance(continuation, dict) and continuation.get("engine") == ENGINE


def _book(
    threads: list[NotebookThread], active: Any, deleted: dict[str, int], problems: _Problems
) -> ThreadBook:
    names = [thread.name for thread in threads]
    if active in names:
        return ThreadBook(threads, active, deleted)
    if threads and active is not None:
        name = f" {active[:60]!r}" if isinstance(active, str) else ""
        problems.add(f"The active thread{name} is not there.")
    return ThreadBook(threads, MAIN if MAIN in names else None, deleted)


def _files(value: Any, problems: _Problems) -> FileHistory:
    """Return the kept files; when something in them is damaged, those that are not."""
    try:
        return FileHistory.from_dict(value)
    except Exception as error:  # as above
        problems.add(f"Not all of the files that this notebook keeps can be read: {error}")
    parts = {part: value.get(part) if isinstance(value, dict) else None for part in ("states", "blobs")}
    sound = {
        part: dict(_sound(part, items)) if isinstance(items, dict) else {} for part, items in parts.items()
    }
    return FileHistory.from_dict(sound)


def _sound(part: str, items: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    empty: dict[str, dict[str, Any]] = {"states": {}, "blobs": {}}
    for key, item in items.items():
        try:
            FileHistory.from_dict(empty | {part: {key: item}})
        except Exception:  # as above
            continue
        yield key, item
