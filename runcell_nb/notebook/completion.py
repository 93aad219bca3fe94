"""Tab in `%%runcell` and `%runcell` lines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .completion_place import Place, place_at

if TYPE_CHECKING:
    from .completion_choices import Choice, Choices
    from .session import NotebookSession

COMPLETION_SECONDS = 0.15
"""The longest that a front end waits for us; what is not known by then is not proposed."""

_IDENTIFIER = "runcell"
_PRIORITY = 1_000
"""Before IPython's own, which then are not asked: jedi would read the line as Python."""


def register_completion(shell: Any, session: Callable[[], NotebookSession | None]) -> None:
    """Complete the lines of our magics in a shell; once, however often it is called.

    IPython before 8.6 does not tell where the cursor is; nothing of ours is completed there.

    Args:
        shell: The IPython shell.
        session: Returns the notebook's session, or None before there is one; must not make it.
    """
    try:
        from IPython.core.completer import SimpleCompletion, context_matcher
    except ImportError:
        return
    matching = _Matching(shell, session)

    def match(context: Any) -> Any:
        fragment, choices = matching.at(context.full_text, context.cursor_line, context.cursor_position)
        found = [SimpleCompletion(text, type=kind) for text, kind in choices]
        return {"completions": found, "matched_fragment": fragment, "ordered": True, "suppress": bool(found)}

    registered: Any = context_matcher(priority=_PRIORITY, identifier=_IDENTIFIER)
    unregister_completion(shell)
    shell.Completer.custom_matchers.append(registered(match))


def unregister_completion(shell: Any) -> None:
    """Undo `register_completion`.

    Args:
        shell: The IPython shell.
    """
    matchers = shell.Completer.custom_matchers
    matchers[:] = [each for each in matchers if getattr(each, "matcher_identifier", None) != _IDENTIFIER]


class _Matching:
    """Finds what could stand at the cursor; looks names up on a thread, a bounded time: a folder may hang."""

    def __init__(self, shell: Any, session: Callable[[], NotebookSession | None]) -> None:
        self._shell, self._session = shell, session
        self._choices: Choices | None = None
        self._thread: threading.Thread | None = None

    def at(self, text: str, line: int, column: int) -> tuple[str, list[Choice]]:
        """Return what would be replaced, and what could stand there."""
        place = place_at(text, line, column)
        if place is None:
            return "", []
        found = self._looked_up(place) if place.kinds else []
        words = [word for word in place.words if word.startswith(place.typed)]
        return place.fragment, [
            *found,
            *((word, "option" if word[0] == "-" else "command") for word in words),
        ]

    def _looked_up(self, place: Place) -> list[Choice]:
        deadline = time.monotonic() + COMPLETION_SECONDS
        if self._thread is not None:
            self._thread.join(COMPLETION_SECONDS)
            if self._thread.is_alive():
                return []  # one that hangs is enough
        found: list[Choice] = []
        self._thread = threading.Thread(
            target=self._look, args=[place, found], name="runcell-completion", daemon=True
        )
        self._thread.start()
        self._thread.join(max(0.0, deadline - time.monotonic()))
        return list(found)

    def _look(self, place: Place, found: list[Choice]) -> None:
        with suppress(Exception):  # a completion has nobody to tell
            if self._choices is None:
                from .completion_choices import Choices

                self._choices = Choices(self._shell, self._session)
            for choice in self._choices.at(place):
                found.append(choice)
