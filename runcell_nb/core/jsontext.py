"""JSON text as the model and storage get it: compact, finite, free of lone surrogates."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from pydantic_core import to_jsonable_python

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL
)


def scrub(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 encoder and no provider accepts.

    Two that belong together become their character: streams exist that cut one in the middle.
    """
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def scrub_json(text: str) -> str:
    """Replace lone surrogates in JSON text, those written as escapes too, and change nothing else.

    Args:
        text: Valid JSON.
    """
    text = scrub(text)
    return _ESCAPE.sub(_whole_escape, text) if _ESCAPED_SURROGATE.search(text) else text


def scrubbed(value: Any) -> Any:
    """Return a copy of JSON data whose texts, keys included, have no lone surrogates."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {scrub(key) if isinstance(key, str) else key: scrubbed(item) for key, item in value.items()}
    return [scrubbed(item) for item in value] if isinstance(value, (list, tuple)) else value


def _whole_escape(match: re.Match[str]) -> str:
    """Return an escape as it is, unless it is one half of a pair."""
    escape = match[0]
    alone = len(escape) == 6 and _ESCAPED_SURROGATE.match(escape)
    return "\\ufffd" if alone else escape


def plain(value: object) -> Any:
    """Return a value as plain JSON types, copied; NaN and infinities as None (FACTS 5.3).

    Args:
        value: What pydantic can serialise (JSON values, models, dataclasses, enums, dates, paths, sets, …),
            and arrays and scalars with `tolist`.

    Raises:
        ValueError: It has a cycle, or a part without JSON form.
    """
    try:
        return _jsonable(value)
    except UnicodeEncodeError:  # pydantic takes lone surrogates, but not in keys
        return _jsonable(scrubbed(value))


def compact_json(value: object) -> str:
    """Serialise a value as compact JSON: no blanks, non-ASCII as it is, key order kept (FACTS 5.2).

    Raises:
        ValueError: As `plain`.
    """
    return scrub(json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False))


def _jsonable(value: object) -> Any:
    return to_jsonable_python(value, by_alias=True, inf_nan_mode="null", fallback=_by_protocol)


def _by_protocol(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numpy
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise ValueError(f"{type(value).__name__} has no JSON form")
