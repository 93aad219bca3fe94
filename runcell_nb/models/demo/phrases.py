"""The parts of a command: the files it names, its numbers, and the text it gives, which is never made up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.gateway import ToolSpec
from runcell_nb.core.paths import assert_safe_workspace_path, is_state_path

from .commands import QUOTE, Quotes

_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_ROUGHLY = {"few": 3, "couple of": 2, "dozen": 12, "twenty": 20}
NUMBER = rf"(?:a )?(?:\d{{1,6}}|{'|'.join([*_WORDS, *_ROUGHLY])})"
"""Pattern of a count in digits or words."""

_NO_NAME = (
    r"(?!(?:an?|the|its?|this|that|them|these|those|both|all|any|every|each|some|something|anything|everything|"
    r"nothing|files?|folders?|directory|documents?|me|my|you|your|us|our|i|to|in|into|of|on|for|from|with|as|at|"
    r"by|and|or|not|no|new|empty|text|lines?|words?|list|called|named|here|there|are|is|do|does|has|have)"
    r"(?![\w./]))"
)
_WORD = rf"(?:{QUOTE}|[\w.~@+-][\w./@+~-]*)"
TOKEN = _NO_NAME + _WORD
_FOLDER = r"(?:folder|directory|dir|subfolder)"
FOLDER = (
    rf"(?:(?:the|a|my) )?(?:new |empty )?(?:{_FOLDER}(?: called| named)? {_WORD}|"
    rf"(?!(?:the|an?|new|my|this|that|all|each) ){_WORD}(?: {_FOLDER}|/))"
)
"""Pattern of a folder that is said to be one."""

HERE = rf"(?:(?:(?:the|this|my) )?(?:current )?(?:{_FOLDER}|workspace|sandbox)|here|there|everywhere|\.)"
"""Pattern of the workspace in a person's words."""

_FILE = (
    r"(?:an? |the |my |this |that )?(?:(?:new|empty|blank|text|plain|csv|markdown|json|python|short) )*"
    r"(?:(?:files?|document|note(?= (?:called|named)))[ :]+)?(?:(?:called|named|titled|with the name)[ :]+)?"
    rf"{TOKEN}(?: (?:file|document))?(?: (?:in|inside|from) {FOLDER})?"
)
IT = (
    r"(?:it|(?:this|that)(?: one)?|(?:the |this |that |my )?(?:(?:same|new|text|csv) )*(?:file|copy|result)|"
    r"(?:the|that|my) (?:\w+ )?(?:list|note)|its contents?)"
)
_THEM = r"(?:them(?: both| all)?|both(?: files| of them)?|(?:these|those|the two|both the) files)"
FILES = rf"(?:{IT}|{_THEM}|(?:both )?(?:the )?(?:files )?(?:{_FILE}(?:, and | and | & |, |(?=[\s:,.!]|$)))+)"
"""Pattern of files: "todo.txt", "the file notes", "a.txt and b.txt", "it"."""


MEASURES = {
    "sum": "sum|total",
    "average": "average|mean|avg",
    "maximum": "max|maximum|highest|largest|biggest",
    "minimum": "min|minimum|lowest|smallest",
}
_PLAINLY = rf"(?=.*(?:\w\.[a-z]|\bfile\b|{QUOTE}))"  # said to be a file
SLOTS = {
    "F": rf"(?P<files>{FILES})",
    "P": rf"(?P<files>{IT}|{_PLAINLY}{FILES})",
    "TO": rf"(?: (?:into|to|as) (?P<target>{_PLAINLY}{FILES}))?",
    "ALL": rf"(?:(?:(?:all|any|every|each|the|my|other) )*files?|{HERE})",
    "WHERE": rf"(?P<where>{HERE}|{FOLDER}|[\w/-]+)",
    "PATH": rf"(?P<path>{TOKEN})",
    **{"HERE": HERE, "FOLDER": FOLDER, "TOKEN": TOKEN, "NUMBER": NUMBER},
    "T": r"(?P<text>.+?)",
    "W": rf"(?:(?:the )?word )?(?P<text>{QUOTE}|\S+)",
    "L": rf"(?:(?P<quoted>{QUOTE})|(?P<lines>.+?))",
    "OLD": r"(?:(?:every|all|each) (?:occurrences? of )?)?(?P<old>.+?)",
    "NEW": r"(?P<new>.+?)",
    "N": rf"(?P<n>{NUMBER}|line|row)",
    "KIND": r"(?:(?:the|all|my) )*(?P<ending>(?!(?:the|all|my|any|a|how)\b)\*?\.?\w{1,10}) ",
    "HOW": f"(?P<how>{'|'.join(MEASURES.values())})",
    "HAVE": "(?:that |which )?(?:contains?|containing|with|mentions?|has|have|includes?|including)",
    "WITH": "(?:,? (?P<with>(?:(?:that|which) )?(?:says?|reads?|saying|reading|contains?|containing|has|with)"
    "(?: just| only| exactly)?:?) |(?P<colon>:) ?)",
    "ORDER": "(?P<order>(?:,? (?:alphabetically|numerically|(?:from )?. to .|(?:larg|high)est first|"
    "(?:in |into )?(?:alphabetical|ascending|descending|reversed?|numerical)(?: order)?))*)",
}
"""Patterns of the parts of a command, by their names in the table."""


class Stop(Exception):
    """A request, or a step of it, is not done; the text says why, and nothing after it is done."""


@dataclass(frozen=True, slots=True)
class Name:
    """A file's path as a command gives it; not `sure` is a word that a file's name may contain."""

    path: str
    sure: bool = True


@dataclass(slots=True)
class Scene:
    """What a command can refer to."""

    tools: Sequence[ToolSpec] = ()
    quotes: Quotes = field(default_factory=Quotes)
    it: tuple[str, ...] = ()  # the files that were named last, the likeliest first
    folder: str = ""  # the one that was made last, for "there"
    later: bool = False  # other commands of the same prompt came before

    def names(self, phrase: str) -> tuple[Name, ...]:
        """Return the files of a phrase, all that "it" may be; none when it names no files.

        Raises:
            Stop: "it" has nothing to stand for, or a path leads out of the workspace.
        """
        phrase = phrase.strip(" ,:").rstrip(".")
        if re.fullmatch(f"{IT}|{_THEM}", phrase, re.I):
            if not self.it:
                raise Stop(f"I do not know which file {phrase!r} is; please name it")
            return tuple(map(Name, self.it[:1] if re.search("copy|new|result", phrase) else self.it))
        if not re.fullmatch(FILES, phrase, re.I):
            return ()
        phrase = re.sub(r"^(?:both )?(?:the )?(?:files )?", "", phrase, count=1, flags=re.I)
        return tuple(self._name(piece) for piece in re.split(r", and | and | & |, ", phrase))

    def _name(self, piece: str) -> Name:
        folder = re.search(rf" (?:in|inside|from) ({FOLDER})$", piece, re.I)
        words = (piece[: folder.start()] if folder else piece).split()
        path = self.quotes.plain(
            next(word for word in reversed(words) if word.lower() not in {"file", "document"})
        )
        said = re.search(r"\b(?:files?|document|called|named|titled)\b", " ".join(words), re.I)
        plain = re.search(r"\.[A-Za-z]\w{0,9}$|^\.\w|/|^(?:makefile|dockerfile|readme|license)$", path, re.I)
        place = f"{self.folder_path(folder[1])}/" if folder else ""
        return Name(safe_path(place + path), bool(plain or said))

    def one(self, phrase: str) -> Name:
        """Return the one file of a phrase.

        Raises:
            Stop: Several files are possible.
        """
        found = self.names(phrase)
        if not found:
            raise Stop(f"I do not understand {self.quotes.expand(phrase)!r} as the name of a file")
        if len(found) > 1:
            several = listed(name.path for name in found)
            raise Stop(f"I do this with one file at a time, and it could be {several}; name one")
        return found[0]

    def folder_path(self, phrase: str) -> str:
        """Return the path of a folder that `FOLDER`, `HERE` or a lone word fits; '.' for the workspace."""
        skipped = {
            "the",
            "a",
            "my",
            "new",
            "empty",
            "folder",
            "directory",
            "dir",
            "subfolder",
            "called",
            "named",
        }
        words = [word for word in phrase.split() if word.lower() not in skipped]
        path = self.quotes.plain(" ".join(words)).rstrip("/")
        return "." if re.fullmatch(HERE, phrase, re.I) else safe_path(path)

    def sought(self, text: str) -> str:
        """Return a text to look for, without the words that only introduce it."""
        if re.fullmatch("it|this|that|them", text, re.I):
            raise Stop("Say which text")
        lead = r"(?:(?:the|a|any|all) )?(?:(?:exact )?(?:words?|text|phrase|string|name) (?:of )?)?(?=\S)"
        whole = self.quotes.whole(text)
        return self.quotes.plain(re.sub(f"^{lead}", "", text, flags=re.I)) if whole is None else whole


def number(text: str) -> int:
    """Return a count given in digits or words."""
    word = text.lower().removeprefix("a ")
    return _ROUGHLY.get(word) or (_WORDS.index(word) if word in _WORDS else int(word))


def safe_path(path: str) -> str:
    """Return the path normalised.

    Raises:
        Stop: It leads out of the workspace, or to the toolkit's own files.
    """
    try:
        clean = assert_safe_workspace_path(path)
    except InvalidOptionError as error:
        raise Stop(f"I work only inside the workspace: {error}") from None
    if is_state_path(clean):
        raise Stop(f"{clean} belongs to the toolkit and I leave it alone")
    return clean


def listed(items: Iterable[str]) -> str:
    """Join items as a person would: "a, b and c"."""
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last


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
        Stop: It describes a text that somebody would have to make up.
    """
    text = text.strip(" ,")
    if lead := _TEXT_LEAD.match(text):
        text, literal = text[lead.end() :].strip(), True
    whole = quotes.whole(text)
    entries = _entries(text, quotes) if whole is None else [whole]
    if entries is not None:
        return "\n".join(entries)
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


def _styled(head: str, entries: list[str]) -> list[str]:
    if "columns" in head:
        return [",".join(entries)]
    if "numbered" in head:
        return [f"{place}. {entry}" for place, entry in enumerate(entries, 1)]
    if re.search("list|bullet|points|todos", head) and not "".join(entries[:1]).startswith(("- ", "* ")):
        return [f"- {entry}" for entry in entries]
    return entries
