"""Tool content: what a host tool returns when it has more than text to show (API 4, FACTS 6)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn, NotRequired, TypedDict, cast

from .errors import InvalidOptionError

TOOL_CONTENT_TYPE = "runcell.tool-content"
"""Discriminator of the envelope."""

MAX_IMAGE_BYTES = 5 * 1024 * 1024
"""Decoded bytes of one image, inclusive."""

ToolContentImageMediaType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
"""Image formats that providers take."""

_MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class ToolContentTextPart(TypedDict):
    """Text, possibly empty."""

    type: Literal["text"]
    text: str


class ToolContentImagePart(TypedDict):
    """An image as canonical base64 text."""

    type: Literal["image"]
    data: str
    mediaType: ToolContentImageMediaType


class ToolContentImageInput(TypedDict):
    """An image as given to `tool_content`: bytes or canonical base64 text."""

    type: Literal["image"]
    data: bytes | str
    media_type: NotRequired[str]
    mediaType: NotRequired[str]


ToolContentPart = ToolContentTextPart | ToolContentImagePart
ToolContentPartInput = ToolContentTextPart | ToolContentImageInput


class ToolContent(TypedDict):
    """The envelope. Built by `tool_content` it is deeply immutable and plain JSON."""

    type: str
    version: int
    content: Sequence[ToolContentPart]


class _Frozen(dict[str, Any]):
    """A dict that json.dumps takes and nobody changes."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("tool content is immutable; build a new one with tool_content()")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Frozen, (dict(self),))


def tool_content(parts: Sequence[ToolContentPartInput]) -> ToolContent:
    """Build the envelope that gives the model real text and image blocks.

    Args:
        parts: `{"type": "text", "text": …}` and `{"type": "image", "data": …, "media_type": …}`, where
            data is bytes or canonical base64 text. Extra keys are dropped.

    Raises:
        InvalidOptionError: `.kind` 'shape' for a wrong type or encoding, 'limit' for an image over 5 MiB.
            The message names the index of the part.
    """
    if not isinstance(parts, (list, tuple)) or not parts:
        _fail(f"tool_content takes a non-empty list of parts, got {type(parts).__name__}.")
    content = tuple(_part(index, part) for index, part in enumerate(parts))
    return cast("ToolContent", _Frozen(type=TOOL_CONTENT_TYPE, version=1, content=content))


def is_tool_content(value: object) -> bool:
    """Tell whether a value is a valid envelope in its normalised form. Never raises."""
    try:
        return _is_envelope(value)
    except Exception:
        return False


def is_image(data: str, media_type: str) -> bool:
    """Tell whether a part holds an image that providers take: its format, base64 and size."""
    part = {"type": "image", "data": data, "mediaType": media_type}
    return is_tool_content({"type": TOOL_CONTENT_TYPE, "version": 1, "content": [part]})


def _is_envelope(value: object) -> bool:
    if not isinstance(value, Mapping) or value.get("type") != TOOL_CONTENT_TYPE:
        return False
    version, content = value.get("version"), value.get("content")
    if type(version) is not int or version != 1 or not isinstance(content, (list, tuple)) or not content:
        return False
    return all(_is_normal(index, part) for index, part in enumerate(content))


def _is_normal(index: int, part: Any) -> bool:
    if part.get("type") == "image" and (
        not isinstance(part.get("data"), str) or part.get("mediaType") not in _MEDIA_TYPES
    ):
        return False
    _part(index, part)
    return True


def _part(index: int, part: Any) -> _Frozen:
    if not isinstance(part, Mapping):
        _fail(f"part {index}: must be a text or image part, got {type(part).__name__}.")
    kind = part.get("type")
    if kind == "text":
        if not isinstance(part.get("text"), str):
            _fail(f"part {index}: text must be a string, got {type(part.get('text')).__name__}.")
        return _Frozen(type="text", text=part["text"])
    if kind == "image":
        media_type = _media_type(index, part.get("media_type", part.get("mediaType")))
        return _Frozen(type="image", data=_image_data(index, part.get("data")), mediaType=media_type)
    _fail(f"part {index}: type must be 'text' or 'image', got {kind!r}.")


def _media_type(index: int, media_type: object) -> str:
    lowered = media_type.lower() if isinstance(media_type, str) else ""
    lowered = "image/jpeg" if lowered == "image/jpg" else lowered
    if lowered not in _MEDIA_TYPES:
        _fail(f"part {index}: media_type must be one of {', '.join(_MEDIA_TYPES)}, got {media_type!r}.")
    return lowered


def _image_data(index: int, data: object) -> str:
    if isinstance(data, (bytes, bytearray, memoryview)):
        size = memoryview(data).nbytes
        if not size:
            _fail(f"part {index}: image data is empty.")
        _check_size(index, size)
        return base64.b64encode(data).decode("ascii")
    if not isinstance(data, str):
        _fail(f"part {index}: image data must be bytes or base64 text, got {type(data).__name__}.")
    if len(data) % 4 or not _BASE64.fullmatch(data):
        _fail(f"part {index}: image data is not canonical base64 text.")
    # The size comes from the length, so that text over the limit is never decoded (FACTS 6.9).
    _check_size(index, len(data) // 4 * 3 - data.count("=", -2))
    try:
        canonical = base64.b64encode(base64.b64decode(data, validate=True)).decode("ascii")
    except binascii.Error:
        canonical = ""
    if canonical != data:
        _fail(f"part {index}: image data is not canonical base64 text (its unused bits are not zero).")
    return data


def _check_size(index: int, size: int) -> None:
    if size > MAX_IMAGE_BYTES:
        message = f"part {index}: image has {size} bytes, the limit is {MAX_IMAGE_BYTES}; make it smaller."
        raise InvalidOptionError(message, kind="limit")


def _fail(message: str) -> NoReturn:
    raise InvalidOptionError(message, kind="shape")
