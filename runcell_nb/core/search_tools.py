"""The built-in tools that search: grep and glob (FACTS 4.10, 4.11)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

from pydantic import Field

from .builtin_tool import ToolArguments, ToolWorkspace, builtin_tool
from .bulk_read import read_in_batches
from .outcome import ToolFailure, ToolOutcome, text_outcome
from .sandbox import FileInfo
from .search_patterns import Pattern, literal_pattern, path_matcher, regular_expression

MAX_PATHS = 1000
MAX_HITS = 100
MAX_LINE_CHARS = 500
MAX_SEARCHED_BYTES = 16 * 1024 * 1024
MAX_PATTERN_CHARS = 1000

_SEARCH_SECONDS = 30.0

P = ParamSpec("P")
T = TypeVar("T")


class _Grep(ToolArguments):
    pattern: str = Field(
        min_length=1, max_length=MAX_PATTERN_CHARS, description="Regular expression, matched line by line."
    )
    path: str = Field(".", description="File or folder to search, relative to the workspace.")
    glob: str | None = Field(
        None,
        max_length=MAX_PATTERN_CHARS,
        description="Only files whose name (or path, with a /) matches, as *.py.",
    )
    ignore_case: bool = Field(False, description="Take upper and lower case as the same.")
    literal: bool = Field(False, description="Search for the pattern as plain text.")
    context: int = Field(0, ge=0, le=50, description="Lines to show before and after each hit.")
    limit: int = Field(MAX_HITS, ge=1, le=10_000, description="Most hits to show.")


class _Glob(ToolArguments):
    pattern: str = Field(
        min_length=1,
        max_length=MAX_PATTERN_CHARS,
        description="As src/**/*.py; * stays within a folder, ** crosses.",
    )
    path: str = Field(".", description="Folder to search, relative to the workspace.")


@dataclass(slots=True)
class _Search:
    """A search on its way; `stop` ends it at the next line."""

    pattern: Pattern
    context: int
    room: int
    deadline: float = field(default_factory=lambda: time.monotonic() + _SEARCH_SECONDS)
    stop: threading.Event = field(default_factory=threading.Event)
    out: list[str] = field(default_factory=list)
    more: bool = False

    def take(self, infos: Sequence[FileInfo], contents: Sequence[bytes | None]) -> None:
        """Search some files."""
        for info, data in zip(infos, contents, strict=True):
            if data is None or b"\0" in data[:8192] or self.more:
                continue
            lines = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
            hits = list(self._hits(lines))
            self.out.extend(self._shown(info.path, lines, dict(hits)))

    def _hits(self, lines: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield the index of each hit and where in its line it starts."""
        for index, line in enumerate(lines):
            if self.stop.is_set() or time.monotonic() > self.deadline:
                raise TimeoutError
            start = self.pattern(line)
            if start is None:
                continue
            if self.room == 0:
                self.more = True
                return
            self.room -= 1
            yield index, start

    def _shown(self, path: str, lines: Sequence[str], hits: dict[int, int]) -> Iterator[str]:
        last = None
        for index in sorted(self._with_context(hits, len(lines))):
            if self.context and (last is not None or self.out) and index - 1 != last:
                yield "--"
            mark = ":" if index in hits else "-"
            yield f"{path}{mark}{index + 1}{mark}{_cut(lines[index], hits.get(index, 0))}"
            last = index

    def _with_context(self, hits: dict[int, int], count: int) -> set[int]:
        wide = self.context
        return {near for hit in hits for near in range(max(0, hit - wide), min(count, hit + wide + 1))}


async def _grep(arguments: _Grep, workspace: ToolWorkspace) -> ToolOutcome:
    path = workspace.path(arguments.path)
    search = _Search(await asyncio.to_thread(_regex, arguments), arguments.context, arguments.limit)
    files = await _files(path, workspace)
    if arguments.glob is not None:
        prefix = "" if path == "." else path + "/"
        anywhere = arguments.glob if "/" in arguments.glob else f"**/{arguments.glob}"
        fits = await asyncio.to_thread(path_matcher, anywhere)
        files = await _timed(arguments.glob, _fitting, files, fits, prefix)
    small = [info for info in files if info.size <= MAX_SEARCHED_BYTES]
    try:
        async for infos, contents in read_in_batches(workspace.sandbox, small):
            await _timed(arguments.pattern, search.take, infos, contents)
            if search.more:
                break
    finally:
        search.stop.set()
    return text_outcome(await workspace.outputs.fitted(_report(search, arguments, len(files) - len(small))))


async def _glob(arguments: _Glob, workspace: ToolWorkspace) -> ToolOutcome:
    path = workspace.path(arguments.path)
    if arguments.pattern.startswith("/") or ".." in arguments.pattern.split("/"):
        raise ToolFailure(f"pattern {arguments.pattern!r} leads outside; match on paths inside the folder.")
    if await workspace.sandbox.list_directory(path) is None:
        raise ToolFailure(f"There is no folder {path!r} in the workspace.")
    prefix = "" if path == "." else path + "/"
    infos = await workspace.sandbox.list_files(path)
    fits = await asyncio.to_thread(path_matcher, arguments.pattern)
    fitting = await _timed(arguments.pattern, _fitting, infos, fits, prefix)
    found = [info.path for info in fitting]
    if not found:
        hint = "" if "/" in arguments.pattern else f" Use '**/{arguments.pattern}' to look in subfolders too."
        return text_outcome(f"No files match {arguments.pattern!r} in {path!r}.{hint}")
    found.sort(key=lambda name: (name.casefold(), name))
    cut = [f"[{MAX_PATHS} of {len(found)} files shown]"] if len(found) > MAX_PATHS else []
    return text_outcome(await workspace.outputs.fitted("\n".join(found[:MAX_PATHS] + cut)))


async def _files(path: str, workspace: ToolWorkspace) -> list[FileInfo]:
    if path == "." or await workspace.sandbox.list_directory(path) is not None:
        return await workspace.sandbox.list_files(path)
    data = await workspace.sandbox.read_file(path)
    if data is None:
        raise ToolFailure(f"There is no file or folder {path!r} in the workspace.")
    return [FileInfo(path, len(data), datetime.now(UTC))]


def _fitting(infos: Sequence[FileInfo], fits: Callable[[str], bool], prefix: str) -> list[FileInfo]:
    return [info for info in infos if fits(info.path.removeprefix(prefix))]


async def _timed(pattern: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return await asyncio.to_thread(work, *args, **kwargs)
    except TimeoutError:
        raise ToolFailure(
            f"pattern {pattern!r} takes too long; use a simpler one, or a narrower path."
        ) from None


def _regex(arguments: _Grep) -> Pattern:
    if arguments.literal:
        return literal_pattern(arguments.pattern, arguments.ignore_case)
    return regular_expression(arguments.pattern, arguments.ignore_case)


def _report(search: _Search, arguments: _Grep, oversize: int) -> str:
    lines = search.out or [f"No matches for {arguments.pattern!r} in {arguments.path!r}."]
    if search.more:
        lines.append(f"[stopped after {arguments.limit} hits; narrow the search or raise limit]")
    if oversize:
        lines.append(f"[{oversize} files larger than {MAX_SEARCHED_BYTES} bytes were not searched]")
    return "\n".join(lines)


def _cut(line: str, start: int) -> str:
    line = line.removesuffix("\r")
    if len(line) <= MAX_LINE_CHARS:
        return line
    first = max(0, min(start - 100, len(line) - MAX_LINE_CHARS))
    part = line[first : first + MAX_LINE_CHARS]
    return f"{'…' if first else ''}{part}… [{len(line)} characters]"


GREP = builtin_tool(
    "grep",
    f"Search text files with a regular expression. Hits come as path:line:text, at most {MAX_HITS} unless "
    "limit says otherwise; binary files are skipped.",
    _Grep,
    _grep,
)
GLOB = builtin_tool(
    "glob", f"Find files by a pattern on their path. At most {MAX_PATHS} are shown.", _Glob, _glob
)
