"""Failing cells that say one sentence instead of forty lines."""

from __future__ import annotations

from typing import TypeVar

from runcell_nb.core.errors import message_of

from .shown_text import clip, visible

E = TypeVar("E", bound=BaseException)

_LINES = 30
"""Lines of a message that are shown of its start, and of its end."""

_HEAD_CHARS = 1_000
_TAIL_CHARS = 500


def shortened(error: E) -> E:
    """Make IPython show an error as its class and message.

    Args:
        error: Returned itself, so that its class, cause and usage stay what they are. Its message can
            hold what a provider or a file said: escape sequences in it never reach the terminal,
            and of one that names a huge value the middle is left out.
    """
    message = clip(message_of(error), _LINES, _LINES, _HEAD_CHARS, _TAIL_CHARS).text()
    text = f"\x1b[31m{visible(type(error).__name__)}\x1b[0m: {message}"
    error._render_traceback_ = lambda: text.splitlines()  # type: ignore[attr-defined]
    return error
