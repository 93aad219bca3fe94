"""The text that a command gives for a file: given word by word, or as a list, never made up."""

from __future__ import annotations

import re
from functools import cache

from .commands import QUOTE, Quotes
from .slots import NUMBER, Refusal

_LARGEST_RANGE = 100_000


_LIST_WORD = (
    r"(?:lists?|checklist|bullets|bullet points|points|items|lines|things|tasks|todos|to-dos|names|words|"
    r"entries|numbers|rows|steps|ingredients)"
)


@cache
def _text_lead() -> re.Pattern[str]:
    says = r"(?:saying|that says|that reads|reading|which says|that contains|is)"
    return re.compile(
        rf"(?:(?:a|an|one|just|only)\s)?(?:(?:single|short|simple|new)\s)*(?:text|line|sentence|message|word|phrase|string|body|greeting|note)"
        rf"\s?(?:{says}\s?:?\s|:\s?|(?={QUOTE}$))"
        r"|(?:(?:the|this|following|exact|just|only)\s)*(?:text|contents?|line|sentence|message|words?|phrase|string|body|greeting)"
        rf"\b(?:\s{says})?\s?[:,]?\s",
        re.I,
    )


@cache
def _list() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<head>(?:[\w-]+\s){{0,5}}?{_LIST_WORD})(?:\s(?P<of>of|with|containing|including|saying|for)|,)?"
        rf"(?:\s{NUMBER}\s\w+(?:,|:))?\s(?P<rest>.+)",
        re.I,
    )


@cache
def _invented() -> re.Pattern[str]:
    """Text that a person describes and does not give."""
    made = (
        "poem|haiku|story|essay|joke|jokes|summary|report|letter|email|e-mail|recipe|script|program|function|code|"
        "article|description|explanation|translation|plan|song|lyrics|speech|tutorial|template|paragraph|fact|facts|"
        "quote|review|agenda|outline|overview|analysis|chart|table"
    )
    return re.compile(
        r"(?:a|an|the|some|any|my|your|our|their|his|her|all|every|random|something|anything|whatever|current|"
        rf"today|tomorrow|yesterday|{NUMBER}(?= \w))\b"
        rf"|(?:[\w-]+\s){{0,3}}(?:{made})\b|about\b",
        re.I,
    )


def content(text: str, literal: bool, quotes: Quotes) -> str:
    """Return the text that a command gives for a file.

    Args:
        text: What follows "with", "that says", a colon.
        literal: The words before it say that this is the text itself.
        quotes: What the marks stand for.

    Raises:
        Refusal: It describes a text that somebody would have to make up.
    """
    text = text.strip(" ,")
    lead = _text_lead().match(text)
    if lead:
        text, literal = text[lead.end() :].strip(), True
    whole = quotes.whole(text)
    if whole is not None:
        return whole
    lines = _lines(text, quotes)
    if lines is not None:
        return "\n".join(lines)
    head, colon, rest = text.partition(":")
    if colon and rest[:1] in {" ", "\ue000"} and _invented().match(head) and not literal:
        return quotes.plain(rest)
    _check_given(text, literal, quotes)
    return quotes.expand(text).lstrip(": ")


def _check_given(text: str, literal: bool, quotes: Quotes) -> None:
    """Refuse a pronoun, a description or a condition that would end up in the file."""
    if re.fullmatch(r"(?:it|this|that|them|these|those|the (?:result|answer|output)s?)", text, re.I):
        raise Refusal(f"I do not know what {text!r} is here. If it is the text itself, put it in quotes")
    described = (
        re.match(r"(?:something|anything|whatever|some )", text, re.I) if literal else _invented().match(text)
    )
    if QUOTE[0] in text and re.search(r"\b(?:to|in|into|as) [^ ]*\w\.[A-Za-z]", text):
        raise Refusal("I see several texts or files here; say one at a time")
    about = not literal and re.search(r"\babout\b", text, re.I)
    aside = re.search(r"\b(?:unless|except|only if|if (?:it|the file|there))\b", text, re.I)
    if described or about or aside:
        raise Refusal(
            f"I cannot make up text, and {quotes.expand(text)!r} may be a description of it. "
            "If these words are the text itself, put them in quotes"
        )


def _lines(text: str, quotes: Quotes) -> list[str] | None:
    """Read "a list of a, b and c", "the numbers 1 to 10", quoted lines; None for anything else."""
    if re.fullmatch(rf"{QUOTE}(?:(?:,|,? and) {QUOTE})+", text):
        return items(text, quotes)
    text, single = re.subn(
        r",? (?:one|each) (?:\w+ )?(?:per|on (?:its|their|a|an)(?: own| new| separate)?|in each)"
        r" (?:own )?lines?$|"
        r",? on (?:separate|different|new) lines$|,? line by line$",
        "",
        text,
        flags=re.I,
    )
    numbers = re.fullmatch(
        r"(?:the )?(?:numbers?|integers) (?:from )?(\d{1,7}) (?:to|through|until|-|up to) (\d{1,7})",
        text,
        re.I,
    )
    if numbers:
        return _range(int(numbers[1]), int(numbers[2]))
    head, rest = _head_and_items(text)
    if rest.strip() and _announces_items(head):
        return _styled(head, items(rest, quotes))
    if single:
        found = _list().fullmatch(text)
        return items(found["rest"] if found else text, quotes)
    return _list_without_colon(text, quotes)


def _head_and_items(text: str) -> tuple[str, str]:
    """Split "three fruits: a, b, c" and "a list of fruits (a, b, c)"."""
    bracket = re.fullmatch(r"(?P<head>[^():]+)\((?P<rest>[^()]+)\)", text)
    head, _, rest = text.partition(":")
    return (bracket["head"], bracket["rest"]) if bracket else (head, rest)


def _announces_items(head: str) -> bool:
    """Tell whether "three fruits" or "a shopping list" stands before a colon."""
    listing = re.search(rf"\b(?:{_LIST_WORD}|{NUMBER})\b", head, re.I)
    return bool(listing) and re.fullmatch(r"[\w\s,'()-]{1,120}", head) is not None


def _list_without_colon(text: str, quotes: Quotes) -> list[str] | None:
    found = _list().fullmatch(text)
    if found is None:
        return None
    entries = items(found["rest"], quotes)
    given = (found["of"] or "").lower() in {"with", "containing", "including", "saying"}
    if len(entries) < 2 and not given:
        return None
    described = any(_invented().match(entry) for entry in entries) and QUOTE[0] not in found["rest"]
    return None if described and not (given and len(entries) > 1) else _styled(found["head"], entries)


def _range(first: int, last: int) -> list[str]:
    if abs(last - first) > _LARGEST_RANGE:
        raise Refusal(f"That is more than {_LARGEST_RANGE} numbers, which is more than I write.")
    step = 1 if last >= first else -1
    return [str(value) for value in range(first, last + step, step)]


def items(text: str, quotes: Quotes) -> list[str]:
    """Split "a, b and c" into its items; quotes around one are dropped."""
    pieces = [piece for piece in re.split(r",\s*(?:and\s)?", text.strip(" ,:.")) if piece.strip()]
    if pieces:
        pieces[-1:] = re.split(r"\s(?:and|&)\s", pieces[-1])
    entries = [re.sub(r"^and ", "", piece.strip(), flags=re.I) for piece in pieces]
    return [quotes.plain(entry) for entry in entries if entry]


def _styled(head: str, entries: list[str]) -> list[str]:
    if re.search(r"\bnumbered\b", head, re.I):
        return [f"{place}. {entry}" for place, entry in enumerate(entries, 1)]
    if re.search(r"\b(?:lists?|bullets?|bulleted|checklist|points|todos?)\b", head, re.I):
        return [f"- {entry}" for entry in entries]
    return entries
