"""`%runcell diff`: what a turn changed in the files, as text."""

from __future__ import annotations

from runcell_nb.core.diffs import diff_of
from runcell_nb.core.errors import InvalidOptionError

from .command_words import up_to
from .file_history import FileHistory
from .session import NotebookSession
from .shown_text import count_text, visible

MAX_LINES = 400
"""Lines that are printed."""


def diff_command(session: NotebookSession, words: list[str]) -> str:
    """Return what a turn of the active thread changed.

    Args:
        session: Of the notebook.
        words: The number of a turn, as `%runcell history` shows it; none for the last one.

    Raises:
        InvalidOptionError: There is no such turn, or the files of before or after it were not kept.
    """
    up_to("diff", words, 1, noun="number")
    turns = session.book.active.turns
    if not turns:
        return f"thread {session.book.active.name!r} has no turns yet."
    is_number = bool(words) and words[0].isascii() and words[0].isdecimal() and len(words[0]) < 10
    number = int(words[0]) if is_number else len(turns)
    if (words and not is_number) or not 1 <= number <= len(turns):
        raise InvalidOptionError(
            f"%runcell diff takes the number of a turn, 1 to {len(turns)}, got {words[0]!r}."
        )
    turn = turns[number - 1]
    lines = _lines(session.files, turn.files_before, turn.files_after)
    if lines is None:
        raise InvalidOptionError(f"The files of before or after turn {number} were not kept.")
    more = [f"… {count_text(len(lines) - MAX_LINES, 'more line')}"] if len(lines) > MAX_LINES else []
    return "\n".join([*lines[:MAX_LINES], *more]) or f"turn {number} changed no files."


def _lines(files: FileHistory, before_id: str | None, after_id: str | None) -> list[str] | None:
    before, after = files.contents(before_id), files.contents(after_id)
    if before is None or after is None:
        return None
    lines: list[str] = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        word = "new" if path not in before else "deleted" if path not in after else "changed"
        diff = None if _unknown(path, before, after) else diff_of(_bytes(old), _bytes(new))
        lines.append(f"{word} {visible(path)}" + ("" if diff is not None else " (no text to compare)"))
        if diff is not None:
            lines += [f"  {visible(line)}" for line in diff.lines]
    return lines


def _unknown(path: str, *states: dict[str, bytes | str]) -> bool:
    return any(isinstance(state.get(path), str) for state in states)


def _bytes(content: bytes | str | None) -> bytes | None:
    return content if isinstance(content, bytes) else None
