"""A recording: requests and what came back, found by what was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runcell_nb.core.gateway import ModelInfo

from .normal_message import canonical_arguments
from .recorded_cell import RecordedCell
from .recorded_request import NormalRequest, RequestHead, normal_request
from .recorded_response import CallPart, RecordedResponse
from .recorded_step import KeptResult, RecordedStep

VERSION = 1
"""Of the format that this version writes; it reads no newer one."""


@dataclass(slots=True, eq=False)
class RecordedRequest:
    """A request and all that ever came back for it.

    Attributes:
        key: Digest of the whole request.
        head: What it asked besides its messages.
        after: The recorded request of which it is a continuation; None for a beginning.
        messages: Those that it adds to `after`, in normal form.
        responses: In the order in which they came.
    """

    key: str
    head: RequestHead
    after: RecordedRequest | None
    messages: tuple[dict[str, Any], ...]
    responses: list[RecordedResponse] = field(default_factory=list)

    def conversation(self) -> list[dict[str, Any]]:
        """Return all messages, from the first one on."""
        parts, request = [], self
        while True:
            parts.append(request.messages)
            if request.after is None:
                return [message for part in reversed(parts) for message in part]
            request = request.after


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that a replay would make.

    Attributes:
        name: Of the tool.
        arguments: As canonical JSON, or as the model wrote them.
        kept: Its result is in the recording: the tool does not run, if it still has `record=True`.
    """

    name: str
    arguments: str
    kept: bool


class Recording:
    """Requests and what came back; `RecordingGateway` fills it, `ReplayGateway` answers from it.

    A recording that lists cells keeps what they use and nothing else; one without cells keeps all.

    Attributes:
        requests: By key, in the order in which they were first asked.
        tools: Specs of the tools, by digest: plain JSON.
        infos: What was known of the models, by the name under which they were asked.
        results: Of tools with `record=True`, in order.
        cells: Those of a notebook, in order.
    """

    def __init__(self) -> None:
        self.requests: dict[str, RecordedRequest] = {}
        self.tools: dict[str, dict[str, Any]] = {}
        self.infos: dict[str, ModelInfo] = {}
        self.results: list[KeptResult] = []
        self.cells: list[RecordedCell] = []

    def __len__(self) -> int:
        """Return how many responses are recorded."""
        return sum(len(request.responses) for request in self.requests.values())

    @property
    def models(self) -> list[str]:
        """The names of the models that were asked, in order."""
        return list(dict.fromkeys(request.head.model for request in self.requests.values()))

    @property
    def steps(self) -> list[RecordedStep]:
        """Every response with its request, by the order of the requests."""
        return [
            RecordedStep(request.key, response)
            for request in self.requests.values()
            for response in request.responses
        ]

    @property
    def calls(self) -> list[RecordedCall]:
        """The tool calls that a replay would make, for a person to judge: they may be a stranger's."""
        kept = Counter((result.name, result.arguments) for result in self.results)
        calls = []
        for step in self.steps:
            for part in step.response.parts:
                if isinstance(part, CallPart):
                    call = part.name, canonical_arguments(part.arguments.strip() or "{}")
                    calls.append(RecordedCall(*call, kept=kept[call] > 0))
                    kept[call] -= 1
        return calls

    def add(
        self, request: NormalRequest, response: RecordedResponse, tools: Mapping[str, dict[str, Any]]
    ) -> RecordedStep:
        """Add a response to a request.

        Args:
            request: As it was asked.
            response: What came back.
            tools: Specs by digest, those of the request among them.
        """
        recorded = self.requests.get(request.key)
        if recorded is None:
            recorded = self.requests[request.key] = self._new(request)
            self.tools.update({digest: tools[digest] for digest in request.head.tools})
        recorded.responses.append(response)
        return RecordedStep(request.key, response)

    def _new(self, request: NormalRequest) -> RecordedRequest:
        """Return a request that stores only what it adds to the longest recorded one that it continues."""
        length = self._longest(request.keys[:-1])
        after = None if length is None else self.requests[request.keys[length]]
        return RecordedRequest(request.key, request.head, after, request.messages[length or 0 :])

    def _longest(self, keys: Sequence[str]) -> int | None:
        """Return the index of the last of these keys that is recorded."""
        return next((index for index in reversed(range(len(keys))) if keys[index] in self.requests), None)

    def record_cell(self, cell: RecordedCell) -> None:
        """Put a cell in the place of what it recorded before; what no cell uses any more goes.

        Args:
            cell: Its steps and results are in this recording.

        Raises:
            ValueError: A step or a result is not; `renew` from where it is first.
        """
        there = {id(step.response) for step in self.steps} | {id(result) for result in self.results}
        if any(id(step.response) not in there for step in cell.steps) or any(
            id(result) not in there for result in cell.results
        ):
            raise ValueError(f"Cell {cell.cell!r} has steps or results that are not in this recording.")
        self._put(cell)
        self._drop_unused()

    def _put(self, cell: RecordedCell) -> None:
        ids = [known.cell for known in self.cells]
        if cell.cell in ids:
            self.cells[ids.index(cell.cell)] = cell
        else:
            self.cells.append(cell)

    def forget_cell(self, cell: str) -> None:
        """Drop a cell, and what only it used.

        Args:
            cell: Its id; one that is not recorded changes nothing.
        """
        self.cells = [known for known in self.cells if known.cell != cell]
        self._drop_unused()

    def renew(self, other: Recording) -> None:
        """Take over another recording: its cells replace those of the same id.

        Where neither has cells, what was asked in both is answered by the other one from now on.

        Args:
            other: It stays as it is.
        """
        if not self.cells and not other.cells:
            for key in self.requests.keys() & other.requests.keys():
                self.requests[key].responses.clear()
            asked = {(result.name, result.arguments) for result in other.results}
            self.results = [kept for kept in self.results if (kept.name, kept.arguments) not in asked]
        for request in other.requests.values():
            for response in request.responses:
                self._adopt(request, response, other)
        known = set(map(id, self.results))
        self.results += [result for result in other.results if id(result) not in known]
        self.infos.update(other.infos)
        for cell in other.cells:
            self._put(cell)
        if other.cells:
            self._drop_unused()

    def _adopt(self, request: RecordedRequest, response: RecordedResponse, other: Recording) -> None:
        if request.key not in self.requests:
            known = None if request.after is None else self.requests.get(request.after.key)
            if known is not None:
                recorded = RecordedRequest(request.key, request.head, known, request.messages)
            else:
                recorded = self._new(normal_request(request.head, request.conversation()))
            self.requests[request.key] = recorded
            self.tools.update({digest: other.tools[digest] for digest in request.head.tools})
        responses = self.requests[request.key].responses
        if not any(one is response for one in responses):
            responses.append(response)

    def _drop_unused(self) -> None:
        """Drop the responses, results, requests, tools and models that no cell uses."""
        used = {id(step.response) for cell in self.cells for step in cell.steps}
        used |= {id(result) for cell in self.cells for result in cell.results}
        self.results = [result for result in self.results if id(result) in used]
        for request in self.requests.values():
            request.responses = [response for response in request.responses if id(response) in used]
        self.requests = {key: request for key, request in self.requests.items() if request.responses}
        for request in self.requests.values():
            while request.after is not None and request.after.key not in self.requests:
                request.messages = (*request.after.messages, *request.messages)
                request.after = request.after.after
        heads = [request.head for request in self.requests.values()]
        self.tools = {digest: self.tools[digest] for head in heads for digest in head.tools}
        models = {head.model for head in heads}
        self.infos = {name: info for name, info in self.infos.items() if name in models}

    def to_dict(self) -> dict[str, Any]:
        """Return the recording as plain JSON, without keys; the same recording gives the same value."""
        from .recording_json import recording_to_dict

        return recording_to_dict(self)

    @classmethod
    def from_dict(cls, value: Any) -> Recording:
        """Return a recording that `to_dict` made.

        Args:
            value: Plain JSON; what a person changed in its texts counts as recorded.

        Raises:
            RecordingError: It is damaged or from a newer version; one sentence says what and where.
        """
        from .recording_reading import recording_from_dict

        return recording_from_dict(value)

    @classmethod
    def read(cls, path: str | Path) -> Recording:
        """Read a recording.

        Args:
            path: Of a file that `write` made, or of a notebook, whose recording is in it or beside it.

        Raises:
            RecordingError: There is none, it cannot be read, it is damaged or from a newer version.
        """
        from .recording_file import read_recording

        return read_recording(Path(path))

    def write(self, path: str | Path) -> None:
        """Write the recording as a file; a reader never sees half of it.

        Args:
            path: Usually `….runcell.json`; not of a notebook.

        Raises:
            InvalidOptionError: The path is that of a notebook.
            OSError: It cannot be written; what was there is still there.
        """
        from .recording_file import write_recording

        write_recording(self, Path(path))
