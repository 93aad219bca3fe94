"""JSON text as the model and storage get it: compact, finite, free of lone surrogates."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

_SURROGATE = re.compile("[\ud800-\udfff]")


def scrub(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 encoder and no provider accepts."""
    return _SURROGATE.sub("\ufffd", text) if _SURROGATE.search(text) else text


def compact_json(value: object) -> str:
    """Serialise a value as compact JSON (FACTS 5.2, 5.3).

    Args:
        value: JSON values, pydantic models, dataclasses, mappings, sequences; NaN and infinities give null.

    Raises:
        ValueError: The value has a cycle.
        TypeError: The value has a part without JSON form.
    """
    json.dumps(value, default=_default)  # finds cycles and foreign types before they are walked
    return scrub(json.dumps(finite(plain(value)), separators=(",", ":"), ensure_ascii=False))


def plain(value: object) -> Any:
    """Return the value as plain JSON types; parts already plain are copied."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return plain(_default(value))


def finite(value: Any) -> Any:
    """Return plain JSON with NaN and infinities as None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return value


def _default(value: object) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    raise TypeError(f"{type(value).__name__} has no JSON form")
