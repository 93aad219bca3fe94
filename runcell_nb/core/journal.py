"""A thread's continuation: the engine's own log, compressed, opaque to everyone else."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from .message_log import valid_log
from .messages import Message

ENGINE = "runcell-nb"

_MAX_JOURNAL_BYTES = 256 * 1024 * 1024
"""A journal that unpacks to more is somebody's bomb, not a conversation."""

_GZIP = 31
_messages: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])


def journal_of(messages: Sequence[Message]) -> dict[str, Any]:
    """Return the continuation that holds this log."""
    text = _messages.dump_json(tuple(messages), by_alias=True, exclude_none=True)
    packer = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    packed = packer.compress(text) + packer.flush()
    return {"engine": ENGINE, "resume": {"version": 1}, "journalGz": base64.b64encode(packed).decode("ascii")}


def journal_from(continuation: Any) -> tuple[Message, ...] | None:
    """Return the log of a continuation; None when it is another engine's or malformed."""
    if not isinstance(continuation, Mapping) or continuation.get("engine") != ENGINE:
        return None
    packed = continuation.get("journalGz")
    if continuation.get("resume") != {"version": 1} or not isinstance(packed, str):
        return None
    try:
        unpacker = zlib.decompressobj(_GZIP)
        text = unpacker.decompress(base64.b64decode(packed, validate=True), _MAX_JOURNAL_BYTES)
        if not unpacker.eof:
            return None
        return valid_log(_messages.validate_json(text)).messages
    except (ValueError, zlib.error):
        return None
