"""How the files of a sandbox were before and after each turn, so that a cell can run again from there.

A state is a list of paths with the digest of each content; contents are kept once, however many states have
them. What is kept is bounded: `MAX_FILE_BYTES` a file and `MAX_KEPT_BYTES` in all, the oldest states go
first. Whatever could not be kept or brought back is told in a sentence.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.paths import assert_safe_workspace_path, is_state_path
from runcell_nb.core.sandbox import FileInfo, Sandbox

from .file_digests import MAX_FILE_BYTES, FileDigests, digest_of
from .file_restore import FileRestore, named

MAX_KEPT_BYTES = 16 * 1024 * 1024
"""Bytes of all states together: contents, and the lists of paths as JSON."""

_JSON_LINE = 10
"""Bytes of indentation and line ends that an entry takes in a notebook's file."""

_JSON_ENTRY = 90
"""Bytes of an entry there beside its path or content: the digest, quotes, a line of its own."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_LOCK = "file history"


@dataclass(frozen=True, slots=True)
class FileState:
    """The files of a sandbox at some moment.

    Attributes:
        id: SHA-256 of the files as JSON, hexadecimal.
        files: SHA-256 of the content of each path, hexadecimal.
        size: Bytes of the files as JSON.
    """

    id: str
    files: Mapping[str, str]
    size: int


class FileHistory:
    """States of the files of one or more sandboxes, by id.

    Attributes:
        problem: What the last capture could not keep, in one sentence; None when it kept all.
        left_out: Paths of the files whose content the last capture could not keep.
    """

    def __init__(self) -> None:
        self.problem: str | None = None
        self.left_out: tuple[str, ...] = ()
        self._states: dict[str, FileState] = {}  # oldest first
        self._blobs: dict[str, bytes] = {}
        self._uses: Counter[str] = Counter()  # of a digest, by states
        self._kept = 0
        self._digests = FileDigests()

    def __contains__(self, state_id: object) -> bool:
        return state_id in self._states

    @property
    def kept_bytes(self) -> int:
        """What all states take; at most `MAX_KEPT_BYTES`."""
        return self._kept

    async def capture(self, sandbox: Sandbox) -> str | None:
        """Keep the files of a sandbox as they are now.

        Reads only files that are new, or whose size or time changed, since the last look at this handle.

        Args:
            sandbox: Its `.runcell/` never counts.

        Returns:
            Id of the state, the same for the same files; None when they are too big to be kept together,
            which `problem` then says.

        Raises:
            InvalidOptionError: The sandbox is destroyed.
        """
        contents = dict(self._blobs)
        async with sandbox.lock(_LOCK):
            listing = await self._digests.list(sandbox)
            if await asyncio.to_thread(_too_big, listing.files):
                self.problem = _not_kept(listing.files)
                return None
            files = await self._digests.read(sandbox, listing, contents)
        try:
            state = await asyncio.to_thread(_state_of, files)
        except UnicodeEncodeError:
            self.problem = "The files are not kept: the name of one is no valid text."
            return None
        self._add(state, contents)
        # They may have grown while they were read.
        kept = state.id in self._states
        self.left_out = tuple(info.path for info in listing.files if info.size > MAX_FILE_BYTES)
        self.problem = _left_out(listing.files) if kept else _not_kept(listing.files)
        return state.id if kept else None

    async def restore(self, sandbox: Sandbox, state_id: str, leaving: Collection[str] = ()) -> str | None:
        """Make the files of a sandbox those of a state: remove others, write what differs.

        Args:
            sandbox: Perhaps another than the one that was captured.
            state_id: From `capture`.
            leaving: Paths of files that are left alone: `left_out` of a capture, what could not be put back.

        Returns:
            What could not be brought back, in one sentence; None when all is as it was. For a state that
            is not kept, nothing is touched.

        Raises:
            InvalidOptionError: The sandbox is destroyed.
        """
        state = self._states.get(state_id)
        if state is None:
            return (
                f"The files of that moment are not kept any more (the newest {_mib(MAX_KEPT_BYTES)} are); "
                "the files stay as they are now."
            )
        return await self._bring_back(sandbox, state.files, leaving)

    async def clear(self, sandbox: Sandbox, leaving: Collection[str] = ()) -> str | None:
        """Remove all files of a sandbox, as `restore` to a state without any."""
        return await self._bring_back(sandbox, {}, leaving)

    async def _bring_back(
        self, sandbox: Sandbox, wanted: Mapping[str, str], leaving: Collection[str]
    ) -> str | None:
        contents = {path: self._blobs.get(digest) for path, digest in wanted.items()}
        async with sandbox.lock(_LOCK):
            present = await self._digests.read(sandbox, await self._digests.list(sandbox))
            work = FileRestore(sandbox, present)
            changing = {path for path, digest in present.items() if wanted.get(path) != digest}
            stuck = changing.intersection(leaving)
            work.leave(sorted(stuck))
            try:
                await work.remove(sorted(changing - contents.keys() - stuck))
                for path, digest in wanted.items():
                    if present.get(path) != digest and path not in stuck:
                        await work.write(path, contents[path])
            finally:
                self._digests.forget(sandbox, work.touched)
        return work.problem()

    def take_in(self, other: FileHistory) -> None:
        """Keep the states of another history too; they count as older than those that are here."""
        contents = {**other._blobs, **self._blobs}
        own = [state_id for state_id in self._states if state_id not in other]
        for state in (*other._states.values(), *[self._states[state_id] for state_id in own]):
            self._add(state, contents)

    def digests(self, state_id: str | None) -> Mapping[str, str] | None:
        """Return the SHA-256 of each file of a state, hexadecimal; None when the state is not kept."""
        state = None if state_id is None else self._states.get(state_id)
        return None if state is None else state.files

    def contents(self, state_id: str | None) -> dict[str, bytes | str] | None:
        """Return the files of a state: the content, or the digest of one that is not kept.

        Args:
            state_id: From `capture`.

        Returns:
            None when the state is not kept.
        """
        state = None if state_id is None else self._states.get(state_id)
        if state is None:
            return None
        return {path: self._blobs.get(digest, digest) for path, digest in state.files.items()}

    def to_dict(self, limit_bytes: int, keep: Iterable[str]) -> dict[str, Any]:
        """Return states as plain JSON: `{"states": {id: {path: digest}}, "blobs": {digest: base64}}`.

        It looks at the history once, at the beginning, so that it can be called on any thread.

        Args:
            limit_bytes: Of the JSON text. A state that does not fit is left out, with the contents that
                only it has.
            keep: Ids of the states that are wanted, the most wanted first; unknown ones are passed over.
        """
        states, blobs = dict(self._states), dict(self._blobs)
        chosen: dict[str, dict[str, str]] = {}
        contents: set[str] = set()
        room = limit_bytes
        for state in (states[state_id] for state_id in dict.fromkeys(keep) if state_id in states):
            more = {digest for digest in state.files.values() if digest in blobs} - contents
            needed = state.size + _JSON_ENTRY + sum(_base64_size(blobs[digest]) for digest in more)
            if needed <= room:
                room -= needed
                chosen[state.id] = dict(state.files)
                contents |= more
        return {
            "states": chosen,
            "blobs": {digest: base64.b64encode(blobs[digest]).decode() for digest in sorted(contents)},
        }

    @classmethod
    def from_dict(cls, value: object) -> FileHistory:
        """Return the history that `to_dict` described.

        A state whose contents are partly missing is taken: `restore` says what it cannot bring back.

        Args:
            value: As from `to_dict`, perhaps through JSON and other hands: digests are checked.

        Raises:
            InvalidOptionError: Says what is wrong: a shape, an unsafe path, a digest that does not fit, a
                content too big.
        """
        states, blobs = (_mapping(value, "Kept files", key) for key in ("states", "blobs"))
        contents = {digest: _content(digest, text) for digest, text in blobs.items()}
        history = cls()
        for state_id, files in states.items():
            history._add(_checked_state(state_id, files), contents)
        return history

    def _add(self, state: FileState, contents: Mapping[str, bytes]) -> None:
        """Keep a state as the newest one, and of the contents those that it has."""
        if state.id in self._states:
            self._states[state.id] = self._states.pop(state.id)
        else:
            self._states[state.id] = state
            self._uses.update(state.files.values())
            self._kept += state.size
        for digest in set(state.files.values()):
            if digest in contents and digest not in self._blobs:
                self._blobs[digest] = contents[digest]
                self._kept += len(contents[digest])
        while self._kept > MAX_KEPT_BYTES:
            self._drop(next(iter(self._states)))

    def _drop(self, state_id: str) -> None:
        state = self._states.pop(state_id)
        self._kept -= state.size
        for digest, uses in Counter(state.files.values()).items():
            self._uses[digest] -= uses
            if not self._uses[digest]:
                del self._uses[digest]
                self._kept -= len(self._blobs.pop(digest, b""))


def _state_of(files: Mapping[str, str]) -> FileState:
    text = json.dumps(files, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    data = text.encode("utf-8")
    # As a notebook is written, each entry has a line of its own, indented.
    return FileState(digest_of(data), files, len(data) + _JSON_LINE * (len(files) + 2))


def _too_big(infos: Sequence[FileInfo]) -> bool:
    """Tell whether files take too much to be kept together, as far as can be told without reading them."""
    lines = sum(len(info.path.encode("utf-8", "replace")) + _JSON_ENTRY for info in infos)
    return lines + sum(info.size for info in infos if info.size <= MAX_FILE_BYTES) > MAX_KEPT_BYTES


def _left_out(infos: Sequence[FileInfo]) -> str | None:
    big = [info.path for info in infos if info.size > MAX_FILE_BYTES]
    limit = _mib(MAX_FILE_BYTES)
    return f"Files over {limit} are not kept: going back does not bring back {named(big)}." if big else None


def _not_kept(infos: Sequence[FileInfo]) -> str:
    return (
        f"The sandbox's {len(infos):,} files are too big to be kept together (the limit is "
        f"{_mib(MAX_KEPT_BYTES)}, files over {_mib(MAX_FILE_BYTES)} not counted): "
        "going back to here will leave the files as they are."
    )


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"


def _base64_size(data: bytes) -> int:
    return (len(data) + 2) // 3 * 4 + _JSON_ENTRY


def _mapping(value: object, what: str, key: str) -> Mapping[str, Any]:
    found = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise InvalidOptionError(f"{what} need a mapping {key!r}, got {type(found).__name__}.")
    return found


def _checked_state(state_id: str, files: Any) -> FileState:
    what = f"Files of state {state_id[:12]!r}"
    if not isinstance(files, Mapping):
        raise InvalidOptionError(f"{what} must be a mapping, got {type(files).__name__}.")
    for path, digest in files.items():
        if assert_safe_workspace_path(path) != path or is_state_path(path):
            raise InvalidOptionError(f"{what}: {path!r} is no path of a workspace file.")
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise InvalidOptionError(f"{what}: the digest of {path!r} must be 64 hexadecimal digits.")
    try:
        state = _state_of(dict(files))
    except UnicodeEncodeError as error:
        raise InvalidOptionError(f"{what}: a path is no valid text.", cause=error) from error
    if state.id != state_id:
        raise InvalidOptionError(f"{what} are not what was kept: their digest is {state.id[:12]!r}.")
    return state


def _content(digest: str, text: Any) -> bytes:
    what = f"Kept content {digest[:12]!r}"
    if not isinstance(text, str) or len(text) > _base64_size(b"") + MAX_FILE_BYTES * 4 // 3:
        raise InvalidOptionError(f"{what} must be base64 text of at most {_mib(MAX_FILE_BYTES)}.")
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise InvalidOptionError(f"{what} is not base64.", cause=error) from error
    if digest_of(data) != digest or len(data) > MAX_FILE_BYTES:
        raise InvalidOptionError(f"{what} is not what was kept: its digest is {digest_of(data)[:12]!r}.")
    return data
