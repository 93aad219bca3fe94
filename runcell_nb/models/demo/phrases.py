"""The parts of a command: the files that it names, and its numbers."""

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
_ROLES = (
    "other|old|older|oldest|new|newer|newest|latest|original|backup|copied|duplicate|first|second|third|last|"
    "previous|former|latter|renamed|sorted|changed|wrong"
)
IT = (
    r"(?:it|(?:this|that)(?: one)?|(?:the |this |that |my )?(?:(?:same|text|csv) )*(?:file|result)|"
    rf"(?:the|that|my) (?:(?!(?:{_ROLES})\b)\w+ )?(?:list|note)|its contents?)"
)
_DETERMINER = "(?:the|this|that|my|your|our|its)"
ROLE = (
    rf"(?:{_DETERMINER} (?:(?:text|csv|{_ROLES}) )*(?:copy|copies|originals?|backups?|duplicates?|{_ROLES})|"
    rf"(?:{_DETERMINER} )?(?:{_ROLES}) (?:ones?|files?|copy|copies|versions?|list|note)|"
    rf"{_DETERMINER} (?:copy|original|backup|duplicate) (?:one|file|version)|a copy)"
)
"""Pattern of what a file is said to be, "the copy", "the old one": neither a name nor "it"."""

_THEM = r"(?:them(?: both| all)?|both(?: files| of them)?|(?:these|those|the two|both the) files)"
FILES = (
    rf"(?:{IT}|{_THEM}|{ROLE}|"
    rf"(?:both )?(?:the )?(?:files )?(?:{_FILE}(?:, and | and | & |, |(?=[\s:,.!]|$)))+)"
)
"""Pattern of files: "todo.txt", "the file notes", "a.txt and b.txt", "it"."""


MEASURES = {
    "sum": "sum|total",
    "average": "average|mean|avg",
    "maximum": "max|maximum|highest|largest|biggest",
    "minimum": "min|minimum|lowest|smallest",
}
_PLAINLY = rf"(?=.*(?:\w\.[a-z]|\bfile\b|{QUOTE}))"  # said to be a file
_CELL = r"[\w$%#/().-]+"
SLOTS = {
    "F": rf"(?P<files>{FILES})",
    "P": rf"(?P<files>{IT}|{_PLAINLY}{FILES})",
    "TO": rf"(?: (?:into|to|as) (?P<target>{_PLAINLY}{FILES}))?",
    "ALL": rf"(?:(?:(?:all|any|every|each|of|the|my|other) )*files?|everything|{HERE})",
    "WHERE": rf"(?P<where>{HERE}|{FOLDER}|{_NO_NAME}[\w/-]+)",
    "PATH": rf"(?P<path>{TOKEN})",
    **{"HERE": HERE, "FOLDER": FOLDER, "TOKEN": TOKEN, "NUMBER": NUMBER},
    "T": r"(?P<text>.+?)",
    "COL": rf"(?P<text>{QUOTE}|(?!(?:lines?|words?|files?)\b){_CELL}(?: {_CELL}){{0,2}}?)",
    "THERE": r"(?P<there>it|there|(?:the|that|this) (?:new )?folder)",
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


class Unclear(Stop):
    """A command fits a pattern, but its parts are not what they were taken for: it is not understood."""


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
    lines: bool = False  # the command before showed or counted the lines of a file
    copied: tuple[str, ...] = ()  # the original and the copy, while the copying is the last change

    def names(self, phrase: str) -> tuple[Name, ...]:
        """Return the files of a phrase, all that "it" may be; none when it names no files.

        Raises:
            Stop: "it" has nothing to stand for, or a path leads out of the workspace.
        """
        phrase = phrase.strip(" ,:").rstrip(".")
        if re.fullmatch(f"{IT}|{_THEM}", phrase, re.I):
            if not self.it:
                raise Stop(f"I do not know which file {phrase!r} is; please name it")
            return tuple(map(Name, self.it[:1] if "result" in phrase else self.it))
        if not re.fullmatch(FILES, phrase, re.I):
            return ()
        pieces = re.split(r", and | and | & |, ", phrase)
        return tuple((self._role if re.fullmatch(ROLE, one, re.I) else self._name)(one) for one in pieces)

    def _role(self, phrase: str) -> Name:
        known = re.fullmatch(rf"{_DETERMINER} (copy|original)(?: file| one)?", phrase, re.I)
        if not self.copied or not known:
            raise Stop(f"I do not know which file {phrase!r} is; please name it")
        return Name(self.copied[known[1].lower() == "copy"])

    def folder_there(self, phrase: str) -> str:
        """Return the folder that was made last, which "it" or "there" stands for.

        Raises:
            Stop: None was made.
        """
        if not self.folder:
            raise Stop(f"I do not know which folder {phrase!r} is; please name it")
        return self.folder

    def _name(self, piece: str) -> Name:
        folder = re.search(rf" (?:in|inside|from) ({FOLDER})$", piece, re.I)
        words = re.sub("^(?:both )?(?:the )?(?:files )?", "", piece[: folder and folder.start()]).split()
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
            Unclear: It names no file.
            Stop: Several files are possible.
        """
        found = self.names(phrase)
        if not found:
            raise Unclear(f"{self.quotes.expand(phrase)!r} names no file")
        if len(found) > 1:
            several = listed(name.path for name in found)
            raise Stop(f"I do this with one file at a time, and it could be {several}; name one")
        return found[0]

    def folder_path(self, phrase: str) -> str:
        """Return the path of a folder that `FOLDER`, `HERE` or a lone word fits; '.' for the workspace."""
        skipped = rf"the|a|my|new|empty|called|named|{_FOLDER}"
        words = [word for word in phrase.split() if not re.fullmatch(skipped, word, re.I)]
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
