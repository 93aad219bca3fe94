"""Bounded and visible text."""

from __future__ import annotations

import pytest

from runcell_nb.notebook.shown_text import clip, one_line, size_text, visible


def test_a_short_text_is_whole() -> None:
    shown = clip("a\nb\n")
    assert (shown.head, shown.tail, shown.omitted, shown.lines) == ("a\nb", "", "", 2)


def test_a_long_text_keeps_both_ends_and_says_what_is_missing() -> None:
    shown = clip("\n".join(str(n) for n in range(1_000_000)))
    assert shown.head.startswith("0\n1\n")
    assert shown.tail.endswith("\n999999")
    kept = shown.head.count("\n") + shown.tail.count("\n") + 2
    assert shown.omitted == f"{1_000_000 - kept:,} lines left out"
    assert len(shown.text()) < 15_000


def test_a_long_line_counts_characters() -> None:
    shown = clip("x" * 100_000)
    assert shown.omitted == "88,000 characters left out"
    assert (len(shown.head), len(shown.tail)) == (8_000, 4_000)


@pytest.mark.parametrize("text", ["short\ntext", "\n".join(map(str, range(5_000))), "y" * 50_000])
def test_narrowing_a_clip_states_all_that_is_missing(text: str) -> None:
    narrow = clip(text).narrowed(30, 10, 3_000)
    shown = sum(part.count("\n") + 1 for part in (narrow.head, narrow.tail) if part)
    if text.count("\n") >= 40:
        assert narrow.omitted == f"{text.count(chr(10)) + 1 - shown:,} lines left out"
    assert bool(narrow.omitted) == (len(text) > 4_500 or text.count("\n") >= 40)
    assert len(narrow.text()) < 4_700


def test_escapes_and_odd_characters_are_made_visible() -> None:
    raw = "\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link \x07 a\r\nb\rc \u202egnp \ud800"
    assert visible(raw) == "red link \u2407 a\nb\nc \\u202egnp \\ud800"


def test_one_line_is_one_bounded_line() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    assert one_line("x" * 1_000, 20) == "x" * 19 + "…"


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (76_400, "76 kB"),
        (1_400_000, "1.4 MB"),
        (2 * 10**9, "2.0 GB"),
    ],
)
def test_sizes(size: int, shown: str) -> None:
    assert size_text(size) == shown
