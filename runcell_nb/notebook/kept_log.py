"""The engine's log as a notebook stores it: without keys, and shorter where there is too much of it.

No message is ever removed: the turns of a thread know their place in the log by number.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runcell_nb.core.jsontext import compact_json
from runcell_nb.core.message_log import parse_arguments
from runcell_nb.core.messages import (
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
from runcell_nb.core.shortening import (
    with_short_arguments,
    with_short_results,
    without_images,
    without_reasoning,
)
from runcell_nb.models.redaction import texts_in, with_texts

STAGES = 3
"""How often `shortened` can be asked for more."""

TOO_DEEP = '{"_left_out":"arguments that are nested too deep"}'
"""Stands in a stored log for arguments in which no key could be looked for."""

_GZIP = 31
_STEP = 1024 * 1024

_Block = TextBlock | ImageBlock | ReasoningBlock | ToolCallBlock | ToolResultBlock


def log_texts(messages: Sequence[Message]) -> Iterator[str]:
    """Yield every text of a log in which a key could stand; images have none."""
    for message in messages:
        for block in message.content:
            yield from _block_texts(block)


def log_with(messages: Sequence[Message], changed: Mapping[str, str]) -> tuple[Message, ...]:
    """Return the log with some texts in place of others; the very messages where nothing changes."""
    return tuple(_message_with(message, changed) for message in messages) if changed else tuple(messages)


def shortened(messages: Sequence[Message], stage: int) -> tuple[Message, ...]:
    """Return a log of which something was replaced by a sentence that says so.

    Args:
        messages: A valid log.
        stage: 1: big tool results in the older half. 2: those of all but the last turn. 3: all of them, long
            arguments, images and thoughts.
    """
    if stage >= STAGES:
        return tuple(map(_at_its_shortest, messages))
    users = [at for at, message in enumerate(messages) if isinstance(message, UserMessage)]
    last = users[-1] if users else 0
    end = min(last, len(messages) // 2) if stage == 1 else last
    return (*map(with_short_results, messages[:end]), *messages[end:])


def unpacked_bytes(journal: str) -> int:
    """Return how large the text of a journal is that this package has packed, below 4 GiB."""
    return int.from_bytes(base64.b64decode(journal[-8:])[-4:], "little")


class UnpackingRoom:
    """What the journals of a stranger may unpack to, all together.

    Args:
        size: Bytes. A journal that has more uses all of it up: it is a bomb, and others may follow.
    """

    def __init__(self, size: int) -> None:
        self._left = size

    def takes(self, journal: Any) -> bool:
        """Tell whether a journal is whole and there is room for it; only a piece of it is held."""
        if not isinstance(journal, str):
            return False
        unpacker = zlib.decompressobj(_GZIP)
        try:
            packed = base64.b64decode(journal, validate=True)
            while not unpacker.eof:
                piece = unpacker.decompress(packed, _STEP)
                packed = unpacker.unconsumed_tail
                self._left -= len(piece)
                if self._left < 0 or not (piece or packed or unpacker.eof):
                    return False
        except (ValueError, zlib.error):
            return False
        return True


def _at_its_shortest(message: Message) -> Message:
    return without_images(with_short_results(with_short_arguments(without_reasoning(message))))


def _block_texts(block: _Block) -> Iterator[str]:
    match block:
        case TextBlock():
            yield block.text
        case ReasoningBlock():
            yield block.text
            yield from texts_in(block.provider)
        case ToolCallBlock():
            yield from _argument_texts(block.arguments)
        case ToolResultBlock():
            for part in block.content:
                yield from _block_texts(part)


def _message_with(message: Message, changed: Mapping[str, str]) -> Message:
    if not any(text in changed for block in message.content for text in _block_texts(block)):
        return message
    if isinstance(message, ToolMessage):
        return ToolMessage(content=tuple(_block_with(block, changed) for block in message.content))
    if isinstance(message, AssistantMessage):
        return AssistantMessage(content=tuple(_block_with(block, changed) for block in message.content))
    return UserMessage(content=tuple(_block_with(block, changed) for block in message.content))


def _block_with(block: Any, changed: Mapping[str, str]) -> Any:
    match block:
        case TextBlock():
            return TextBlock(text=changed.get(block.text, block.text))
        case ReasoningBlock():
            if not any(text in changed for text in _block_texts(block)):
                return block
            # Its provider signed the thought as it was, and would refuse another one.
            return ReasoningBlock(text=changed.get(block.text, block.text) or "(a thought)")
        case ToolCallBlock():
            return block.model_copy(update={"arguments": _arguments_with(block.arguments, changed)})
        case ToolResultBlock():
            parts = tuple(_block_with(part, changed) for part in block.content)
            return block.model_copy(update={"content": parts})
    return block


def _argument_texts(arguments: str) -> list[str]:
    values = parse_arguments(arguments)
    try:
        return list(texts_in(values)) if isinstance(values, dict) else [arguments]
    except RecursionError:
        return [arguments]


def _arguments_with(arguments: str, changed: Mapping[str, str]) -> str:
    """Return arguments with other texts; they stay JSON, which they would not if they were taken as text."""
    if not any(text in changed for text in _argument_texts(arguments)):
        return arguments
    if arguments in changed:
        return changed[arguments]
    try:
        return compact_json(with_texts(parse_arguments(arguments), changed))
    except (ValueError, RecursionError):
        return TOO_DEEP
