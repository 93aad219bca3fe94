"""Text made fit to be shown: bounded, without escape sequences, every odd character visible."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEAD_CHARS = 8_000
"""Characters kept from the start of a long text."""

TAIL_CHARS = 4_000
"""Characters kept from its end."""

HEAD_LINES = 160
"""Lines kept from the start of a long text."""

TAIL_LINES = 60
"""Lines kept from its end."""

SUMMARY_CHARS = 160
"""Characters of a text that stands on one line."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Clip:
    """A text with its middle left out.

    Attributes:
        head: The start, or the whole text when nothing is left out.
        tail: The end; empty when nothing is left out.
        lines: Lines of the whole text.
        omitted: What was left out, as a sentence; empty when nothing was.
    """

    head: str = ""
    tail: str = ""
    lines: int = 0
    omitted: str = ""

    @property
    def shown_lines(self) -> int:
        """Lines that are left to show, the note on what was left out included."""
        parts = [self.head, self.tail, self.omitted]
        return sum(part.count("\n") + 1 for part in parts if part)

    def text(self) -> str:
        """Return head, what was left out, and tail as one text."""
        return "\n".join(
            part for part in (self.head, self.omitted and f"… {self.omitted} …", self.tail) if part
        )

    def narrowed(self, head_lines: int, tail_lines: int, chars: int) -> Clip:
        """Return a smaller clip of the same text, its statement corrected."""
        head, tail = self.head, self.tail
        if not self.omitted:
            return clip(head, head_lines, tail_lines, chars, chars // 2)
        head = _first(head, head_lines, chars)
        tail = _last(tail, tail_lines, chars // 2)
        return Clip(head, tail, self.lines, _left_out(self.lines, head, tail))


def clip(
    text: str,
    head_lines: int = HEAD_LINES,
    tail_lines: int = TAIL_LINES,
    head_chars: int = HEAD_CHARS,
    tail_chars: int = TAIL_CHARS,
) -> Clip:
    """Keep the start and the end of a text, cleaned for display.

    Args:
        text: Of any size; read once.
        head_lines: Lines to keep from the start.
        tail_lines: Lines to keep from the end.
        head_chars: Characters to keep from the start.
        tail_chars: Characters to keep from the end.
    """
    text = text.rstrip("\n")
    if not text:
        return Clip()
    lines = text.count("\n") + 1
    if lines <= head_lines + tail_lines and len(text) <= head_chars + tail_chars:
        return Clip(visible(text), "", lines)
    head = _first(text, head_lines, head_chars)
    tail = _last(text[len(head) :], tail_lines, tail_chars)
    return Clip(visible(head), visible(tail), lines, _left_out(lines, head, tail, len(text)))


def visible(text: str) -> str:
    """Drop terminal escapes and make control, bidi-override and surrogate characters visible."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return _CONTROL.sub(_picture, text)


def one_line(text: str, limit: int = SUMMARY_CHARS) -> str:
    """Return the text on one line of at most `limit` characters."""
    flat = visible(" ".join(text[: limit * 4].split()))
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: limit - 1] + "…"


def size_text(size: int) -> str:
    """Return a number of bytes for people: `212 B`, `76 kB`, `1.4 MB`."""
    if size < 1000:
        return f"{size} B"
    amount, unit = next(
        (size / scale, unit) for scale, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")) if size >= scale
    )
    return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:,.0f} {unit}"


def count_text(count: int, noun: str, plural: str = "") -> str:
    """Return `1 file`, `1,204 files`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return f"\\u{code:04x}"


def _first(text: str, lines: int, chars: int) -> str:
    return "\n".join(text[:chars].split("\n", lines)[:lines])


def _last(text: str, lines: int, chars: int) -> str:
    if lines <= 0 or chars <= 0:
        return ""
    return "\n".join(text[-chars:].rsplit("\n", lines)[-lines:]).lstrip("\n")


def _left_out(lines: int, head: str, tail: str, length: int | None = None) -> str:
    missing = lines - sum(part.count("\n") + 1 for part in (head, tail) if part)
    if missing > 0:
        return f"{count_text(missing, 'line')} left out"
    if length is None:
        return "part of a long line left out"
    return f"{count_text(length - len(head) - len(tail), 'character')} left out"
