"""Makes a conversation fit a model's context window again.

What goes first is what is easiest to get again: the results of old tool calls. Then old arguments and
thoughts, then whole earlier exchanges, and only at last what the model is working with right now.
Never goes: what the user asks for in this run, and a call without its result or a result without its call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from .cut_usage import CHARACTERS_PER_TOKEN, characters_of
from .gateway import ModelInfo
from .message_log import valid_log
from .messages import AssistantMessage, Message, TextBlock, UserMessage
from .shortening import (
    with_fitted_results,
    with_short_arguments,
    with_short_results,
    without_images,
    without_reasoning,
    without_unsigned_reasoning,
)

KEPT_RESPONSES = 3
"""Responses of this run, with their results, that are touched only when all else is too little."""

LEFT_OUT = (
    "[Earlier messages and tool calls of this conversation were left out to make room. "
    "What they changed is still in the workspace; look there.]"
)
"""What the first message says once messages were removed."""

_LEAST = 400
"""Characters that each part of the latest exchange keeps in any case."""

_Edit = tuple[Iterable[int], Callable[[Message], Message] | None]
"""Positions of messages, and what to make of each; None removes them together."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """A conversation that was made shorter.

    Attributes:
        messages: The new log, valid by `message_log.valid_log`.
        shortened: Messages of which something was cut or left out, tool results first.
        removed: Messages that are gone.
    """

    messages: tuple[Message, ...]
    shortened: int
    removed: int


def compacted(messages: Sequence[Message], info: ModelInfo, *, turns: int = 1) -> Compaction | None:
    """Make a conversation shorter: to about half of its size, or of the model's window if that is less.

    Args:
        messages: A valid log that ends with what the model should answer.
        info: Of the model that refused it.
        turns: Of the run so far, repairs included: its prompt is the user message that many from the end.

    Returns:
        The shorter log; it may still be too long. None when there is nothing that could be shorter.
    """
    if not messages:
        return None
    draft = _Draft(messages, info.context_window)
    for positions, change in _edits(draft, _Layout.of(messages, turns)):
        if draft.fits:
            break
        draft.edit(positions, change)
    return draft.result()


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things are in a log.

    Attributes:
        users: Positions of the user messages up to the prompt, which is the last of them.
        pairs: Positions of this run's responses with calls; the results stand behind each.
        recent: From here on nothing is touched at first.
    """

    users: list[int]
    pairs: list[int]
    recent: int

    @classmethod
    def of(cls, messages: Sequence[Message], turns: int) -> _Layout:
        users = [at for at, message in enumerate(messages) if isinstance(message, UserMessage)]
        del users[max(len(users) - turns, 0) + 1 :]
        prompt = users[-1] if users else 0
        pairs = [
            at
            for at, message in enumerate(messages)
            if at > prompt and isinstance(message, AssistantMessage) and message.calls
        ]
        return cls(users, pairs, pairs[-KEPT_RESPONSES] if len(pairs) > KEPT_RESPONSES else prompt)

    @property
    def prompt(self) -> int:
        return self.users[-1] if self.users else 0


class _Draft:
    """A log that is being shortened; sizes are kept up to date, so that every edit costs only itself."""

    def __init__(self, messages: Sequence[Message], window: int | None) -> None:
        self._before = messages
        self._now: list[Message | None] = list(messages)
        self._sizes = [characters_of(message.content) for message in messages]
        self._whole = self._total = sum(self._sizes)
        # The other half is for the system prompt, the tools, the answer and what the estimate is off by.
        self._target = self._whole // 2
        if window is not None:
            self._target = min(self._target, window * CHARACTERS_PER_TOKEN // 2)

    @property
    def fits(self) -> bool:
        return self._total <= self._target

    def edit(self, positions: Iterable[int], change: Callable[[Message], Message] | None) -> None:
        for at in positions:
            message = self._now[at]
            if message is not None:
                self._put(at, None if change is None else change(message))

    def _put(self, at: int, message: Message | None) -> None:
        size = 0 if message is None else characters_of(message.content)
        if message is None or size < self._sizes[at]:
            self._total += size - self._sizes[at]
            self._now[at], self._sizes[at] = message, size

    def share(self, positions: Sequence[int]) -> int:
        """Return how many characters each block of these messages may have for the log to fit."""
        room = self._target - self._total + sum(self._sizes[at] for at in positions)
        return max(_LEAST, room // sum(len(self._before[at].content) for at in positions))

    def result(self) -> Compaction | None:
        kept = [message for message in self._now if message is not None]
        removed = len(self._now) - len(kept)
        if removed:
            kept[0] = _with_note(kept[0])
        messages = valid_log(kept).messages
        if sum(characters_of(message.content) for message in messages) >= self._whole:
            return None
        pairs = zip(self._before, self._now, strict=True)
        return Compaction(messages, sum(new is not None and new is not old for old, new in pairs), removed)


def _edits(draft: _Draft, layout: _Layout) -> Iterator[_Edit]:
    """Yield what can be done, mildest first; the draft is asked for its sizes only when it comes to that."""
    prompt, old = layout.prompt, range(layout.recent)
    yield from (([at], _at_its_shortest if at < prompt else with_short_results) for at in old)
    yield from (([at], with_short_arguments) for at in old)
    # A provider wants the thoughts of the run that is going on back, and those of earlier ones no more.
    yield from (([at], without_reasoning if at < prompt else without_unsigned_reasoning) for at in old)
    for start, end in zip(layout.users, layout.users[1:], strict=False):
        yield range(start, end), None
    yield from (((at, at + 1), None) for at in layout.pairs if at < layout.recent)
    yield from _edits_of_recent(draft, layout.pairs[-KEPT_RESPONSES:])


def _edits_of_recent(draft: _Draft, pairs: Sequence[int]) -> Iterator[_Edit]:
    for at in pairs[:-1]:
        yield [at + 1], with_short_results
        yield [at], with_short_arguments
    for at in pairs[-1:]:
        limit = draft.share((at, at + 1))
        yield [at + 1], partial(with_fitted_results, limit=limit)
        yield [at], partial(with_short_arguments, limit=limit)
        yield [at + 1], without_images


def _at_its_shortest(message: Message) -> Message:
    return without_images(with_short_results(message))


def _with_note(message: Message) -> Message:
    if not isinstance(message, UserMessage) or message.content[0] == TextBlock(text=LEFT_OUT):
        return message
    return UserMessage(content=(TextBlock(text=LEFT_OUT), *message.content))
