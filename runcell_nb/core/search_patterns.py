"""Patterns that come from a model: a hostile one costs a second, never the event loop.

They are matched by an engine that lets go of the interpreter while it works and has a time limit.
Compiling has neither, and unrolls counted repeats, so the size of what it would build is bounded
first. All of this is still to be called in a thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .outcome import ToolFailure

Pattern = Callable[[str], int | None]
"""Finds the first match in a line: where it starts, or None. Raises `TimeoutError` after a second."""

_MATCH_SECONDS = 1.0
_MAX_SIZE = 10_000
_RECURSION = re.compile(r"\(\?(?:R|&|P>|[+-]?\d)")  # eats gigabytes within the time limit
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d*),?(\d*)\}|.", re.DOTALL)


def regular_expression(pattern: str, ignore_case: bool) -> Pattern:
    """Compile a regular expression.

    Raises:
        ToolFailure: It is none, or would grow too big.
    """
    import regex

    if _RECURSION.search(pattern):
        raise ToolFailure(f"pattern {pattern!r} calls itself, which is not supported here.")
    if _expanded_size(pattern) > _MAX_SIZE:
        raise ToolFailure(f"pattern {pattern!r} repeats too much; use smaller counts in {{}}.")
    try:
        compiled = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0, cache_pattern=False)
    except (regex.error, RecursionError) as error:
        raise ToolFailure(
            f"pattern {pattern!r} is no regular expression: {error}. Set literal to search for plain text."
        ) from error
    return _starting(compiled)


def literal_pattern(text: str, ignore_case: bool) -> Pattern:
    """Return a pattern that finds a text as it is."""
    import regex

    if ignore_case:
        return _starting(regex.compile(regex.escape(text), regex.IGNORECASE))
    return lambda line: start if (start := line.find(text)) >= 0 else None


def path_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test for relative paths; it raises `TimeoutError` after a second.

    Args:
        pattern: With `*` within a folder, `**` across folders, `?`, `[…]` and `{a,b}`.

    Raises:
        ToolFailure: It is no file pattern.
    """
    import regex
    from wcmatch import glob

    try:
        wanted, _ = glob.translate(pattern, flags=glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.FORCEUNIX)
        compiled = [regex.compile(translated) for translated in wanted]
    except Exception as error:  # wcmatch has no common base of its errors
        raise ToolFailure(f"pattern {pattern!r} is no file pattern: {error}.") from error
    return lambda path: any(
        one.match(path, timeout=_MATCH_SECONDS, concurrent=True) is not None for one in compiled
    )


def _starting(compiled: Any) -> Pattern:
    def start(line: str) -> int | None:
        found = compiled.search(line, timeout=_MATCH_SECONDS, concurrent=True)
        return None if found is None else int(found.start())

    return start


def _expanded_size(pattern: str) -> int:
    """Estimate how many elements a pattern has once its counted repeats are unrolled."""
    sizes, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        counts = [int(count) for count in token.groups() if count]
        if counts:
            sizes[-1] += last * (max(counts) - 1)
            last *= max(counts)
        elif token[0] == "(":
            sizes.append(0)
        elif token[0] == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)
