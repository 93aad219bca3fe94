"""Reads the behaviour cases kept as data: the markers in them stand for values JSON cannot hold."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from runcell_nb import tool_content

DATA = Path(__file__).parent / "data"
ABSENT = object()


def cases(file: str, area: str) -> list[Any]:
    """The cases of an area, as pytest parameters with readable ids."""
    import pytest

    found = [case for case in json.loads((DATA / file).read_text("utf-8"))["cases"] if case["area"] == area]
    assert found, f"no cases for {area}"
    return [pytest.param(case["input"], case["expect"], id=f"{case['id']} {case['name']}") for case in found]


def decoded(value: Any) -> Any:
    """Replace markers such as {"$bytes": …} by what they stand for."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    for marker, read in _MARKERS.items():
        if set(value) == {marker}:
            return read(value[marker])
    found = {key: decoded(item) for key, item in value.items()}
    return {key: item for key, item in found.items() if item is not ABSENT}


def _envelope(parts: Any) -> Any:
    return tool_content(decoded(parts))


_MARKERS = {
    "$bytes": lambda text: base64.b64decode(text),
    "$repeat_bytes": lambda pair: bytes([pair[0]]) * pair[1],
    "$b64_of_repeat": lambda pair: base64.b64encode(bytes([pair[0]]) * pair[1]).decode(),
    "$repeat_str": lambda parts: parts[0] * parts[1] + parts[2],
    "$undefined": lambda _: ABSENT,
    "$nan": lambda _: float("nan"),
    "$inf": lambda _: float("inf"),
    "$callable": lambda _: print,
    "$tool_content": _envelope,
}
