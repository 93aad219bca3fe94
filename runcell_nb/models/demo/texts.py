"""The text that a command gives for a file, which is never made up."""

from __future__ import annotations

import re

from .commands import QUOTE, Quotes
from .phrases import NUMBER, Stop, Unclear

_LISTS = r"(?:(?:check)?lists?|bullets|points|items|lines|things|tasks|todos|names|words|numbers|columns)"
_TEXT_LEAD = re.compile(
    r"(?:(?:an?|one|the|this|these|following|exact|just|only|single|short) )*"
    r"(?:text|contents?|line|sentence|message|words?|phrase|string|note)"
    rf"(?: (?:saying|that says|that reads|which says|reading):? |: ?| (?=.*{QUOTE}$))"
    r"|(?:the )?(?:(?:exact|following) )?(?:text|words?|contents?|sentence|message|phrase) ",
    re.I,
)
_LIST = re.compile(
    rf"(?P<head>(?:[\w-]+ ){{0,5}}?{_LISTS})"
    r"(?:(?P<colon>[\w ]{0,60}:)| (?P<of>of|with|containing|for)|,)? (?P<rest>.+)",
    re.I | re.S,
)
_MADE_UP = re.compile(
    rf"(?:an?|the|some|any|my|your|our|random|something|anything|whatever|current|today|{NUMBER}(?= \w))\b"
    r"|(?:[\w-]+ ){0,3}(?:poem|haiku|story|essay|jokes?|summary|report|letter|e-?mail|recipe|script|program|"
    r"function|code|article|description|explanation|translation|plan|song|facts?)\b|about\b|.* about ",
    re.I,
)
_NO_TEXT = re.compile(
    r"(?:it|this|that|them|these|those|the (?:result|answer|output)s?)$|some(?:thing)? |anything|"
    r".*\b(?:unless|except|only if|if (?:it|the|there))\b",
    re.I | re.S,
)


def content(text: str, literal: bool, quotes: Quotes) -> str:
    """Return the text that a command gives for a file.

    Args:
        text: What follows "with", "that says", a colon.
        literal: The words before it say that this is the text itself.
        quotes: What the marks stand for.

    Raises:
        Unclear: It may be about an order of what is there, and no text.
        Stop: It describes a text that somebody would have to make up.
    """
    text = text.strip(" ,")
    if lead := _TEXT_LEAD.match(text):
        text, literal = text[lead.end() :].strip(), True
    whole = quotes.whole(text)
    entries = _entries(text, quotes) if whole is None else [whole]
    if entries is not None:
        return "\n".join(entries)
    if not literal and re.search(r"\border(?:ed)?$|\bsorted\b|alphabet| (?:first|last)$", text, re.I):
        raise Unclear("an order is no text")
    if _NO_TEXT.match(text) or (not literal and _MADE_UP.match(text)):
        raise Stop(
            f"I cannot make up text, and {quotes.expand(text)!r} may be a description of it. "
            "If these words are the text itself, put them in quotes"
        )
    if QUOTE[0] in text and re.search(r" (?:to|into|as) [^ ]*\w\.[A-Za-z]", text):
        raise Stop("I see several texts or files here; say one at a time")
    return quotes.expand(text)


def _entries(text: str, quotes: Quotes) -> list[str] | None:
    """Read "a list of a, b and c", "the numbers 1 to 10", quoted lines; None for anything else."""
    numbers = re.fullmatch(r"(?:the )?numbers? (?:from )?(\d{1,5}) (?:to|through|-) (\d{1,5})", text, re.I)
    if numbers:
        return [str(value) for value in range(int(numbers[1]), int(numbers[2]) + 1)]
    if re.fullmatch(rf"{QUOTE}(?:(?:,|,? and) {QUOTE})+", text):
        return items(text, quotes)
    text, per_line = re.subn(r",? (?:one|each) (?:per|on its own|on a new) line$", "", text, flags=re.I)
    found = _LIST.fullmatch(text)
    if found is None or per_line:
        return items(found["rest"] if found else text, quotes) if per_line else None
    entries = items(found["rest"], quotes)
    made_up = len(entries) < 2 or (found["of"] == "of" and any(map(_MADE_UP.match, entries)))
    clear = found["colon"] or QUOTE[0] in found["rest"] or not made_up
    return _styled(found["head"].lower(), entries) if clear else None


def items(text: str, quotes: Quotes) -> list[str]:
    """Split "a, b and c", or a quoted text of lines, into items; quotes around one are dropped."""
    if (whole := quotes.whole(text)) is not None:
        return whole.split("\n")
    pieces = [piece for piece in re.split(r", (?:and )?|,", text.strip(" ,:.")) if piece.strip()]
    pieces[-1:] = re.split(r" (?:and|&) ", pieces[-1]) if pieces else []
    return [quotes.plain(piece) for piece in pieces]


def one_per_line(text: str) -> str:
    """Return three or more short items, as in "milk, eggs and bread", on lines of their own."""
    pieces = re.split(r", (?:and )?| and (?=[^,]*$)", text) if text.count(", ") else []
    item = r"(?!(?:hi|hello|hey|dear|thanks|yes|no|well|i|you|we|it|if|when|but)\b)[\w'-]+(?: [\w'-]+){0,2}"
    return (
        "\n".join(pieces)
        if len(pieces) > 2 and all(re.fullmatch(item, one, re.I) for one in pieces)
        else text
    )


def _styled(head: str, entries: list[str]) -> list[str]:
    if "columns" in head:
        return [",".join(entries)]
    if "numbered" in head:
        return [f"{place}. {entry}" for place, entry in enumerate(entries, 1)]
    if re.search("list|bullet|points|todos", head) and not "".join(entries[:1]).startswith(("- ", "* ")):
        return [f"- {entry}" for entry in entries]
    return entries
