"""Shorter forms of messages: results cut, long arguments cut, images and thoughts left out.

Every function returns the very message it was given where there is nothing to shorten, and never
touches an id, a name, or a thought that it keeps: providers sign those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .jsontext import compact_json
from .message_log import parse_arguments
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

LONG = 600
"""Characters from which a result or an argument is worth cutting."""

_HEAD = 200


def with_short_results(message: Message) -> Message:
    """Return tool results with the head of their text only, and without their images."""
    return _with_results(message, _short_result)


def with_fitted_results(message: Message, limit: int) -> Message:
    """Return tool results with the head and tail of every text over `limit` characters, images kept."""
    return _with_results(message, lambda result: _fitted_result(result, limit))


def without_images(message: Message) -> Message:
    """Return a message of the user or of tools with a note in place of its images."""
    if isinstance(message, UserMessage):
        content = _imageless(message.content)
        return message if content is message.content else UserMessage(content=content)
    return _with_results(message, _imageless_result)


def with_short_arguments(message: Message, limit: int = LONG) -> Message:
    """Return a response whose calls with more than `limit` characters of arguments have shorter ones.

    They stay a JSON object with the same keys: the model sees what it called, not with how much.
    """
    if not isinstance(message, AssistantMessage) or not any(
        len(call.arguments) > limit for call in message.calls
    ):
        return message
    return AssistantMessage(
        content=tuple(
            _short_call(block) if isinstance(block, ToolCallBlock) and len(block.arguments) > limit else block
            for block in message.content
        )
    )


def without_reasoning(message: Message) -> Message:
    """Return a response without any of its thoughts: for one that no provider wants them back of."""
    return _filtered(message, lambda block: False)


def without_unsigned_reasoning(message: Message) -> Message:
    """Return a response with only those thoughts that its provider may want back."""
    return _filtered(message, lambda block: block.provider is not None)


def _filtered(message: Message, keep: Callable[[ReasoningBlock], bool]) -> Message:
    if not isinstance(message, AssistantMessage):
        return message
    content = tuple(
        block for block in message.content if not isinstance(block, ReasoningBlock) or keep(block)
    )
    return message if len(content) == len(message.content) else AssistantMessage(content=content)


def _with_results(message: Message, change: Callable[[ToolResultBlock], ToolResultBlock]) -> Message:
    if not isinstance(message, ToolMessage):
        return message
    content = tuple(map(change, message.content))
    unchanged = all(new is old for new, old in zip(content, message.content, strict=True))
    return message if unchanged else ToolMessage(content=content)


def _short_result(result: ToolResultBlock) -> ToolResultBlock:
    text = _text_of(result.content)
    if len(text) <= LONG:
        return _imageless_result(result)
    note = f"[… {len(text) - _HEAD} characters of this result were left out to make room; "
    short = TextBlock(text=f"{text[:_HEAD]}\n{note}run the tool again if you need them]")
    return result.model_copy(update={"content": (short, *_image_note(result.content))})


def _fitted_result(result: ToolResultBlock, limit: int) -> ToolResultBlock:
    text = _text_of(result.content)
    if len(text) <= limit:
        return result
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    note = f"[… {len(text) - limit} of {len(text)} characters of this result left out here to make room; "
    note += "ask for a smaller part if you need them …]"
    fitted = TextBlock(text=f"{text[:head]}\n{note}\n{text[-tail:]}")
    images = (block for block in result.content if isinstance(block, ImageBlock))
    return result.model_copy(update={"content": (fitted, *images)})


def _imageless_result(result: ToolResultBlock) -> ToolResultBlock:
    content = _imageless(result.content)
    return result if content is result.content else result.model_copy(update={"content": content})


def _imageless(content: tuple[TextBlock | ImageBlock, ...]) -> tuple[TextBlock | ImageBlock, ...]:
    note = _image_note(content)
    return (*(block for block in content if isinstance(block, TextBlock)), *note) if note else content


def _image_note(content: Sequence[TextBlock | ImageBlock]) -> tuple[TextBlock, ...]:
    images = sum(isinstance(block, ImageBlock) for block in content)
    if not images:
        return ()
    said = "An image was" if images == 1 else f"{images} images were"
    return (TextBlock(text=f"[{said} left out here to make room]"),)


def _text_of(content: Iterable[TextBlock | ImageBlock]) -> str:
    return "\n".join(block.text for block in content if isinstance(block, TextBlock))


def _short_call(call: ToolCallBlock) -> ToolCallBlock:
    values = parse_arguments(call.arguments)
    if not isinstance(values, dict):
        return call
    try:
        arguments = compact_json({key: _short_value(value) for key, value in values.items()})
    except (ValueError, RecursionError):  # nested too deep to be written again
        return call
    shorter = len(arguments) < len(call.arguments)
    return call.model_copy(update={"arguments": arguments}) if shorter else call


def _short_value(value: Any) -> Any:
    text = value if isinstance(value, str) else compact_json(value)
    if len(text) <= LONG:
        return value
    note = f"[… {len(text) - _HEAD} characters left out of this record to make room; the call had them all]"
    return f"{text[:_HEAD]}\n{note}"
