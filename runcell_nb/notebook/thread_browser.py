"""The thread browser: the conversations of a notebook, to read, to fork and to take back (API 15)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from runcell_nb.core.errors import InvalidOptionError, message_of
from runcell_nb.core.thread import Thread

from .front_end import draws_in_outputs
from .front_files import front_text
from .home_loop import call_at_home, running_loop
from .thread_actions import ThreadActions
from .thread_listing import MAX_SHOWN_THREADS, ListedThread, listed_book, listed_threads, shown_turns
from .thread_static import static_threads
from .turns import ThreadBook


class ThreadBrowser(anywidget.AnyWidget):
    """Shows threads and the turns of one of them; those of a notebook can be switched, cut and forked.

    A page asks for what is new when somebody turns to the browser; `refresh` tells it at once.

    What is displayed, and saved in the notebook, is a static copy; a live page draws the browser in its
    place. So a notebook that is opened without its kernel shows the copy.

    Args:
        threads: The `ThreadBook` of a notebook, a function that returns the one of now, or threads,
            which are only shown.
        chosen: Name of the thread of a book that is shown first; the active one by default.
        changed: Is called when somebody has changed the threads of a book here.

    Raises:
        InvalidOptionError: `threads` is neither, or the book has no thread `chosen`.
    """

    _esm = front_text(
        "dom.js",
        "store.js",
        "markdown_inline.js",
        "markdown.js",
        "ask_bar.js",
        "own_keys.js",
        "placed_store.js",
        "thread_turns.js",
        "thread_browser.js",
    )
    # A thread's answers look like a run's.
    _css = front_text("theme.css", "run_view.css", "thread_browser.css")
    place = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        threads: ThreadBook | Callable[[], ThreadBook] | Iterable[Thread],
        chosen: str | None = None,
        *,
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        self._changed = changed
        self._book = _book_of(threads)
        self._threads = [] if self._book is not None else _checked(threads)
        if self._book is not None and chosen is not None:
            self._book().get(chosen)
        self._chosen = chosen
        self._actions = None if self._book is None else ThreadActions(self._book, self._version_of)
        self._loop = running_loop()
        self._seq = 0
        self._told: object = None
        super().__init__(place=uuid4().hex)
        self.on_msg(self._received)

    def refresh(self) -> None:
        """Show what has changed; may be called on any thread."""
        call_at_home(self._loop, self._tell_news)

    def static_bundle(self) -> dict[str, str]:
        """Return what is shown as a MIME bundle of HTML and plain text, for where widgets do not live."""
        return static_threads(self._shown(self._listed()), self.place)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The static copy; front ends whose page our script cannot reach get the widget itself too."""
        own = None if draws_in_outputs() else super()._repr_mimebundle_(**kwargs)
        data, metadata = own or ({}, {})
        return {**data, **self.static_bundle()}, metadata

    def _listed(self) -> list[ListedThread]:
        return listed_threads(self._threads) if self._book is None else listed_book(self._book())

    def _version_of(self, key: str) -> str | None:
        return next((listed.version for listed in self._listed() if listed.key == key), None)

    def _look_at(self, listed: list[ListedThread]) -> ListedThread | None:
        """Return the thread that is looked at: the chosen one, else the active or the first one."""
        wanted = (
            *(entry for entry in listed if entry.key == self._chosen),
            *(entry for entry in listed if entry.active),
            *listed[:1],
        )
        return next(iter(wanted), None)

    def _shown(self, listed: list[ListedThread]) -> dict[str, Any]:
        """Return everything that a page shows, as plain JSON."""
        look = self._look_at(listed)
        rows = listed[:MAX_SHOWN_THREADS]
        if look is not None and look not in rows:
            rows.append(look)
        turns, note = ([], "") if look is None else shown_turns(look, listed)
        more = f"{len(listed) - len(rows):,} more threads are not listed." if len(listed) > len(rows) else ""
        return {
            "threads": [entry.row() for entry in rows],
            "chosen": None if look is None else look.key,
            "version": None if look is None else look.version,
            "turns": turns,
            "notes": [text for text in (note, more) if text],
            "editable": self._book is not None,
        }

    def _tell_news(self) -> None:
        """Tell every page what there is, if it differs from what was told."""
        listed = self._listed()
        look = self._look_at(listed)
        state = (
            [(entry.key, entry.version, entry.active, entry.origin) for entry in listed],
            look and look.key,
        )
        if state != self._told:
            self._told = state
            self._seq += 1
            self.send({"type": "whole", "seq": self._seq, **self._shown(listed)})

    def _received(self, _widget: object, content: Mapping[str, Any], _buffers: object) -> None:
        """Take a message from a front end; it can come on another thread."""
        call_at_home(self._loop, self._answer, dict(content))

    def _answer(self, content: dict[str, Any]) -> None:
        kind = content.get("type")
        if kind == "resync":
            self._told = None
            self._tell_news()
        elif kind == "refresh":
            self._tell_news()
        elif kind == "choose":
            self._chosen = str(content.get("key"))
            self._tell_news()
        elif kind == "static":
            self.send({"type": "static", "bundle": self.static_bundle()})
        elif self._actions is not None:
            self._act(self._actions, content)

    def _act(self, actions: ThreadActions, content: Mapping[str, Any]) -> None:
        try:
            done = actions.serve(content)
        except Exception as error:
            self._tell_news()
            self.send({"type": "problem", "text": message_of(error)})
        else:
            if done is not None:
                said, self._chosen = done
                self._tell_news()
                self.send({"type": "said", "text": said})
                self._changed()


def _book_of(threads: object) -> Callable[[], ThreadBook] | None:
    if isinstance(threads, ThreadBook):
        return lambda: threads
    return threads if callable(threads) else None


def _checked(threads: Any) -> list[Thread]:
    given = list(threads) if isinstance(threads, Iterable) else [threads]
    wrong = [thread for thread in given if not isinstance(thread, Thread)]
    if wrong or not isinstance(threads, Iterable):
        raise InvalidOptionError(
            "ThreadBrowser takes the threads of a notebook (a ThreadBook) or a list of Thread, "
            f"got {(wrong or given)[0]!r}."
        )
    return given
