"""The file that stands for a variable in the sandbox, with a line that describes it."""

from __future__ import annotations

import base64
import io
from typing import Any, NamedTuple

from runcell_nb.core.errors import InvalidOptionError, message_of
from runcell_nb.core.jsontext import compact_json

from .shown_text import one_line

_MOST_COLUMNS = 40
_HEAD_ROWS = 3
_HEAD_CHARS = 200


class VariableFile(NamedTuple):
    """A value as a file."""

    path: str
    data: bytes
    note: str


class _NoFileFormError(Exception):
    """A sentence without its beginning and its full stop."""


def file_of_value(name: str, value: Any, *, parquet: bool = False) -> VariableFile:
    """Turn a value into a file: text, bytes, a DataFrame, a figure, an image or JSON values.

    Args:
        name: Of the file, without its ending.
        value: Anything; what it does to become a file is its own code.
        parquet: Parquet for a DataFrame, instead of CSV.

    Raises:
        InvalidOptionError: It has no such form, or fails to take it.
    """
    try:
        return _parquet(name, value) if parquet else _usual(name, value)
    except _NoFileFormError as error:
        raise InvalidOptionError(f"--in {name!r}: {error}.") from error.__cause__
    except BaseException as error:  # SystemExit, say: on the event loop it would end the kernel
        why = f"{type(error).__name__}: {one_line(message_of(error)).rstrip('.')}"
        message = f"--in {name!r}: the {type(value).__name__} cannot be made a file ({why})."
        raise InvalidOptionError(message, cause=error) from error


def _usual(name: str, value: Any) -> VariableFile:
    if isinstance(value, str):
        data = value.encode("utf-8", "replace")
        return VariableFile(f"{name}.txt", data, f"text `{name}`, {len(value)} characters")
    if isinstance(value, (bytes, bytearray)):
        return VariableFile(f"{name}.bin", bytes(value), f"bytes `{name}`, {len(value)} bytes")
    if _is_frame(value):
        frame = _with_index(value)
        return VariableFile(f"{name}.csv", frame.to_csv(index=False).encode(), _frame_note(name, frame))
    picture = _png(value)
    if picture is not None:
        return VariableFile(f"{name}.png", picture, f"{type(value).__name__} `{name}` as a picture")
    return _json(name, value)


def _json(name: str, value: Any) -> VariableFile:
    kind = type(value).__name__
    try:
        text = compact_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"a {kind} has no file form; give text, bytes, a pandas DataFrame, a picture or JSON values"
        raise _NoFileFormError(message) from error
    count = f", {len(value):,} entries" if isinstance(value, (list, tuple, dict, set)) else ""
    return VariableFile(f"{name}.json", text.encode(), f"{kind} `{name}` as JSON{count}")


def _parquet(name: str, value: Any) -> VariableFile:
    if not _is_frame(value) or not hasattr(value, "to_parquet"):
        raise _NoFileFormError(
            f"only a pandas DataFrame has a Parquet form, this is a {type(value).__name__}"
        )
    frame, written = _with_index(value), io.BytesIO()
    try:
        frame.to_parquet(written, index=False)
    except ImportError as error:
        message = f"Parquet needs pyarrow (pip install pyarrow); --in {name} gives CSV"
        raise _NoFileFormError(message) from error
    return VariableFile(f"{name}.parquet", written.getvalue(), f"{_frame_note(name, frame)}, as Parquet")


def _is_frame(value: Any) -> bool:
    return hasattr(value, "to_csv") and hasattr(value, "columns")


def _with_index(frame: Any) -> Any:
    """Return the frame with its index as columns, unless that only numbers the rows."""
    index = getattr(frame, "index", None)
    if index is None or (list(index.names) == [None] and index.dtype.kind in "iu"):
        return frame
    return frame.reset_index(allow_duplicates=True)


def _frame_note(name: str, frame: Any) -> str:
    dtypes = list(frame.dtypes.items())
    columns = [f"{column} ({dtype})" for column, dtype in dtypes[:_MOST_COLUMNS]]
    more = "" if len(dtypes) <= _MOST_COLUMNS else f" and {len(dtypes) - _MOST_COLUMNS} more"
    rows = frame.head(_HEAD_ROWS).to_csv(index=False, header=False)
    head = one_line(" / ".join(rows.splitlines()), _HEAD_CHARS)
    first = f"; it begins: {head}" if head else ""
    return f"DataFrame `{name}`, {len(frame):,} rows, columns: {', '.join(columns)}{more}{first}"


def _png(value: Any) -> bytes | None:
    """Return the picture of what draws itself: a matplotlib figure or axes, a PIL image; else None."""
    figure = value.get_figure() if hasattr(value, "get_figure") else value
    if hasattr(figure, "savefig"):
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", bbox_inches="tight")
        return drawn.getvalue()
    # What Jupyter asks for a picture; with metadata it is a pair, and text is base64.
    shown = value._repr_png_() if hasattr(type(value), "_repr_png_") else None
    picture = shown[0] if isinstance(shown, tuple) else shown
    return base64.b64decode(picture) if isinstance(picture, str) else picture
