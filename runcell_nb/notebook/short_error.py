"""Failing cells that say one sentence instead of forty lines."""

from __future__ import annotations

from typing import TypeVar

from runcell_nb.core.errors import message_of

from .shown_text import visible

E = TypeVar("E", bound=BaseException)


def shortened(error: E) -> E:
    """Make IPython show an error as its class and message.

    Args:
        error: Returned itself, so that its class, cause and usage stay what they are. Its message can
            hold what a provider or a file said: escape sequences in it never reach the terminal.
    """
    text = f"\x1b[31m{visible(type(error).__name__)}\x1b[0m: {visible(message_of(error))}"
    error._render_traceback_ = lambda: text.splitlines()  # type: ignore[attr-defined]
    return error
