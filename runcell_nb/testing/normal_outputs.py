"""Outputs without what differs from run to run: times, costs, ids, and who would answer where."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

TURN_MIME = "application/vnd.runcell.turn+json"
"""The record of a turn: ids, times and revisions all through."""

_OF_ONE_RUN = (TURN_MIME, "application/vnd.jupyter.widget-view+json")

_VARIES = tuple(
    (re.compile(pattern, re.MULTILINE), name)
    for pattern, name in (
        (r"^runcell: using .*$\n?", ""),  # depends on the keys that are set
        (
            r"^(the replay is strict: |what the model answers is recorded |replay (strict|auto|off): ).*$\n?",
            "",
        ),
        (r"^runcell: RUNCELL_REPLAY=strict is set: .*$\n?|RUNCELL_REPLAY=strict is set: .*$\n?", ""),
        (r"Replayed [\d,]+ of [\d,]+ requests; the rest was asked\.", ""),
        (r"Live: [^\n<]* since it was recorded\.", ""),
        (r"\$0 \(replayed\)|~?(?:<|&lt;)?\$\d+(?:\.\d+)?(?: \+ unpriced)?", "COST"),
        (r"(?<=· )(?:local|unpriced)\b|(?<=>)(?:local|unpriced)(?=<)", "COST"),
        (r"cost_usd=[\d.e-]+, cost_measured=\w+", "cost"),
        (r"\b\d+(?:\.\d+)?(?:ms| ms| s)\b", "TIME"),
        (r"\b[\d,.]+k? (?:in|out|tokens)\b", "TOKENS"),
        (r"TOKENS(,?) +(?:COST|local|unpriced)\b", r"TOKENS\1 COST"),
        (r"session_id='\w+'", "session_id"),
        (r'data-runcell-place="\w+"', "place"),
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", "DATE"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UUID"),
        (r"[ \t]+", " "),
    )
)


def normal_text(text: str) -> str:
    """Return a text in which what varies has a name instead."""
    for pattern, name in _VARIES:
        text = pattern.sub(name, text)
    return text.strip()


def normal_output(output: Mapping[str, Any]) -> Any:
    """Return an output in a form that is equal for outputs that say the same."""
    kind = output.get("output_type")
    if kind == "stream":
        return kind, output.get("name"), normal_text(_text(output.get("text")))
    if kind == "error":
        return kind, output.get("ename"), normal_text(_text(output.get("evalue")))
    data = output.get("data") or {}
    return "data", {mime: _normal(value) for mime, value in data.items() if mime not in _OF_ONE_RUN}


def adopt(fresh: MutableMapping[str, Any], saved: Mapping[str, Any]) -> None:
    """Take from a saved notebook every output that says the same as the fresh one, as it is.

    So a difference shows only what has changed, and writing the fresh notebook changes only that.

    Args:
        fresh: A notebook that was run; it is changed.
        saved: The one from which it was made.
    """
    for now, then in zip(fresh["cells"], saved["cells"], strict=False):
        if now.get("source") != then.get("source") or "outputs" not in now or "outputs" not in then:
            continue
        said = [normal_output(output) for output in now["outputs"]]
        had = [normal_output(output) for output in then["outputs"]]
        # A line that varies as a whole may be an output of its own on one side only.
        if [one for one in said if not _is_empty(one)] == [one for one in had if not _is_empty(one)]:
            now["outputs"] = then["outputs"]
            continue
        now["outputs"] = [
            then["outputs"][at] if at < len(had) and one == had[at] else output
            for at, (one, output) in enumerate(zip(said, now["outputs"], strict=True))
        ]


def _is_empty(normal: Any) -> bool:
    return bool(normal[0] == "stream" and not normal[2])


def _normal(value: Any) -> Any:
    if isinstance(value, (str, list)):
        return normal_text(_text(value)) if not isinstance(value, list) or _all_text(value) else value
    return value


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _text(value: Any) -> str:
    return "".join(value) if isinstance(value, list) and _all_text(value) else str(value or "")
