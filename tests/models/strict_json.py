"""What the strict rules of both providers share: how they refuse, and what a body must be at all."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Documented by both providers."""

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Of a function or tool; documented by both (Anthropic has since raised its own length to 128)."""

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture of one point, as base64."""


class RefusedError(Exception):
    """A rule is broken; the message is what the provider would say."""


def require(rule: object, message: str) -> None:
    """Refuse unless the rule holds."""
    if not rule:
        raise RefusedError(message)


def check_body(body: object) -> None:
    """Refuse what no JSON parser but Python's takes: NaN, and lone surrogates, escaped or not (observed)."""
    try:
        json.dumps(body, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise RefusedError("The request body is not valid JSON: no low surrogate in string") from error
    except ValueError as error:
        raise RefusedError("The request body is not valid JSON: unexpected character") from error


def check_schema(schema: object, where: str) -> None:
    """Refuse parameters that are not the JSON Schema of an object (documented)."""
    require(isinstance(schema, Mapping), f"{where}: a schema must be an object")
    assert isinstance(schema, Mapping)
    require(schema.get("type") == "object", f"{where}.type: should be 'object'")
    require(isinstance(schema.get("properties", {}), Mapping), f"{where}.properties: should be an object")


def check_image(media_type: object, data: object, where: str) -> None:
    """Refuse an image of another format, without data, or whose base64 does not decode (documented)."""
    require(media_type in MEDIA_TYPES, f"{where}: media type should be one of {', '.join(MEDIA_TYPES)}")
    require(isinstance(data, str) and data, f"{where}: image data is missing")
    try:
        base64.b64decode(str(data), validate=True)
    except ValueError as error:
        raise RefusedError(f"{where}: invalid base64 data") from error


def has_text(value: Any) -> bool:
    """Whether a value is text that is more than blanks."""
    return isinstance(value, str) and bool(value.strip())
