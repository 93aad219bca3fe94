"""The validator between the log and everything outside it.

Whatever happened before (an interrupted call, a model that repeats ids or writes broken JSON, a
thread edited by hand), what leaves here is accepted by a strict provider: every call has exactly one
result, ids are unique in the whole log, arguments are JSON objects, no block is empty, no surrogate
is alone, and users and models take turns.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .jsontext import plain, scrub, scrub_json, scrubbed
from .messages import (
    AssistantMessage,
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    UserMessage,
)

INTERRUPTED = "interrupted by the user"
"""Result of a call that never got one."""

INVALID_ARGUMENTS = "_invalid_arguments"
"""Key under which arguments that are no JSON object are kept as text."""

MAX_CALLS = 128
"""Calls of one message: what OpenAI takes. A response with more of them is told as several messages."""

_FORBIDDEN_IN_NAME = re.compile(r"[^A-Za-z0-9_-]")
_FORBIDDEN_IN_ID = re.compile(r"[^A-Za-z0-9-]+")  # two underscores in an id mean something to litellm
_MAX_NAME = 64
_MAX_ID = 40  # OpenAI's limit; Anthropic has none

AssistantBlock = TextBlock | ReasoningBlock | ToolCallBlock


class MessageLog:
    """A conversation that is valid at any time; adding is linear in what is added."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._last: list[Any] = []
        self._last_kind: type[UserMessage] | type[AssistantMessage] | None = None
        self._ids: set[str] = set()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The log so far."""
        self._close()
        return tuple(self._messages)

    def reserve_id(self, wanted: str) -> str:
        """Return an id for a call that is unique in this log: the wanted one if it can be."""
        unique = base = _FORBIDDEN_IN_ID.sub("_", wanted)[:_MAX_ID] or "call"
        count = 1
        while unique in self._ids:
            count = max(count + 1, len(self._ids))
            unique = f"{base[: _MAX_ID - 12].rstrip('_')}_{count}"
        self._ids.add(unique)
        return unique

    def add_user(self, content: Iterable[TextBlock | ImageBlock]) -> None:
        """Add what the person said; two in a row become one message."""
        self._extend(UserMessage, _filled(content) or (TextBlock(text="(empty)"),))

    def add_response(self, blocks: Sequence[AssistantBlock], results: Sequence[ToolResultBlock]) -> None:
        """Add a response and the results of its calls, whose ids were reserved here.

        Args:
            blocks: What the model said, in order.
            results: At most one a call; a missing one becomes an "interrupted" result.
        """
        if not self._messages and not self._last:
            self.add_user([TextBlock(text="(continued)")])
        kept = tuple(block for block in map(_clean_block, blocks) if block is not None)
        if all(isinstance(block, ReasoningBlock) for block in kept):
            kept = (*kept, TextBlock(text="(no answer)"))
        by_id = {result.call_id: result for result in results}
        for portion in _portions(kept):
            self._extend(AssistantMessage, portion)
            calls = [block for block in portion if isinstance(block, ToolCallBlock)]
            if calls:
                self._close()
                answers = tuple(_result(call, by_id.get(call.id)) for call in calls)
                self._messages.append(ToolMessage(content=answers))

    def _extend(
        self, kind: type[UserMessage] | type[AssistantMessage], blocks: Sequence[AssistantBlock | ImageBlock]
    ) -> None:
        """Add to the last message, or begin one: the same role never speaks twice in a row."""
        if self._last_kind is not kind:
            self._close()
            self._last_kind = kind
            if self._messages and isinstance(self._messages[-1], kind):
                self._last.extend(self._messages.pop().content)
        self._last.extend(blocks)

    def _close(self) -> None:
        if self._last_kind is not None:
            self._messages.append(self._last_kind(content=tuple(self._last)))
            self._last_kind, self._last = None, []


def valid_log(messages: Iterable[Message]) -> MessageLog:
    """Return a valid log that keeps everything of a possibly broken one."""
    log, pending = MessageLog(), None
    for message in messages:
        if isinstance(message, ToolMessage):
            _add_results(log, pending, message)
            pending = None
            continue
        if pending is not None:
            _add_pending(log, pending, ())
        pending = message if isinstance(message, AssistantMessage) else None
        if isinstance(message, UserMessage):
            log.add_user(message.content)
    if pending is not None:
        _add_pending(log, pending, ())
    return log


def _add_results(log: MessageLog, response: AssistantMessage | None, results: ToolMessage) -> None:
    orphans = _add_pending(log, response, results.content) if response is not None else list(results.content)
    for orphan in orphans:
        log.add_user(
            [TextBlock(text=f"Result of a call that is not in the log ({orphan.name}):"), *orphan.content]
        )


def _add_pending(
    log: MessageLog, response: AssistantMessage, results: Sequence[ToolResultBlock]
) -> list[ToolResultBlock]:
    """Add a response with fresh ids; return the results that fit none of its calls."""
    open_results: dict[str, list[ToolResultBlock]] = {}
    for result in results:
        open_results.setdefault(result.call_id, []).append(result)
    blocks: list[AssistantBlock] = []
    renamed: list[ToolResultBlock] = []
    for block in response.content:
        if isinstance(block, ToolCallBlock):
            fresh = log.reserve_id(block.id)
            waiting = open_results.get(block.id)
            if waiting:
                renamed.append(waiting.pop(0).model_copy(update={"call_id": fresh}))
            block = block.model_copy(update={"id": fresh})
        blocks.append(block)
    log.add_response(blocks, renamed)
    return [result for rest in open_results.values() for result in rest]


def _portions(blocks: Sequence[AssistantBlock]) -> Iterator[tuple[AssistantBlock, ...]]:
    """Split a response into messages of at most `MAX_CALLS` calls."""
    start, calls = 0, 0
    for position, block in enumerate(blocks):
        if isinstance(block, ToolCallBlock):
            if calls == MAX_CALLS:
                yield tuple(blocks[start:position])
                start, calls = position, 0
            calls += 1
    yield tuple(blocks[start:])


def _filled(content: Iterable[TextBlock | ImageBlock]) -> tuple[TextBlock | ImageBlock, ...]:
    return tuple(
        TextBlock(text=scrub(block.text)) if isinstance(block, TextBlock) else block
        for block in content
        if isinstance(block, ImageBlock) or block.text.strip()
    )


def _clean_block(block: AssistantBlock) -> AssistantBlock | None:
    if isinstance(block, TextBlock):
        return TextBlock(text=scrub(block.text)) if block.text.strip() else None
    if isinstance(block, ReasoningBlock):
        provider = _storable(block.provider)
        keep = block.text.strip() or provider
        return ReasoningBlock(text=scrub(block.text), provider=provider) if keep else None
    return ToolCallBlock(id=block.id, name=_safe_name(block.name), arguments=_object_text(block.arguments))


def _storable(provider: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a provider's data as JSON; None when a gateway gave something that has no such form."""
    try:
        data = plain(scrubbed(provider))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _result(call: ToolCallBlock, result: ToolResultBlock | None) -> ToolResultBlock:
    if result is None:
        return ToolResultBlock(
            call_id=call.id, name=call.name, content=(TextBlock(text=INTERRUPTED),), is_error=True
        )
    content = _filled(result.content) or (TextBlock(text="(no output)"),)
    return ToolResultBlock(call_id=call.id, name=call.name, content=content, is_error=result.is_error)


def _safe_name(name: str) -> str:
    return _FORBIDDEN_IN_NAME.sub("_", name)[:_MAX_NAME] or "unknown"


def _object_text(arguments: str) -> str:
    """Return arguments that are a JSON object as they are, everything else kept as text inside one."""
    if isinstance(parse_arguments(arguments), dict):
        return scrub_json(arguments)
    return json.dumps({INVALID_ARGUMENTS: scrub(arguments)}, ensure_ascii=False)


def parse_arguments(arguments: str) -> Any:
    """Return the JSON value of a call's arguments; None when the text is not JSON, or a number too big."""
    try:
        return json.loads(arguments, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return None


def _finite(text: str) -> float:
    """Read a number; what Python reads as infinite would leave as `Infinity`, which is not JSON."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a number of JSON")
    return number
