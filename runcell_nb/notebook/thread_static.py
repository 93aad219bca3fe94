"""The threads as they stand in the notebook: readable without a widget or a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from runcell_nb.models.redaction import redacted_texts, texts_in, with_texts

from .markdown import markdown_html
from .shown_text import count_text

MAX_STATIC_CHARS = 100_000
"""Characters of prompts, answers and results in one copy; later turns are left out."""

_FRAME = (
    "border:1px solid rgba(128,128,128,0.4); border-radius:4px; max-width:900px; max-height:480px; "
    "overflow:auto; padding:6px 10px; font-size:13px; line-height:1.5; overflow-wrap:anywhere"
)
_FAINT = "opacity:0.75; font-size:12px"
_TURN = "margin:8px 0 0; padding-top:6px; border-top:1px solid rgba(128,128,128,0.3)"
_PROMPT = "margin:4px 0; padding-left:9px; border-left:2px solid rgba(128,128,128,0.4); white-space:pre-wrap"
_PRE = "margin:4px 0; padding:5px 8px; background-color:rgba(128,128,128,0.1); white-space:pre-wrap"


def static_threads(shown: Mapping[str, Any], place: str) -> dict[str, str]:
    """Return the threads and the turns of the chosen one as a MIME bundle of HTML and plain text.

    Keys and tokens of the environment are taken out: a notebook is passed on.

    Args:
        shown: What the browser shows, as it is told to a page.
        place: A name by which the widget finds this output in a live page and draws itself in it.
    """
    shown = with_texts(shown, redacted_texts(texts_in(shown)))
    chosen = next((row for row in shown["threads"] if row["key"] == shown["chosen"]), None)
    title = f"{count_text(len(shown['threads']), 'thread')}"
    turns, note = _with_room(shown["turns"])
    notes = [text for text in (*shown["notes"], note) if text]
    plain = [title, *map(_row_plain, shown["threads"])]
    html = [
        f"<b>{escape(title)}</b><ul>",
        *(f"<li>{_row_html(row)}</li>" for row in shown["threads"]),
        "</ul>",
    ]
    if chosen is not None:
        plain += ["", f"thread {chosen['name']}", *(line for turn in turns for line in _turn_plain(turn))]
        html += [f"<div><b>{escape(chosen['name'])}</b></div>", *map(_turn_html, turns)]
    plain += notes
    html += [f'<div style="{_FAINT}">{escape(text)}</div>' for text in notes]
    # The mark that placed_store.js looks for.
    frame = f'<div data-runcell-place="{escape(place)}"><div style="{_FRAME}">{"".join(html)}</div></div>'
    return {"text/html": frame, "text/plain": "\n".join(plain)}


def _with_room(turns: Iterable[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    """Return the first turns there is room for, and a sentence on the others."""
    all_turns = list(turns)
    kept: list[Mapping[str, Any]] = []
    room = MAX_STATIC_CHARS
    for turn in all_turns:
        room -= len(turn["prompt"]) + len(turn["answer"]) + len(turn["data"] or "")
        if room < 0 and kept:
            break
        kept.append(turn)
    missing = len(all_turns) - len(kept)
    return kept, f"{count_text(missing, 'later turn')} left out of this copy." if missing else ""


def _row_parts(row: Mapping[str, Any]) -> str:
    parts = [count_text(row["count"], "turn"), row["figures"], row["origin"]]
    return " · ".join(part for part in parts if part)


def _row_plain(row: Mapping[str, Any]) -> str:
    return f"{'*' if row['active'] else ' '} {row['name']}  {_row_parts(row)}"


def _row_html(row: Mapping[str, Any]) -> str:
    active = " (active)" if row["active"] else ""
    return f'<b>{escape(row["name"])}</b>{active} <span style="{_FAINT}">{escape(_row_parts(row))}</span>'


def _head(turn: Mapping[str, Any]) -> str:
    return " · ".join(part for part in (f"turn {turn['number']}", turn["model"], turn["figures"]) if part)


def _turn_plain(turn: Mapping[str, Any]) -> list[str]:
    parts = [f"you: {turn['prompt']}", turn["answer"] and f"agent: {turn['answer']}", turn["data"]]
    return [_head(turn), *(part for part in parts if part)]


def _turn_html(turn: Mapping[str, Any]) -> str:
    data = f'<pre style="{_PRE}">{escape(turn["data"])}</pre>' if turn["data"] is not None else ""
    return (
        f'<div style="{_TURN}"><div style="{_FAINT}">{escape(_head(turn))}</div>'
        f"{_prompt_html(turn['prompt'])}{markdown_html(turn['answer'])}{data}</div>"
    )


def _prompt_html(prompt: str) -> str:
    """A quotation with its lines, also where a site has taken the styles away."""
    return f'<blockquote style="{_PROMPT}">{escape(prompt).replace(chr(10), "<br>")}</blockquote>'
