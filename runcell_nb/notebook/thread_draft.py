"""A thread on its way into the notebook's metadata: without keys, and smaller where it must be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from runcell_nb.core.journal import journal_of
from runcell_nb.models.redaction import texts_in, with_texts

from .kept_log import STAGES, log_texts, log_with, shortened, unpacked_bytes
from .notebook_thread import NotebookThread

LONG_MESSAGE = 2000
"""Characters from which a message is cut when nothing else is left to leave out."""

_HALVINGS = 40


Edit = Callable[[], None]
"""Makes a draft smaller and notes it; nothing happens where there is nothing to leave out."""


class ThreadDraft:
    """What will be stored of one thread; the thread itself stays as it is.

    Args:
        thread: Of the notebook.

    Attributes:
        state: As `NotebookThread.to_dict`, without the continuation.
    """

    def __init__(self, thread: NotebookThread) -> None:
        whole = thread.thread
        self._log = whole.log or None
        self._foreign = None if whole.log is not None else whole.to_dict().get("continuation")
        bare = whole.rewound(whole.message_count, None)
        self.state: dict[str, Any] = NotebookThread(
            thread.name, bare, thread.turns, thread.revision, thread.rewound_from, thread.made_by
        ).to_dict()
        self._notes: list[str] = []
        self._packed: dict[str, Any] | None = None
        self._size: int | None = None

    def texts(self) -> Iterator[str]:
        """Yield every text in which a key could stand."""
        yield from texts_in(self.state)
        yield from log_texts(self._log or ())
        yield from texts_in(self._foreign)

    def change_texts(self, changed: Mapping[str, str]) -> None:
        """Put some texts in place of others; a continuation that only another engine can read is dropped."""
        if any(text in changed for text in texts_in(self._foreign)):
            self.drop_log()
        self.state = with_texts(self.state, changed)
        if self._log is not None:
            self._log = log_with(self._log, changed)
        self._forget()

    @property
    def size(self) -> int:
        """Bytes of what will be stored, as JSON."""
        if self._size is None:
            self._size = json_bytes(self.stored())
        return self._size

    @property
    def unpacked(self) -> int:
        """Bytes of the log before it is compressed: what reading it will take."""
        return 0 if self._log is None else unpacked_bytes(self._continuation()["journalGz"])

    def stored(self) -> dict[str, Any]:
        """Return the thread as it will be stored."""
        continuation = self._foreign if self._log is None else self._continuation()
        more = {"continuation": continuation, "notes": self._notes}
        return self.state | {key: value for key, value in more.items() if value}

    def shorten(self, stage: int) -> None:
        """Replace parts of the log by sentences that say so, as `kept_log.shortened`."""
        log = None if self._log is None else shortened(self._log, stage)
        if log is None or log == self._log:
            return
        self._log = log
        what = "Big tool results" if stage < STAGES else "Tool results, arguments, images and thoughts"
        self._note(f"{what} of thread {self.name!r} were shortened to keep the notebook small.")

    def drop_log(self) -> None:
        """Leave out the continuation."""
        if self._log is None and self._foreign is None:
            return
        self._log = self._foreign = None
        self._note(
            f"Of thread {self.name!r} only the messages were kept in the notebook, not its tool calls: "
            "the model is told the messages."
        )

    def cut_messages(self) -> None:
        """Cut long messages, each with a note in place of what is gone."""
        messages = [cut_message(message, LONG_MESSAGE) for message in self.state["messages"]]
        if messages != self.state["messages"]:
            self.state = self.state | {"messages": messages}
            self._note(f"Long messages of thread {self.name!r} were cut to keep the notebook small.")

    def drop_older_half(self) -> None:
        """Leave out the older half of the messages, with the turns that they are of."""
        messages, turns = self.state["messages"], self.state["turns"]
        gone = len(messages) // 4 * 2 or len(messages)
        self.state = self.state | {
            "messages": messages[gone:],
            "turns": [
                turn | {"messagesBefore": turn["messagesBefore"] - gone}
                for turn in turns
                if turn["messagesBefore"] >= gone
            ],
        }
        if gone:
            self._note(
                f"The oldest messages of thread {self.name!r} were left out to keep the notebook small."
            )

    @property
    def name(self) -> str:
        """Of the thread, without keys."""
        return str(self.state["name"])

    def _continuation(self) -> dict[str, Any]:
        if self._packed is None:
            self._packed = journal_of(self._log or ())
        return self._packed

    def _note(self, sentence: str) -> None:
        if sentence not in self._notes:
            self._notes.append(sentence)
        self._forget()

    def _forget(self) -> None:
        self._packed = self._size = None


def shortenings(drafts: Sequence[ThreadDraft]) -> Iterator[Edit]:
    """Yield what can be replaced by a stub, the oldest first."""
    for stage in range(1, STAGES + 1):
        yield from (partial(draft.shorten, stage) for draft in drafts)


def omissions(drafts: Sequence[ThreadDraft]) -> Iterator[Edit]:
    """Yield what can be left out when stubs were too little; in the end nothing is left."""
    yield from (draft.drop_log for draft in drafts)
    yield from (draft.cut_messages for draft in drafts)
    for _ in range(_HALVINGS):
        yield from (draft.drop_older_half for draft in drafts)


def cut_message(message: dict[str, Any], limit: int) -> dict[str, Any]:
    """Return a message of a `ThreadState` with about `limit` characters, and a note, when it has more."""
    content, notes = message["content"], []
    if len(content) > limit:
        notes.append(f"[… {len(content) - limit // 2:,} of {len(content):,} characters left out here]")
        content = content[: limit // 2]
    if "data" in message and json_bytes(message["data"]) > limit:
        notes.append("[the data of this result was too big to be kept]")
        message = {key: value for key, value in message.items() if key != "data"}
    return message | {"content": "\n".join([content, *notes])} if notes else message


def json_bytes(value: Any) -> int:
    """Return the size of a value as compact JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "replace"))
