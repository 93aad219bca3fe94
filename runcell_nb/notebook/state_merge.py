"""One state out of the copies that a notebook has: on disk, in the front end, in the outputs of its cells."""

from __future__ import annotations

from typing import Any

from .notebook_thread import MAX_REVISION as MAX_THREAD_REVISION

VERSION = 1
"""Of the metadata that this package writes."""

MAX_REVISION = 2**53 - 1
"""Of a state; larger numbers are not exact in a front end."""


def merged(a: Any, b: Any) -> dict[str, Any]:
    """Return what two copies of `metadata.runcell` hold together; neither is changed, and parts are shared.

    Of each thread the copy with the higher revision wins; then the one with more turns, the one with a
    continuation, the first. One that was deleted with that revision, or a higher one, is left out. Kept files
    are united. All else is from the copy with the higher revision of its own, or the first; recordings from
    the other where that one has none. A copy of a newer version wins as a whole, since nothing is known of
    it.

    Args:
        a: Any JSON value; what is no state counts as empty.
        b: Likewise.
    """
    first, second = _version_of(a), _version_of(b)
    if first != second:
        return dict(a if first > second else b)
    if not first:
        return {}
    head = b if _revision_of(b) > _revision_of(a) else a
    if first > VERSION:
        return dict(head)
    state = dict(head)
    for key, unite in (("threads", _threads), ("files", _files)):
        if key in a or key in b:
            state[key] = _united(a.get(key), b.get(key), unite)
    if "recordings" not in state and ("recordings" in a or "recordings" in b):
        state["recordings"] = (a if "recordings" in a else b)["recordings"]
    deleted = _highest(deleted_of(a), deleted_of(b))
    if "deleted" in a or "deleted" in b:
        state["deleted"] = deleted
    if isinstance(state.get("threads"), dict):
        state["threads"] = _without(deleted, state["threads"])
    return state


def deleted_of(state: Any) -> dict[str, int]:
    """Return the revisions of the threads that were deleted, by name; what is none is left out."""
    deleted = state.get("deleted") if _version_of(state) == VERSION else None
    found = deleted.items() if isinstance(deleted, dict) else ()
    return {name: at for name, at in found if type(at) is int and 0 <= at <= MAX_THREAD_REVISION}


def _united(a: Any, b: Any, unite: Any) -> Any:
    if isinstance(a, dict) and isinstance(b, dict):
        return unite(a, b)
    return b if isinstance(b, dict) or a is None else a


def _threads(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    return {name: max((side[name] for side in (a, b) if name in side), key=_rank) for name in a | b}


def _highest(a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
    return {name: max(a.get(name, 0), b.get(name, 0)) for name in a | b}


def _without(deleted: dict[str, int], threads: dict[str, Any]) -> dict[str, Any]:
    return {
        name: thread
        for name, thread in threads.items()
        if name not in deleted or _rank(thread)[0] > deleted[name]
    }


def _files(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    both = b | a
    for part in ("states", "blobs"):
        if part in both:
            both[part] = _united(a.get(part), b.get(part), lambda one, two: two | one)
    return both


def _rank(thread: Any) -> tuple[int, int, bool]:
    """Tell which of two copies of a thread is better; one that cannot be read is worse than any other."""
    if not isinstance(thread, dict) or not isinstance(thread.get("messages"), list):
        return -2, 0, False
    turns = thread.get("turns", [])
    if not isinstance(turns, list) or _version_of(thread) != VERSION or not isinstance(thread.get("id"), str):
        return -2, 0, False
    revision = thread.get("revision", 0)
    known = type(revision) is int and 0 <= revision <= MAX_THREAD_REVISION
    return revision if known else -1, len(turns), "continuation" in thread


def _version_of(state: Any) -> int:
    version = state.get("version") if isinstance(state, dict) else None
    return version if type(version) is int and version > 0 else 0


def _revision_of(state: dict[str, Any]) -> int:
    revision = state.get("revision", 0)
    return revision if type(revision) is int and 0 <= revision <= MAX_REVISION else -1
