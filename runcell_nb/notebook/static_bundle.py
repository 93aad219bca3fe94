"""The static copy of a run: it stands in the notebook once the run is over and needs no widget or kernel."""

from __future__ import annotations

from .static_html import answer_html, static_html
from .static_text import answer_plain, static_markdown, static_plain
from .transcript import Transcript


def static_bundle(transcript: Transcript) -> dict[str, str]:
    """Return the run as a MIME bundle of HTML, Markdown and plain text, bounded in size."""
    return {
        "text/html": static_html(transcript),
        "text/markdown": static_markdown(transcript),
        "text/plain": static_plain(transcript),
    }


def answer_bundle(transcript: Transcript) -> dict[str, str]:
    """Return the answer alone as a MIME bundle of HTML and plain text."""
    return {"text/html": answer_html(transcript), "text/plain": answer_plain(transcript)}
