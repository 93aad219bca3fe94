"""The one form of a message by which a recording finds a request again.

Call ids, reasoning, line ends, keys and what varies in the results of tools are not in it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from runcell_nb.core.jsontext import plain, scrub
from runcell_nb.core.message_log import parse_arguments
from runcell_nb.core.messages import (
    AssistantMessage,
    ImageBlock,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    UserMessage,
)

from .redaction import redacted_texts, texts_in, with_texts
from .volatile_text import without_volatile

MAX_STORED_TEXT = 4000
"""Characters of one text that a recording stores; of a longer one it has the beginning and the digest."""

_DIGEST_CHARS = 24

_SANDBOX_NOTE = re.compile(r"(?:\A|\n\n)Note on the sandbox: [^\n]*(?:\n(?!\n)[^\n]*)*")
"""What a notebook tells of how it made its files again: true in one kernel, not in the next."""


def normal_text(text: str) -> str:
    """Return a text without lone surrogates and keys, its line ends all alike."""
    text = scrub(text).replace("\r\n", "\n").replace("\r", "\n")
    return redacted_texts([text]).get(text, text)


def canonical_arguments(arguments: str) -> str:
    """Return the arguments of a call as canonical JSON; as they are when they are no JSON.

    Keys are taken out of each text for itself, so that what was JSON stays JSON.
    """
    try:
        value = parse_arguments(arguments)
        return normal_text(arguments) if value is None else _canonical(normal_json(value))
    except (ValueError, RecursionError):  # nested too deep for a copy
        return normal_text(arguments)


def stored_text(text: str) -> Any:
    """Return a text as a recording stores it: its lines, or the beginning and the digest of a long one."""
    if len(text) <= MAX_STORED_TEXT:
        return lines_of(text)
    return {"begins": lines_of(text[:MAX_STORED_TEXT]), "sha256": _sha256(text), "length": len(text)}


def lines_of(text: str) -> str | list[str]:
    """Return a text for JSON that people compare: one line as it is, several as a list."""
    return text.split("\n") if "\n" in text else text


def normal_message(message: Message) -> dict[str, Any]:
    """Return the normal form of a message, plain JSON."""
    if isinstance(message, UserMessage):
        blocks = [_block(block, _user_text) for block in message.content]
        return {"role": "user", "content": [block for block in blocks if block != {"text": ""}]}
    if isinstance(message, AssistantMessage):
        said = [block for block in message.content if isinstance(block, TextBlock | ToolCallBlock)]
        return {"role": "assistant", "content": [_said(block) for block in said]}
    return {"role": "tool", "content": [_result(result) for result in message.content]}


def said_text(text: str) -> dict[str, Any]:
    """Return the normal form of what a model said."""
    return {"text": stored_text(normal_text(text))}


def said_call(name: str, arguments: str) -> dict[str, Any]:
    """Return the normal form of a model's call."""
    return {"call": name, "arguments": stored_text(canonical_arguments(arguments))}


def key_digest(text: str) -> str:
    """Return the short digest of a text that is a key of a recording."""
    return _sha256(text)[:_DIGEST_CHARS]


def digest_of(value: Any) -> str:
    """Return the digest of plain JSON data."""
    return key_digest(_canonical(value))


def _said(block: TextBlock | ToolCallBlock) -> dict[str, Any]:
    return said_text(block.text) if isinstance(block, TextBlock) else said_call(block.name, block.arguments)


def _result(result: ToolResultBlock) -> dict[str, Any]:
    content = [_block(block, _result_text) for block in result.content]
    failed = {"error": True} if result.is_error else {}
    return {"result": result.name, **failed, "content": content}


def _block(block: TextBlock | ImageBlock, normal: Callable[[str], str]) -> dict[str, Any]:
    if isinstance(block, ImageBlock):
        return {"image": key_digest(block.data), "type": block.media_type}
    return {"text": stored_text(normal(block.text))}


def _user_text(text: str) -> str:
    return _SANDBOX_NOTE.sub("", normal_text(text))


def _result_text(text: str) -> str:
    return without_volatile(normal_text(text))


def normal_json(value: Any) -> Any:
    """Return a value as plain JSON whose texts are normal, keys of objects included."""
    value = plain(value)
    texts = list(dict.fromkeys(texts_in(value)))
    changed = {text: normal for text in texts if (normal := scrub(text).replace("\r\n", "\n")) != text}
    value = with_texts(value, changed) if changed else value
    secret = redacted_texts(changed.get(text, text) for text in texts)
    return with_texts(value, secret) if secret else value


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
