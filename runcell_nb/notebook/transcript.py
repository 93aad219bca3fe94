"""The display model of one run, folded from its events."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Literal

from .blocks import Block, CallBlock, DiffView, FileTotal, NoticeBlock, TextBlock, diff_view
from .cost import CostTally
from .shown_text import count_text, one_line, visible
from .tool_display import input_of, result_note, result_of, summary_of

RunState = Literal["running", "done", "failed", "stopped"]

MAX_FULL_CALLS = 400
"""Tool calls whose texts are kept; older ones keep their line only."""

MAX_BLOCKS = 5_000
"""Blocks of a run; what comes after is counted, not kept."""

MAX_DIFF_CHARS = 1_000_000
"""Characters of all differences of a run; beyond them only lines added and removed are kept."""

MAX_DATA_CHARS = 2_000
"""Characters of a structured result."""

MAX_ERROR_CHARS = 4_000
"""Characters of the sentence on what went wrong."""

_CUT_REASONS = {
    "length": "The answer was cut: the model reached its length limit.",
    "content-filter": "The answer was cut by the provider's content filter.",
}


class Transcript:
    """Folds the events of one run, as dicts of `event_to_dict`, into what is shown of it.

    `apply` costs the same however long the run is; everything that is kept is bounded, and what is
    left out is stated.

    Attributes:
        model: Name of what answers.
        note: One sentence beside the name.
        thread: Name of the thread; empty when it has none.
        turn: Number of the turn in the thread; 0 when unknown.
        state: 'running', 'done', 'failed' or 'stopped'.
        error: Kind and message of what went wrong; None while nothing has.
        step: Number of the last request.
        activity: What is going on right now, in a few words.
        blocks: What happened, in order.
        files: Changed files by path.
        data: The result of a structured run, as text; empty without one.
    """

    def __init__(
        self,
        *,
        model: str = "",
        note: str = "",
        thread: str = "",
        turn: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model, self.note, self.thread, self.turn = visible(model), visible(note), visible(thread), turn
        self.state: RunState = "running"
        self.error: tuple[str, str] | None = None
        self.step = 0
        self.activity = "starting"
        self.blocks: list[Block] = []
        self.files: dict[str, FileTotal] = {}
        self.data = ""
        self.input_tokens = self.output_tokens = 0
        self._clock, self._started = clock, clock()
        self._ended: float | None = None
        self._costs = CostTally()
        self._calls: dict[str, tuple[int, CallBlock]] = {}
        self._full: deque[tuple[int, CallBlock]] = deque()
        self._touched: dict[int, None] = {}
        self._diff_room = MAX_DIFF_CHARS
        self._handlers: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "run-started": self._run_started,
            "request-started": self._request_started,
            "request-finished": self._request_finished,
            "text": self._text,
            "reasoning": self._text,
            "tool-input": self._tool_input,
            "tool-call": self._tool_call,
            "tool-result": self._tool_result,
            "file-change": self._file_change,
            "notice": self._sentence,
            "data": self._data,
            "retry": self._retry,
            "compaction": self._compaction,
            "repair": self._repair,
            "finish": self._finish,
            "error": self._error,
        }

    def apply(self, event: Mapping[str, Any]) -> None:
        """Take in one event; kinds that are not shown are ignored."""
        handler = self._handlers.get(str(event.get("type")))
        if handler is not None:
            handler(event)

    def finish(self, state: RunState, message: str | None = None) -> None:
        """End the run: stop the clock and close what is still open.

        Args:
            state: How it ended. 'done' after an error event is 'failed'.
            message: A sentence on what went wrong, in place of the error event's.
        """
        self.state = "failed" if state == "done" and self.error else state
        if message:
            self.error = (self.error[0] if self.error else "", visible(message[:MAX_ERROR_CHARS]))
        self.activity = ""
        if self._ended is None:
            self._ended = self._clock()
        for index, block in self._calls.values():
            if block.status in ("writing", "running"):
                block.status = "interrupted"
                self._touched[index] = None

    @property
    def elapsed(self) -> float:
        """Seconds since the start, or until the end."""
        return (self._clock() if self._ended is None else self._ended) - self._started

    @property
    def cost(self) -> str:
        """The cost so far; empty while no request is finished."""
        return self._costs.text() if self._costs.sources else ""

    @property
    def call_count(self) -> int:
        """Tool calls so far."""
        return len(self._calls)

    def answer(self) -> list[TextBlock]:
        """Return the text after the last tool call: what the run says in the end."""
        found: list[TextBlock] = []
        for block in reversed(self.blocks):
            if isinstance(block, CallBlock):
                break
            if isinstance(block, TextBlock) and block.kind == "text":
                found.append(block)
        return found[::-1]

    def take_touched(self) -> list[int]:
        """Return the indexes of blocks that changed since the last call."""
        touched = sorted(self._touched)
        self._touched.clear()
        return touched

    def _add(self, block: Block) -> int | None:
        if len(self.blocks) >= MAX_BLOCKS:
            return None
        self.blocks.append(block)
        index = len(self.blocks) - 1
        self._touched[index] = None
        if index == MAX_BLOCKS - 2:
            self._add(NoticeBlock(f"This run has more than {MAX_BLOCKS:,} steps; later ones are not shown."))
        return index

    def _run_started(self, event: Mapping[str, Any]) -> None:
        model = event.get("model") or {}
        self.model = visible(str(model.get("name") or self.model))
        self.note = visible(str(model.get("note") or self.note))
        self._started = self._clock()

    def _request_started(self, event: Mapping[str, Any]) -> None:
        self.step = int(event["number"])
        self.activity = "waiting for the model"

    def _request_finished(self, event: Mapping[str, Any]) -> None:
        total = event["total"]
        self.input_tokens = sum(
            int(total[name]) for name in ("input_tokens", "cache_read_tokens", "cache_write_tokens")
        )
        self.output_tokens = int(total["output_tokens"])
        self._costs.add_request(event["usage"])
        self._notice(_CUT_REASONS.get(str(event.get("reason"))))

    def _text(self, event: Mapping[str, Any]) -> None:
        kind: Literal["text", "reasoning"] = "text" if event["type"] == "text" else "reasoning"
        self.activity = "writing" if kind == "text" else "thinking"
        if not event["text"]:
            return
        index: int | None = len(self.blocks) - 1
        last = self.blocks[-1] if self.blocks else None
        if not isinstance(last, TextBlock) or last.kind != kind:
            last = TextBlock(kind)
            index = self._add(last)
        last.append(event["text"])
        if index is not None:
            self._touched[index] = None

    def _tool_input(self, event: Mapping[str, Any]) -> None:
        block = self._call(event)
        block.written += len(event["text"])
        self.activity = f"writing {block.name}"

    def _tool_call(self, event: Mapping[str, Any]) -> None:
        block = self._call(event)
        block.status = "running"
        block.summary = summary_of(event["input"])
        block.input = input_of(block.name, event["input"])
        self.activity = f"running {block.name}"

    def _tool_result(self, event: Mapping[str, Any]) -> None:
        block = self._call(event)
        block.status = "failed" if event["is_error"] else "done"
        block.result = result_of(event["output"])
        block.note = "" if event["is_error"] else result_note(block.name, block.result)
        block.duration, block.exit_code = float(event["duration"]), event.get("exit_code")
        self.activity = "working"
        self._bound_calls(event["id"])

    def _call(self, event: Mapping[str, Any]) -> CallBlock:
        """Return the block of this call, making it when it is new."""
        known = self._calls.get(event["id"])
        if known is not None:
            self._touched[known[0]] = None
            return known[1]
        block = CallBlock(str(event["id"]), one_line(str(event["name"]), 60))
        index = self._add(block)
        if index is not None:
            self._calls[event["id"]] = (index, block)
        return block

    def _bound_calls(self, call_id: str) -> None:
        """Drop the texts of the oldest call when too many are kept whole."""
        if call_id in self._calls:
            self._full.append(self._calls[call_id])
        if len(self._full) > MAX_FULL_CALLS:
            oldest, block = self._full.popleft()
            block.trim()
            self._touched[oldest] = None

    def _file_change(self, event: Mapping[str, Any]) -> None:
        diff, path = self._affordable(diff_view(event)), str(event["path"])
        index, block = self._calls.get(str(event.get("call_id")), (None, None))
        if block is not None and index is not None:
            block.add_diff(diff)
            self._touched[index] = None
        known = self.files.get(path)
        if diff.change == "delete" and known is not None and known.change == "create":
            del self.files[path]
            return
        self.files.setdefault(path, FileTotal(diff.path, diff.change)).add(diff, index)

    def _affordable(self, diff: DiffView) -> DiffView:
        """Return the difference while the run has room for its lines, then only its counts."""
        size = sum(map(len, diff.lines))
        if size > self._diff_room:
            return diff.counts_only()
        self._diff_room -= size
        return diff

    def _sentence(self, event: Mapping[str, Any]) -> None:
        self._notice(visible(str(event["text"])))

    def _data(self, event: Mapping[str, Any]) -> None:
        self.data = one_line(str(event["text"]), MAX_DATA_CHARS)
        self._notice(f"result: {self.data}")

    def _retry(self, event: Mapping[str, Any]) -> None:
        reason = one_line(str(event["reason"]), 300)
        self._notice(f"Trying again in {event['delay']:.3g} s (attempt {event['attempt']}): {reason}")

    def _compaction(self, event: Mapping[str, Any]) -> None:
        shortened, removed = event["shortened"], event["removed"]
        what = [f"{count_text(shortened, 'message')} shortened"] if shortened else []
        what += [f"{count_text(removed, 'message')} left out"] if removed else []
        self._notice(f"The conversation did not fit the model: {' and '.join(what)}, then sent again.")

    def _repair(self, event: Mapping[str, Any]) -> None:
        reason = one_line(str(event["reason"]), 300)
        self._notice(f"Asked again for a valid result (attempt {event['attempt']}): {reason}")

    def _finish(self, event: Mapping[str, Any]) -> None:
        self.activity = "finishing"

    def _error(self, event: Mapping[str, Any]) -> None:
        error = event["error"]
        self.error = (str(error["kind"]), visible(str(error["message"])[:MAX_ERROR_CHARS]))
        self.state = "failed"

    def _notice(self, text: str | None) -> None:
        if text:
            self._add(NoticeBlock(text))
