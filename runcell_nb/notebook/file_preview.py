"""What is shown of one file: text, table, picture or a sentence; bounded, whatever the file holds."""

from __future__ import annotations

import csv
import io
import json
from pathlib import PurePosixPath
from typing import Any

from runcell_nb.core.diffs import MAX_DIFF_LINES, diff_of
from runcell_nb.core.image_type import image_type

from .shown_text import count_text, one_line, size_text, visible

MAX_TEXT_BYTES = 200_000
"""Bytes of a text that are shown."""

MAX_SHOWN_CHARS = 400_000
"""Characters of a text as shown; laying out JSON and making odd characters visible lengthen a text."""

MAX_IMAGE_BYTES = 10_000_000
"""Larger pictures are not sent to the browser."""

MAX_TABLE_ROWS = 200
"""Rows of a table that are shown."""

_JSON_SUFFIXES = (".json", ".geojson", ".ipynb")
_MAX_COLUMNS = 60
_MAX_LINE_CHARS = 5_000


def preview_of(path: str, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return what to show of a file, as plain JSON and buffers.

    Args:
        path: Its name decides between table, JSON and text; pictures are known by their content.
        data: The whole content.

    Returns:
        `kind` is 'text', 'json' (laid out, a value a line), 'table', 'image' or 'binary'; `note` states what
        was left out; the bytes of an image are the one buffer.
    """
    media_type = image_type(data)
    if media_type is not None:
        return _image(media_type, data)
    text = _text(data[: MAX_TEXT_BYTES + 4])
    if text is None:
        return {
            "kind": "binary",
            "note": f"A binary file of {size_text(len(data))}; download it to see it.",
        }, []
    note = _cut_note(len(data))
    if note:
        text = text[: text.rfind("\n") + 1] or text
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in (".csv", ".tsv"):
        table = _table(text, "\t" if suffix == ".tsv" else ",", whole=not note)
        if table is not None:
            return table, []
    laid_out = _pretty(text) if suffix in _JSON_SUFFIXES and not note else None
    shown = _short_lines(visible(text if laid_out is None else laid_out))
    kind = "text" if laid_out is None or len(shown) > MAX_SHOWN_CHARS else "json"
    if len(shown) > MAX_SHOWN_CHARS:
        note = f"The first {MAX_SHOWN_CHARS:,} characters as shown here; download the file for the rest."
    return {"kind": kind, "text": shown[:MAX_SHOWN_CHARS], "note": note}, []


def diff_preview(before: bytes | None, after: bytes | None) -> dict[str, Any]:
    """Return what changed in a file, as plain JSON.

    Args:
        before: What it held at the mark; None when it was not there.
        after: What it holds; None when it is gone.

    Returns:
        `kind` is 'diff', with `lines`, each with its sign, and counts `added` and `removed`; or 'binary'
        with a `note` why there is none.
    """
    diff = diff_of(before, after)
    if diff is None:
        return {"kind": "binary", "note": "A binary file; its changes cannot be shown line by line."}
    if diff.added is None and not diff.lines:
        return {"kind": "binary", "note": "The file is too large to be compared line by line."}
    shown = [_short_lines(visible(line)).replace("\n", "\u240a") for line in diff.lines[:MAX_DIFF_LINES]]
    note = f"{count_text(diff.omitted, 'line')} of the changes left out." if diff.omitted else ""
    return {"kind": "diff", "lines": shown, "added": diff.added, "removed": diff.removed, "note": note}


def _image(media_type: str, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    if len(data) > MAX_IMAGE_BYTES:
        return {"kind": "binary", "note": f"A picture of {size_text(len(data))}; download it to see it."}, []
    return {"kind": "image", "mediaType": media_type, "note": ""}, [data]


def _text(data: bytes) -> str | None:
    """Return the start of a file as text, None when it is none."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        return None
    text = data[:MAX_TEXT_BYTES].decode("utf-8-sig", "replace")
    return None if text.count("\ufffd") > 2 + len(text) // 50 else text


def _cut_note(size: int) -> str:
    if size <= MAX_TEXT_BYTES:
        return ""
    return f"The first {size_text(MAX_TEXT_BYTES)} of {size_text(size)}; download the file for the rest."


def _table(text: str, delimiter: str, *, whole: bool) -> dict[str, Any] | None:
    """Return the rows of a CSV text; None when it does not read as a table."""
    rows: list[list[str]] = []
    more, more_columns = not whole, False
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if len(rows) > MAX_TABLE_ROWS:
                more = True
                break
            if row:
                rows.append([one_line(cell, 200) for cell in row[:_MAX_COLUMNS]])
                more_columns = more_columns or len(row) > _MAX_COLUMNS
    except csv.Error:
        return None
    if not rows or len(rows[0]) < 2:
        return None
    note = f"The first {count_text(len(rows) - 1, 'row')}; download the file for the rest." if more else ""
    if more_columns:
        note += f" Columns after the first {_MAX_COLUMNS} are left out."
    return {"kind": "table", "head": rows[0], "rows": rows[1:], "note": note.strip()}


def _pretty(text: str) -> str | None:
    """Return JSON laid out, None for other text; only what is shown, for deep nesting makes it far longer."""
    pieces: list[str] = []
    length = 0
    try:
        for piece in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(json.loads(text)):
            pieces.append(piece)
            length += len(piece)
            if length > MAX_SHOWN_CHARS:
                break
    except (ValueError, RecursionError):
        return None
    return "".join(pieces)


def _short_lines(text: str) -> str:
    if max(map(len, text.split("\n"))) <= _MAX_LINE_CHARS:
        return text
    lines = (
        line if len(line) <= _MAX_LINE_CHARS else line[:_MAX_LINE_CHARS] + " … part of a long line left out"
        for line in text.split("\n")
    )
    return "\n".join(lines)
