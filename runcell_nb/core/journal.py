"""A thread's continuation: the engine's own log, compressed, opaque to everyone else."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import FailFast, TypeAdapter

from .message_log import valid_log
from .messages import ImageBlock, Message, TextBlock, ToolMessage, ToolResultBlock, UserMessage
from .tool_content import is_image

ENGINE = "runcell-nb"

_MAX_JOURNAL_BYTES = 256 * 1024 * 1024
"""A journal that unpacks to more is somebody's bomb, not a conversation."""

UNREADABLE_IMAGE = "(an image that could not be read)"
"""Stands where a journal that somebody edited has an image that is none."""

_MAX_PARTS = 2_000_000
"""Objects and lists of a journal; more of them, each next to nothing, would take gigabytes of memory."""

_GZIP = 31
# The first error is enough: to collect those of a million wrong messages takes gigabytes.
_messages: TypeAdapter[tuple[Message, ...]] = TypeAdapter(Annotated[tuple[Message, ...], FailFast()])


def journal_of(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the continuation that holds this log."""
    text = _messages.dump_json(tuple(messages), by_alias=True, exclude_none=True)
    packer = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    packed = packer.compress(text) + packer.flush()
    return {"engine": ENGINE, "resume": {"version": 1}, "journalGz": base64.b64encode(packed).decode("ascii")}


def journal_from(continuation: Any) -> tuple[Message, ...] | None:
    """Return the log of a continuation; None when it is another engine's, malformed or empty."""
    if not isinstance(continuation, Mapping) or continuation.get("engine") != ENGINE:
        return None
    packed = continuation.get("journalGz")
    if continuation.get("resume") != {"version": 1} or not isinstance(packed, str):
        return None
    try:
        unpacker = zlib.decompressobj(_GZIP)
        text = unpacker.decompress(base64.b64decode(packed, validate=True), _MAX_JOURNAL_BYTES)
        if not unpacker.eof or text.count(b"{") + text.count(b"[") > _MAX_PARTS:
            return None
        return valid_log(map(_with_true_images, _messages.validate_json(text))).messages or None
    except (ValueError, zlib.error):
        return None


def _with_true_images(message: Message) -> Message:
    """Look at images where they come from outside, and only there: it takes a while with large ones."""
    if isinstance(message, UserMessage):
        return UserMessage(content=_shown(message.content))
    if isinstance(message, ToolMessage):
        return ToolMessage(content=tuple(map(_true_result, message.content)))
    return message


def _true_result(result: ToolResultBlock) -> ToolResultBlock:
    return result.model_copy(update={"content": _shown(result.content)})


def _shown(content: Sequence[TextBlock | ImageBlock]) -> tuple[TextBlock | ImageBlock, ...]:
    return tuple(
        block
        if isinstance(block, TextBlock) or is_image(block.data, block.media_type)
        else TextBlock(text=UNREADABLE_IMAGE)
        for block in content
    )
