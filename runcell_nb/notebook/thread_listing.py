"""What the thread browser shows: the threads, and the turns of one of them, bounded and fit for display."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runcell_nb.core.thread import Thread, ThreadMessage

from .shown_text import count_text, one_line, visible
from .turns import NotebookThread, ThreadBook, Turn

MAX_SHOWN_THREADS = 200
"""Threads that are listed."""

MAX_SHOWN_TURNS = 200
"""Turns that are shown of one thread, from its first."""

MAX_SHOWN_CHARS = 20_000
"""Characters that are shown of one prompt, answer or result."""

_NAME_CHARS = 100
_NAMES_LISTED = 3


@dataclass(frozen=True, slots=True)
class ListedThread:
    """A thread as it stands in the list.

    Attributes:
        key: What a page calls it by: the name in a book, else the place in the list.
        name: As shown to a person.
        thread: The conversation.
        turns: Turns of cells, oldest first; none for a thread that is in no book.
        count: How many turns it has for a person.
        figures: Tokens and cost of all turns; empty where unknown.
        origin: Where it comes from, as a few words; empty where unknown.
        version: Differs after every change.
        active: Whether cells go on with it.
    """

    key: str
    name: str
    thread: Thread
    turns: Sequence[Turn]
    count: int
    figures: str
    origin: str
    version: str
    active: bool = False

    def row(self) -> dict[str, Any]:
        """Return the line of the list."""
        return {
            "key": self.key,
            "name": self.name,
            "active": self.active,
            "count": self.count,
            "figures": self.figures,
            "origin": self.origin,
        }


def listed_book(book: ThreadBook) -> list[ListedThread]:
    """Return the threads of a notebook, in the order they were made."""
    held = {thread.name: thread for thread in book}
    relatives = _relatives(held)
    return [
        ListedThread(
            key=row.name,
            name=row.name,
            thread=held[row.name].thread,
            turns=held[row.name].turns,
            count=row.turns,
            figures=f"{row.tokens:,} tokens · {one_line(row.cost, _NAME_CHARS)}" if row.turns else "",
            origin=_origin(row.rewound_from, relatives.get(held[row.name].thread.id, []), row.name),
            version=f"{held[row.name].revision}/{held[row.name].thread.message_count}",
            active=row.active,
        )
        for row in book.rows()
    ]


def listed_threads(threads: Sequence[Thread]) -> list[ListedThread]:
    """Return threads that belong to no notebook, named by their ids."""
    return [
        ListedThread(
            key=str(place),
            name=one_line(thread.id, _NAME_CHARS),
            thread=thread,
            turns=(),
            count=thread.message_count // 2,
            figures="",
            origin="",
            version=str(thread.message_count),
        )
        for place, thread in enumerate(threads)
    ]


def _relatives(held: Mapping[str, NotebookThread]) -> dict[str, list[str]]:
    """Return, by the id that forks share, the names of threads that hold something."""
    found: dict[str, list[str]] = {}
    for name, thread in held.items():
        if thread.thread.message_count:
            found.setdefault(thread.thread.id, []).append(name)
    return found


def _origin(rewound_from: str | None, relatives: list[str], name: str) -> str:
    if rewound_from is not None:
        return f"later turns of {rewound_from!r}"
    others = [relative for relative in relatives if relative != name] if name in relatives else []
    if not others:
        return ""
    more = f" and {len(others) - _NAMES_LISTED} more" if len(others) > _NAMES_LISTED else ""
    return f"begins like {', '.join(map(repr, others[:_NAMES_LISTED]))}{more}"


def shown_turns(listed: ListedThread, every: Iterable[ListedThread]) -> tuple[list[dict[str, Any]], str]:
    """Return the turns of a thread as plain JSON, with the points where others leave it.

    A turn's `keep` is how many turns of cells a copy has that ends after it; None where the thread cannot
    be cut, because what follows is no cell's turn.

    Args:
        listed: The thread.
        every: All that are listed.

    Returns:
        The turns, and a sentence on those that are left out; empty when none is.
    """
    messages = listed.thread.messages
    starts = {turn.messages_before: (number, turn) for number, turn in enumerate(listed.turns, 1)}
    shown: list[dict[str, Any]] = []
    keep = 0
    ends: list[int] = []  # messages up to the end of each shown turn
    for position, message in enumerate(messages):
        number, turn = starts.get(position, (keep, None))
        if turn is not None or message.role == "user" or not shown:
            if shown:
                shown[-1]["keep"] = None if number == keep else keep
            keep = number
            shown.append(_entry(len(shown) + 1, turn))
            ends.append(position)
        _tell(shown[-1], message)
        ends[-1] = position + 1
    if shown:
        shown[-1].update(keep=keep, last=True)
        _mark_forks(shown, ends, messages, listed, every)
    left_out = len(shown) - MAX_SHOWN_TURNS
    note = (
        f"The first {MAX_SHOWN_TURNS} turns; {left_out:,} later ones are not shown." if left_out > 0 else ""
    )
    return shown[:MAX_SHOWN_TURNS], note


def _entry(number: int, turn: Turn | None) -> dict[str, Any]:
    known = "" if turn is None else f"{turn.tokens:,} tokens · {one_line(turn.cost, _NAME_CHARS)}"
    model = "" if turn is None else one_line(turn.model, _NAME_CHARS)
    return {
        "number": number,
        "prompt": "",
        "answer": "",
        "data": None,
        "model": model,
        "figures": known,
        "forks": [],
        "last": False,
    }


def _tell(entry: dict[str, Any], message: ThreadMessage) -> None:
    said = "prompt" if message.role == "user" else "answer"
    entry[said] = cut_text(visible(message.content))
    if message.has_data:
        entry["data"] = cut_text(visible(json.dumps(message.data, ensure_ascii=False, indent=2)))


def cut_text(text: str) -> str:
    """Return a text of at most `MAX_SHOWN_CHARS` characters, and a statement on the rest."""
    if len(text) <= MAX_SHOWN_CHARS:
        return text
    return (
        f"{text[:MAX_SHOWN_CHARS]}\n\n… {count_text(len(text) - MAX_SHOWN_CHARS, 'more character')} not shown"
    )


def _mark_forks(
    shown: list[dict[str, Any]],
    ends: list[int],
    messages: list[ThreadMessage],
    listed: ListedThread,
    every: Iterable[ListedThread],
) -> None:
    """Note at each turn which threads share the conversation up to its end."""
    for other in every:
        if other.key == listed.key or other.thread.id != listed.thread.id:
            continue
        theirs = other.thread.messages
        pairs = zip(messages, theirs, strict=False)
        alike = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(messages), len(theirs)))
        place = next((at for at in range(len(ends) - 1, -1, -1) if ends[at] <= alike), None)
        if place is not None:
            more = (len(theirs) - ends[place] + 1) // 2
            shown[place]["forks"].append({"key": other.key, "name": other.name, "more": more})
