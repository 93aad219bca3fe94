"""JSON text as the model and storage get it: compact, finite, free of lone surrogates."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from pydantic_core import to_jsonable_python

_SURROGATE = re.compile("[\ud800-\udfff]")


def scrub(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 encoder and no provider accepts."""
    return _SURROGATE.sub("\ufffd", text) if _SURROGATE.search(text) else text


def plain(value: object) -> Any:
    """Return a value as plain JSON types, copied; NaN and infinities as None (FACTS 5.3).

    Args:
        value: What pydantic can serialise (JSON values, models, dataclasses, enums, dates, paths, sets, …),
            and arrays and scalars with `tolist`.

    Raises:
        ValueError: It has a cycle, or a part without JSON form.
    """
    return to_jsonable_python(value, by_alias=True, inf_nan_mode="null", fallback=_by_protocol)


def compact_json(value: object) -> str:
    """Serialise a value as compact JSON: no blanks, non-ASCII as it is, key order kept (FACTS 5.2).

    Raises:
        ValueError: As `plain`.
    """
    return scrub(json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False))


def _by_protocol(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numpy
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise ValueError(f"{type(value).__name__} has no JSON form")
