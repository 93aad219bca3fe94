"""The listing of a sandbox that stands in the notebook: readable without a widget or a kernel."""

from __future__ import annotations

from html import escape

from .file_listing import FileListing
from .shown_text import size_text, visible

MAX_LISTED_FILES = 200
"""Files of the static listing; what changed comes first when there are more."""

_NAME_CHARS = 300
_FRAME = (
    "border:1px solid rgba(128,128,128,0.4); border-radius:4px; max-width:900px; max-height:360px; "
    "overflow:auto; padding:6px 10px; font-size:12px; line-height:1.5"
)
_TABLE = "border-collapse:collapse; margin:4px 0"
_CELL = "padding:0 14px 0 0; text-align:left"
_NUMBER = "padding:0 14px 0 0; text-align:right; white-space:nowrap"
_COLOURS = {"N": "color:#2b8a4a", "M": "color:#c07a12", "D": "color:#d9534f"}
_WORDS = {"N": "new", "M": "modified", "D": "deleted", "": ""}


def static_listing(kind: str, listing: FileListing, place: str) -> dict[str, str]:
    """Return the listing as a MIME bundle of HTML and plain text.

    Args:
        kind: Of the sandbox.
        listing: What to list.
        place: A name by which the widget finds this output in a live page and draws itself in it.
    """
    title = f"{kind} sandbox, {listing.summary()}"
    every = sorted(listing.shown().items())
    changed_first = sorted(every, key=lambda item: not item[1][1]) if len(every) > MAX_LISTED_FILES else every
    shown = [(mark, _name(path), size_text(size)) for path, (size, mark) in changed_first[:MAX_LISTED_FILES]]
    more = f"and {len(every) - len(shown):,} more" if len(every) > len(shown) else ""
    plain = [title, *(f"{mark or ' '} {path}  {size}" for mark, path, size in shown), more]
    rows = "".join(_row(*row) for row in shown)
    table = f'<table style="{_TABLE}"><tbody>{rows}</tbody></table>' if rows else ""
    html = (
        f'<div data-runcell-place="{escape(place)}"><div style="{_FRAME}">'
        f"<b>{escape(title)}</b>{table}{more}</div></div>"
    )
    return {"text/html": html, "text/plain": "\n".join(line for line in plain if line)}


def _row(mark: str, path: str, size: str) -> str:
    word = f'<span style="{_COLOURS[mark]}">{_WORDS[mark]}</span>' if mark else ""
    return (
        f'<tr><td style="{_CELL}"><code>{escape(path)}</code></td>'
        f'<td style="{_NUMBER}">{size}</td><td style="{_CELL}">{word}</td></tr>'
    )


def _name(path: str) -> str:
    """A name on one line, without signs that hide or turn what follows."""
    shown = visible(path.replace("\n", "\u240a").replace("\r", "\u240d").replace("\t", "\u2409"))
    return shown if len(shown) <= _NAME_CHARS else shown[:_NAME_CHARS] + "…"
