"""What the runs of a notebook used, counted from their events, whatever becomes of their display."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from runcell_nb.core.events import RequestFinishedEvent, RunEvent, RunStartedEvent
from runcell_nb.core.usage import RunUsage

from .cost import CostTally


@dataclass(frozen=True, slots=True)
class CellUsage:
    """What one cell used.

    Attributes:
        number: Of the run in this session, from 1.
        model: What answered.
        usage: Tokens and cost.
        cost: As shown to a person.
        state: 'done', 'failed' or 'stopped'.
        thread: Name of the thread.
        cell: To which the run belonged.
    """

    number: int
    model: str
    usage: RunUsage
    cost: str
    state: str
    thread: str
    cell: str


@dataclass(slots=True)
class RunMeter:
    """Counts one run while it goes on, and adds its requests to the tally of all runs.

    Attributes:
        total: Costs of all runs.
        started: Whether the run has started; one that never did used nothing and is not listed.
    """

    total: CostTally
    started: bool = False
    _model: str = ""
    _usage: RunUsage = field(default_factory=RunUsage)
    _costs: CostTally = field(default_factory=CostTally)

    def take(self, event: RunEvent) -> None:
        """Count what an event says was used."""
        if isinstance(event, RunStartedEvent):
            self.started, self._model = True, event.model.name
        elif isinstance(event, RequestFinishedEvent):
            self._usage = event.total
            for tally in (self._costs, self.total):
                tally.add_request(asdict(event.usage))

    @property
    def model(self) -> str:
        """What answered; empty before the run has started."""
        return self._model

    @property
    def tokens(self) -> int:
        """Tokens so far, in and out."""
        return self._usage.total_tokens

    @property
    def cost(self) -> str:
        """Cost so far, as shown to a person."""
        return self._costs.text()

    def entry(self, number: int, state: str, thread: str, cell: str) -> CellUsage:
        """Return what was counted as the entry of a run of a cell that ended in `state`."""
        return CellUsage(number, self._model, self._usage, self._costs.text(), state, thread, cell)
