"""Which calls of a recording could do harm outside the notebook's sandboxes."""

from __future__ import annotations

import pytest

from runcell_nb.core.messages import TextBlock, ToolResultBlock
from runcell_nb.models.recorded_cell import RecordedCell, recorded_cell
from runcell_nb.models.recorded_response import CallPart, RecordedResponse, SaidPart
from runcell_nb.models.recorded_step import KeptResult, RecordedStep
from runcell_nb.notebook.playback import AskedCell
from runcell_nb.notebook.replay_trust import calls_outside

BASH, MAIL, STOCK = 'bash({"command": "ls"})', 'mail({"to": "a"})', 'stock({ "item":"nuts" })'
CALLS = (("bash", '{"command": "ls"}'), ("mail", '{"to": "a"}'), *[("stock", '{ "item":"nuts" }')] * 2)


def asked(*tools: str, kept: str = "", on_disk: bool = False) -> AskedCell:
    return AskedCell("cell-a", "go", "live/model", tools, frozenset(kept.split()), on_disk)


def source(kept: int) -> RecordedCell:
    """A cell that called each of CALLS, with so many results of `stock`."""
    steps = [RecordedStep("k", RecordedResponse((SaidPart("so"), CallPart(*call)))) for call in CALLS]
    result = ToolResultBlock(call_id="c", name="stock", content=(TextBlock(text="7"),))
    results = [KeptResult("stock", '{"item":"nuts"}', result) for _ in range(kept)]
    return recorded_cell("cell-a", "go", "live/model", steps=steps, results=results)


@pytest.mark.parametrize(
    ("cell", "kept", "strict", "found"),
    [
        (asked(), 0, True, []),
        (asked("stock"), 0, True, [STOCK, STOCK]),
        (asked("stock", "mail"), 2, False, [MAIL, STOCK, STOCK]),  # it has no record=True any more
        (asked(on_disk=True), 0, False, [BASH]),
        (asked("mail", on_disk=True), 0, True, [BASH, MAIL]),
        (asked("stock", kept="stock"), 0, True, []),  # it fails instead
        (asked("stock", kept="stock"), 0, False, [STOCK, STOCK]),
        (asked("stock", kept="stock"), 1, False, [STOCK]),
        (asked("stock", kept="stock"), 2, False, []),
    ],
)
def test_calls_outside_the_sandbox(cell: AskedCell, kept: int, strict: bool, found: list[str]) -> None:
    assert calls_outside(source(kept), cell, strict=strict) == found
