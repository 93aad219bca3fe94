"""Assertions on what an agent did: a failure says what was expected, what was found, what comes nearest."""

from __future__ import annotations

import difflib
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runcell_nb.core.errors import InvalidOptionError, repr_of
from runcell_nb.core.result import RunResult

from .observing import Observed, ObservedCall

Wanted = str | tuple[str, Mapping[str, Any]]
"""A tool's name, or the name with some of the arguments of the call."""

_LINES = 40

_CHANGES = ("create", "modify", "delete")


def assert_tools_called(run: Observed, calls: Iterable[Wanted], *, order: bool = True) -> None:
    """Check that a run called tools; it may have called others in between.

    Args:
        run: From `observe`.
        calls: Names, or `(name, {argument: value})`: arguments that are not named may be anything.
        order: Whether they must come in this order.

    Raises:
        AssertionError: One is missing; names it, and all calls that were made.
        InvalidOptionError: `calls` is no list of such.
    """
    __tracebackhide__ = True
    wanted = _checked_calls(calls)
    missing = _first_missing(wanted, run.calls) if order else _first_unmatched(wanted, run.calls)
    if missing is not None:
        raise AssertionError(_missing(missing, run.calls, order=order))


def assert_files_changed(
    run: Observed | RunResult[Any], files: Mapping[str, Any], *, only: bool = True
) -> None:
    """Check which files a run changed, and how.

    Args:
        run: From `observe`, or a `RunResult`, which does not know of deleted files.
        files: By path: 'create', 'modify' or 'delete'; or a dict with `text`, the content, and `change`, or
            one of them.
        only: Whether no other file may have changed.

    Raises:
        AssertionError: A file is missing, changed otherwise, has another content, or was not expected.
        InvalidOptionError: What is said of a file is none of these.
    """
    __tracebackhide__ = True
    changes = _changes(run)
    contents = {file.path: file for file in _result(run).files}
    for path, wanted in files.items():
        _check_file(path, wanted)
        if path not in changes:
            near = difflib.get_close_matches(path, changes, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AssertionError(f"{path!r} was not changed; changed were {_listed(changes)}{hint}")
        change = wanted.get("change") if isinstance(wanted, Mapping) else wanted
        if change is not None and change != changes[path]:
            raise AssertionError(f"{path!r}: expected {change!r}, found {changes[path]!r}.")
        if isinstance(wanted, Mapping) and "text" in wanted:
            if path not in contents:
                raise AssertionError(f"{path!r}: expected a content, found {changes[path]!r}.")
            found = contents[path].text()
            if found != wanted["text"]:
                raise AssertionError(f"{path!r} has another content:\n{_difference(wanted['text'], found)}")
    more = {path: change for path, change in changes.items() if path not in files}
    if only and more:
        raise AssertionError(f"files changed that were not expected: {_listed(more)}")


def assert_data(run: Observed | RunResult[Any], expected: Any) -> None:
    """Check the structured result of a run.

    Raises:
        AssertionError: It is another; shows the difference.
    """
    __tracebackhide__ = True
    found = _result(run).data
    if found != expected:
        raise AssertionError(f"the data differ:\n{_difference(_pretty(expected), _pretty(found))}")


def assert_text(run: Observed | RunResult[Any], expected: str | re.Pattern[str]) -> None:
    """Check what the model said.

    Args:
        run: From `observe`, or a `RunResult`.
        expected: A part of it, or a pattern that is searched in it.

    Raises:
        AssertionError: It is not there; shows what was said.
    """
    __tracebackhide__ = True
    said = _result(run).text
    there = expected in said if isinstance(expected, str) else expected.search(said)
    if not there:
        wanted = expected if isinstance(expected, str) else expected.pattern
        raise AssertionError(f"the text does not have {wanted!r}; it says:\n{said[:2000]}")


def assert_cost_below(run: Observed | RunResult[Any], usd: float) -> None:
    """Check that a run cost less than so many US dollars; a replay costs nothing.

    Args:
        run: From `observe`; or a `RunResult`, which cannot tell a replay from a model without a price.
        usd: What it must stay below.

    Raises:
        AssertionError: It did not, or the cost of some request is not known because its model has no price.
    """
    __tracebackhide__ = True
    usage = _result(run).usage
    if usage.cost_usd >= usd:
        raise AssertionError(f"the run cost ${usage.cost_usd:.6g}; expected less than ${usd:g}.")
    if isinstance(run, Observed):
        tokens, most, hint = run.unpriced_tokens, "", ""
    else:
        tokens, most = 0 if usage.cost_measured else usage.total_tokens, "up to "  # some may be priced
        hint = " If they were replayed: what `observe` returns knows that, a RunResult does not."
    if tokens:
        raise AssertionError(
            f"the cost is not known: {most}{tokens:,} tokens of a model without a price; expected less than "
            f"${usd:g}.{hint}"
        )


def assert_requests_below(run: Observed, count: int) -> None:
    """Check that a run made fewer than so many requests of the model.

    Raises:
        AssertionError: It made as many or more.
    """
    __tracebackhide__ = True
    if run.requests >= count:
        raise AssertionError(f"the run made {run.requests} requests; expected fewer than {count}.")


def _result(run: Observed | RunResult[Any]) -> RunResult[Any]:
    return run.result if isinstance(run, Observed) else run


def _changes(run: Observed | RunResult[Any]) -> dict[str, str]:
    return run.changes if isinstance(run, Observed) else {file.path: file.change for file in run.files}


def _checked_calls(calls: Iterable[Wanted]) -> list[Wanted]:
    """Return the wanted calls; a name alone would be taken for a list of letters."""
    wanted = [] if isinstance(calls, (str, Mapping)) else list(calls)
    wrong = [calls] if isinstance(calls, (str, Mapping)) else [one for one in wanted if not _is_wanted(one)]
    if wrong:
        raise InvalidOptionError(
            f"calls must be a list of tool names or of (name, {{argument: value}}), got {repr_of(wrong[0])}."
        )
    return wanted


def _is_wanted(value: Any) -> bool:
    if isinstance(value, tuple) and len(value) == 2:
        return isinstance(value[0], str) and isinstance(value[1], Mapping)
    return isinstance(value, str)


def _check_file(path: str, wanted: Any) -> None:
    """Refuse what would check nothing, such as a misspelt key."""
    parts = wanted if isinstance(wanted, Mapping) else {"change": wanted}
    if (
        not parts
        or parts.keys() - {"text", "change"}
        or not isinstance(parts.get("text", ""), str)
        or parts.get("change", "create") not in _CHANGES
    ):
        raise InvalidOptionError(
            f"{path!r} must be 'create', 'modify' or 'delete', or a dict with 'text' (the content), 'change' "
            f"(one of these) or both; got {repr_of(wanted)}."
        )


def _first_missing(wanted: Sequence[Wanted], calls: Sequence[ObservedCall]) -> Wanted | None:
    """Return the first wanted call that none after those before it is; None when all are there."""
    left = iter(calls)
    return next((one for one in wanted if not any(_fits(one, call) for call in left)), None)


def _first_unmatched(wanted: Sequence[Wanted], calls: Sequence[ObservedCall]) -> Wanted | None:
    """Return the first wanted call for which no call is left, however they are given out; else None."""
    owners: dict[int, int] = {}  # which wanted one a call is given to
    for index, one in enumerate(wanted):
        if not _give(index, wanted, calls, owners):
            return one
    return None


def _give(
    index: int, wanted: Sequence[Wanted], calls: Sequence[ObservedCall], owners: dict[int, int]
) -> bool:
    """Give a wanted call one that was made; another wanted one may have to take another for it."""
    given = {owner: call for call, owner in owners.items()}
    reached: dict[int, int] = {}  # from which wanted one a call was first looked at
    waiting = deque([index])
    while waiting:
        one = waiting.popleft()
        for call in range(len(calls)):
            if call in reached or not _fits(wanted[one], calls[call]):
                continue
            reached[call] = one
            if call in owners:
                waiting.append(owners[call])
                continue
            while (owner := reached[call]) != index:
                owners[call] = owner
                call = given[owner]
            owners[call] = index
            return True
    return False


def _fits(wanted: Wanted, call: ObservedCall) -> bool:
    if isinstance(wanted, str):
        return call.name == wanted
    name, arguments = wanted
    given = call.input if isinstance(call.input, Mapping) else {}
    same = all(key in given and given[key] == value for key, value in arguments.items())
    return call.name == name and same


def _missing(wanted: Wanted, calls: Sequence[ObservedCall], *, order: bool) -> str:
    name, arguments = (wanted, None) if isinstance(wanted, str) else wanted
    said = f"{name}" if arguments is None else f"{name} with {repr_of(dict(arguments))}"
    there = [call for call in calls if call.name == name]
    why = "it was never called"
    if any(_fits(wanted, call) for call in calls):
        why = "it was not called after the ones before it" if order else "it was not called that often"
    elif there:
        why = "it was called with other arguments"
    listed = "\n".join(
        f"  {number}. {call.name} {repr_of(call.input)}" for number, call in enumerate(calls, 1)
    )
    near = "" if there else _near(name, [call.name for call in calls])
    return f"expected a call of {said}; {why}{near}. The calls were:\n{listed or '  none'}"


def _near(name: str, names: Sequence[str]) -> str:
    found = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def _listed(changes: Mapping[str, str]) -> str:
    return ", ".join(f"{path!r} ({change})" for path, change in changes.items()) or "none"


def _pretty(value: Any) -> str:
    from pprint import pformat

    return pformat(value, width=80)


def _difference(expected: str, found: str) -> str:
    lines = difflib.unified_diff(
        expected.splitlines(), found.splitlines(), "expected", "found", lineterm="", n=2
    )
    shown = list(lines)
    more = [f"… {len(shown) - _LINES} more lines"] if len(shown) > _LINES else []
    return "\n".join([*shown[:_LINES], *more]) or "they differ in line ends only"
