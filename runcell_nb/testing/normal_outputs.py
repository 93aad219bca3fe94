"""Outputs without what differs from run to run: times, costs, ids, and who would answer where.

Only what this package shows is read that way. What a notebook's own code shows is compared as it is: a sum
of money or a date that changed there is what a test is for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any

from runcell_nb.models.volatile_text import without_volatile

TURN_MIME = "application/vnd.runcell.turn+json"
"""The record of a turn: ids, times and revisions all through."""

_OF_ONE_RUN = (TURN_MIME, "application/vnd.jupyter.widget-view+json")

_COST = r"(?:~?(?:<|&lt;)?\$\d[\d.]*(?: \+ unpriced| \(replayed\))?|local\b|unpriced\b)"

_RECORDING = r"(?:the replay is strict: |what the model answers is recorded |replay (?:strict|auto|off): )"

_LINES = tuple(
    (re.compile(pattern, re.MULTILINE), name)
    for pattern, name in (
        (r"^(?:runcell: |model {4})using .* because .*$\n?", ""),  # depends on the keys that are set
        (rf"^(?:the recording is in [^;\n]*; )?{_RECORDING}.*$\n?", ""),
        (r"^(?:runcell: )?RUNCELL_REPLAY=strict is set: .*$\n?", ""),
        (r"; \d+ were replayed in this kernel(?=:$)", ""),
        (rf" *\b[\d,]+ tokens(?:, | {{2,}}){_COST} *", " TOKENS COST "),
        (r"cost_usd=[\d.e-]+, cost_measured=(?:True|False)", "COST"),
        (r"session_id='\w+'", "SESSION"),
        (r'data-runcell-place="\w+"', "PLACE"),
    )
)
"""What lines of this package's commands and its objects say; nothing that others are likely to print."""

_TIME = r"(?:\d+ min \d\d|\d+\.\d) s\b"

_HEADER = re.compile(
    rf" · (?P<state>done in|failed after|stopped after|running for) {_TIME}"
    rf"(?: · \d[\d.]*[kM]? in · \d[\d.]*[kM]? out)?(?: · (?:<b>)?{_COST}(?:</b>)?)?"
)
"""The end of the first line of a run."""

_LONG_CALL = re.compile(r"\b\d+ min \d\d s\b")

_NOTES = re.compile(r'<p style="[^"]*">(?:Live: |Replayed |The recording is |Trying again in )[^<]*</p>')
"""Paragraphs of the HTML on how the run came about; a replay has other ones."""

_STEPS = re.compile(
    r'<details style="[^"]*"><summary style="[^"]*">\d+ steps?</summary></details>'
    r'|(?<=">)\d+ steps?(?=</summary>)'
)
"""Where only such paragraphs, or they among others, are counted."""


def normal_text(text: str) -> str:
    """Return a text in which what varies in this package's own words has a name instead."""
    for pattern, name in _LINES:
        text = pattern.sub(name, text)
    return text


def normal_run(text: str) -> str:
    """Return the view of a run without figures, and without what varies in the results of tools."""
    text = _HEADER.sub(r" · \g<state>", text, count=1)
    text = _STEPS.sub("", _NOTES.sub("", text))
    return without_volatile(_LONG_CALL.sub("0.0 s", text))


def normal_output(output: Mapping[str, Any]) -> Any:
    """Return an output in a form that is equal for outputs that say the same."""
    kind = output.get("output_type")
    if kind == "stream":
        return kind, output.get("name"), normal_text(_text(output.get("text")))
    if kind == "error":
        return kind, output.get("ename"), normal_text(_text(output.get("evalue")))
    data = output.get("data") or {}
    normal = normal_run if _is_run(data) else normal_text
    kept = {mime: value for mime, value in data.items() if mime not in _OF_ONE_RUN}
    return "data", {mime: normal(_text(value)) if _is_text(value) else value for mime, value in kept.items()}


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


def _is_run(data: Mapping[str, Any]) -> bool:
    first = _text(data.get("text/plain")).partition("\n")[0]
    return TURN_MIME in data or _HEADER.search(first) is not None


def _is_text(value: Any) -> bool:
    """Tell a text, which a file may hold as a list of lines."""
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(line, str) for line in value)
    )


def _text(value: Any) -> str:
    return "".join(value) if isinstance(value, list) and _is_text(value) else str(value or "")
