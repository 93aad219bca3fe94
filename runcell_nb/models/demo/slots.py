"""The parts of a command: the files it names, the text it gives, its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.paths import assert_safe_workspace_path, is_state_path

from .commands import QUOTE, Quotes

NUMBER = (
    r"(?:\d{1,6}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|fifty|"
    r"a (?:few|couple(?: of)?))"
)
"""Pattern of a count in digits or words."""


_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"
)  # fmt: skip


class Refusal(Exception):
    """The request is understood, or nearly, and is not done; the text says why."""


@dataclass(frozen=True, slots=True)
class Name:
    """A file as a command names it.

    Attributes:
        path: Relative to the workspace.
        sure: It is plainly a file's name; otherwise a word that a file's name may contain.
    """

    path: str
    sure: bool = True


def number(text: str | None, default: int) -> int:
    """Return a count given in digits or words, `default` for none."""
    if not text:
        return default
    word = text.lower()
    if word.startswith("a "):
        return 3 if "few" in word else 2
    if word in {"twenty", "fifty"}:
        return 20 if word == "twenty" else 50
    return _WORDS.index(word) if word in _WORDS else int(word)


@cache
def _pronouns() -> re.Pattern[str]:
    return re.compile(
        r"(?:it|this|that|that one|its contents?|"
        r"(?:the|this|that|the same|that same|the new|my)(?: new| text| csv)? (?:file|document))",
        re.I,
    )


@cache
def _plural_pronouns() -> re.Pattern[str]:
    return re.compile(
        r"(?:them(?: both| all)?|both(?: files| of them)?|(?:these|those|the two|both the) files)", re.I
    )


@cache
def _one_file() -> re.Pattern[str]:
    token = rf"(?:{QUOTE}|[\w.~@+-][\w./@+~-]{{0,250}})"
    kind = (
        r"(?:new|empty|blank|text|plain|csv|markdown|md|txt|json|python|existing|simple|short|small|same|old|"
        r"current)"
    )
    noun = r"(?:file|document|spreadsheet|dataset)"
    named = r"(?:called|named|name|with the name|with name|titled)"
    folder = r"(?:folder|directory|dir|subfolder)"
    return re.compile(
        rf"(?:(?P<a>an?)\s|(?:the|my|our|this|that)\s)?(?:{kind}\s)*(?P<noun>(?:{noun}s?|note(?=\s(?:called|named)))[\s:]+)?(?P<named>{named}[\s:]+)?(?P<token>{token})"
        rf"(?P<after>\s{noun})?"
        rf"(?:\s(?:in|inside|from|under|within)\s(?:(?:the|a|my)\s)?(?:(?P<f>{folder}\s)?(?:called\s|named\s)?"
        rf"(?P<folder>{token})(?(f)|(?:\s{folder})?)))?",
        re.I,
    )


_NOT_A_NAME = re.compile(
    r"(?:a|an|the|its?|this|that|them|these|those|both|all|any|every|each|some|something|anything|everything|"
    r"nothing|files?|folders?|directory|documents?|me|my|you|your|us|our|i|to|in|into|of|on|for|from|with|as|at|"
    r"by|and|or|not|no|new|empty|text|lines?|words?|list|called|named|here|there|one|two|three|are|is|do|does|"
    r"has|have)",
    re.I,
)
_NEW_ONE = re.compile(r"(?:the|that) (?:(?:new )?copy|new (?:file|one|document))", re.I)
_BARE_NAME = re.compile(r"(?:makefile|dockerfile|readme|license|changelog|notice)", re.I)


def is_one(phrase: str) -> bool:
    """Tell whether a phrase is a pronoun for one file, such as "it" or "that file"."""
    return bool(_pronouns().fullmatch(phrase.strip(" ,:.")))


def names(phrase: str, quotes: Quotes, it: tuple[str, ...]) -> tuple[Name, ...] | None:
    """Read a phrase as the files it names.

    Args:
        phrase: "todo.txt", "the file notes", "a.txt and b.txt", "it".
        quotes: What the marks stand for.
        it: The files that the command before named.

    Returns:
        The files, all that "it" can be included; None when the phrase is anything else.

    Raises:
        Refusal: "it" has nothing to stand for, or a path leads out of the workspace.
    """
    phrase = phrase.strip(" ,:").rstrip(".")
    if it and _NEW_ONE.fullmatch(phrase):
        return (Name(it[0]),)
    if _pronouns().fullmatch(phrase) or _plural_pronouns().fullmatch(phrase):
        if not it:
            raise Refusal(f"I do not know which file {phrase!r} is; please name it.")
        return tuple(Name(path) for path in it)
    phrase = re.sub(r"^(?:both )?(?:the )?(?:files )?", "", phrase, count=1, flags=re.I)
    found = [_name(piece, quotes) for piece in re.split(r",? (?:and|&) |, ", phrase)]
    return tuple(name for name in found if name) if found and all(found) else None


def _name(piece: str, quotes: Quotes) -> Name | None:
    match = _one_file().fullmatch(piece.strip())
    if match is None:
        return None
    token, quoted = match["token"], quotes.whole(match["token"]) is not None
    path = quotes.plain(token).rstrip("" if quoted else ".")
    if not path or "\n" in path or len(path) > 255 or (not quoted and _NOT_A_NAME.fullmatch(path)):
        return None
    if match["folder"]:
        folder = quotes.plain(match["folder"])
        if _NOT_A_NAME.fullmatch(folder) or (not match["f"] and "." in folder):
            return None
        path = f"{folder}/{path}"
    plain = re.search(r"\.[A-Za-z]\w{0,9}$|^\.\w|/", path) or _BARE_NAME.fullmatch(path)
    sure = bool(plain or match["noun"] or match["named"] or match["after"])
    return None if match["a"] and not sure else Name(safe_path(path), sure)


def safe_path(path: str) -> str:
    """Return the path normalised.

    Raises:
        Refusal: It leads out of the workspace, or to the toolkit's own files.
    """
    try:
        clean = assert_safe_workspace_path(path)
    except InvalidOptionError as error:
        raise Refusal(f"I work only inside the workspace: {error}") from None
    if is_state_path(clean):
        raise Refusal(f"{clean} belongs to the toolkit and I leave it alone")
    return clean


def listed(items: Iterable[str]) -> str:
    """Join items as a person would: "a, b and c"."""
    words = list(items)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
