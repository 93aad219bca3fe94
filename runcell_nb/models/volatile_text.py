"""What differs in a tool's result each time it runs, though nothing that matters has changed.

Dates, times, durations, random names and the columns of a listing become placeholders, so that a result
of today is found in a recording of yesterday.
"""

from __future__ import annotations

import re

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_LONG_MONTH = rf"{_MONTH}(?:[a-z]{{1,6}})?"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?"
_ZONE = r"(?:Z\b|[ ]?[+-]\d\d:?\d\d\b|[ ](?:UTC|GMT|[AP]M|[A-Z]{3,4})\b)"
_YEAR = r"(?:19|20)\d\d"
_ISO = rf"{_YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"

_LISTED = re.compile(
    rf"""(?mx)^(?P<mode>[-dlbcps][-rwxsStT]{{9}})[.+@]?[ ]+\d+[ ]+\S+[ ]+\S+[ ]+(?P<size>\d+)[ ]+
    (?:{_MONTH}[ ]+\d{{1,2}}[ ]+[\d:]{{4,5}}|\d{{1,2}}[ ]+{_MONTH}[ ]+[\d:]{{4,5}}
    |{_ISO}[ ]{_CLOCK}(?:[ ][+-]\d{{4}})?)[ ]"""
)
_TOTAL = re.compile(r"(?m)^total \d+$(?=\n[-dlbcps][-rwxsStT]{9})")
_TEMPORARY = re.compile(
    r"(?:(?:/private)?(?:/var)?/tmp|(?:/private)?/var/folders/\w{1,4}/\w{1,64}/T"
    r"|[A-Za-z]:[\\/]Users[\\/][^\\/\s]{1,64}[\\/]AppData[\\/]Local[\\/]Temp)(?P<slash>[\\/])(?P<name>[\w.+~-]*)"
)
_VARYING = re.compile(
    rf"""(?x)
    (?P<uuid>\b[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}\b)
    |(?P<time>
        (?<![\w.:-]){_ISO}(?:T|[ ]){_CLOCK}{_ZONE}?
        |\b{_DAY},?[ ](?:{_MONTH}[ ]{{1,2}}\d{{1,2}}|\d{{1,2}}[ ]{_MONTH}(?:[ ]{_YEAR})?)
            [ ]{_CLOCK}{_ZONE}?(?:[ ]{_YEAR})?
        |(?<![\w.:/-]){_CLOCK}(?![\w:.-]){_ZONE}?
        |(?<![\w.-])1[6-9]\d{{8}}(?:\d{{3}})?(?:\.\d{{1,9}})?(?![\w.-])
    )
    |(?P<date>
        (?<![\w.-]){_ISO}(?![\w-])
        |\b(?:{_DAY},?[ ])?{_LONG_MONTH}[ ]{{1,2}}\d{{1,2}},?[ ]{{1,2}}{_YEAR}\b
        |\b\d{{1,2}}\.?[ ]{_LONG_MONTH}\.?,?[ ]{_YEAR}\b
        |(?<![\w/.])(?:\d{{1,2}}/\d{{1,2}}/{_YEAR}|{_YEAR}/\d\d/\d\d|\d{{1,2}}\.\d{{1,2}}\.{_YEAR})(?![\w/])
    )
    |(?P<duration>
        (?<![\w.])\d+m\d+(?:\.\d+)?s\b
        |(?<![\w.])\d+(?:\.\d+)?[ ]?(?:ns|us|µs|ms|(?:nano|micro|milli)seconds?)\b
        |(?<![\w.])\d+(?:\.\d+)?[ ]?s(?:ec(?:ond)?s?)?\b
        |(?<![\w.])\d+\.\d+[ ]?(?:min(?:ute)?s?|h(?:ours?)?)\b
    )
    |(?P<address>\b0x[0-9a-fA-F]{{8,16}}\b)
    """
)
_PIECE = re.compile(r"[._~+-]+")


def without_volatile(text: str) -> str:
    """Return the text of a tool's result with placeholders for what varies: `<time>`, `<tmp>`, ….

    Args:
        text: In normal form.
    """
    text = _TEMPORARY.sub(_temporary, text)
    if not any(digit in text for digit in "0123456789"):
        return text
    text = _TOTAL.sub("total <size>", text)
    text = _LISTED.sub(_listed, text)
    return _VARYING.sub(lambda match: f"<{match.lastgroup}>", text)


def _listed(match: re.Match[str]) -> str:
    """Keep of a line of `ls -l` its mode and a file's size: the rest is the machine's."""
    mode = match["mode"]
    return f"{mode} {'<size>' if mode[0] == 'd' else match['size']} "


def _temporary(match: re.Match[str]) -> str:
    name = "<name>" if _is_random(match["name"]) else match["name"]
    return f"<tmp>{match['slash']}{name}"


def _is_random(name: str) -> bool:
    """Tell whether a name was made up by a program: it has a piece that no person would type."""
    return name.startswith("tmp") or any(_looks_random(piece) for piece in _PIECE.split(name))


def _looks_random(piece: str) -> bool:
    mixed = piece.lower() != piece and piece.upper() != piece and not piece.istitle()
    digits = any(char.isdigit() for char in piece) and not piece.isdigit()
    return len(piece) >= 6 and (mixed or digits)
