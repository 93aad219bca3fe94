"""From a prompt of the offline demo to its single commands.

Quoted text, code fences and text below a colon are taken out first, so that nothing in them is read
as a command. Every pattern here is linear in the length of the prompt.
"""

from __future__ import annotations

import re
from functools import cache

QUOTE = "\ue000\\d+\ue001"
"""Pattern of the mark that stands for a piece of quoted text."""

OVERWRITE = "\ue002"
"""Mark that stands for "and overwrite it"."""

MAX_COMMAND = 2_000
"""Characters of one command outside of quotes; a person's command is shorter."""

_MOST_PIECES = 50  # of one prompt, and of one sentence: more is no request, and the rest stays in one piece
_MARKS = str.maketrans({"\ue000": "\ufffd", "\ue001": "\ufffd", "\ue002": "\ufffd"})
_AFTER = "(?:then|after that|afterwards|after this|finally|lastly)"
_NOTE = "Files put into the sandbox:"

_SHELL_VERBS = "cat|head|tail|touch|cp|mv|rm|wc|mkdir|rmdir"
_KNOWN_VERBS = (
    "create|make|write|save|store|put|list|show|read|print|display|view|open|count|find|search|look|grep|"
    "replace|change|substitute|swap|append|add|insert|prepend|copy|duplicate|back up|move|rename|delete|"
    "remove|erase|drop|trash|get rid of|peek|"
    "sort|order|alphabeti[sz]e|dedupe|deduplicate|sum|total|calculate|compute|tell|give|"
    "overwrite|get|use|run|invoke|check|work out|what|which|how many|how|"
    "don't|do not|never|leave|keep|should|"
    "call(?! it)|name(?! it)"
)
_OTHER_VERBS = (
    "translate|summari[sz]e|explain|describe|e-?mail|send|plot|draw|fix|improve|analy[sz]e|commit|push|download|"
    "install|execute|upload|fetch|compare|merge|convert|zip|unzip|format|split|reverse|rewrite|edit|update|undo|"
    "clear|empty|clean|train|test|build|deploy|ask|answer|generate|refactor|extract|filter|group|combine|"
    "shorten|expand|encrypt|compress|import|export|publish|post|set|turn"
)


class Quotes:
    """The texts that marks in a prompt stand for."""

    def __init__(self) -> None:
        self._inner: list[str] = []
        self._raw: list[str] = []

    def mark(self, inner: str, raw: str) -> str:
        """Keep a text and return its mark."""
        self._inner.append(inner)
        self._raw.append(raw)
        return f"\ue000{len(self._inner) - 1}\ue001"

    def whole(self, text: str) -> str | None:
        """Return the quoted text when `text` is one mark and nothing else."""
        match = re.fullmatch(QUOTE, text.strip())
        return None if match is None else self._inner[int(match[0][1:-1])]

    def expand(self, text: str) -> str:
        """Return `text` as the person wrote it, quotes included."""
        return re.sub(QUOTE, lambda match: self._raw[int(match[0][1:-1])], text)

    def plain(self, text: str) -> str:
        """Return the quoted text of a lone mark, else the text as written."""
        inner = self.whole(text)
        return self.expand(text).strip() if inner is None else inner


def commands(prompt: str) -> tuple[list[str], Quotes]:
    """Split a prompt into its commands.

    Args:
        prompt: What the person wrote.

    Returns:
        The commands in order, courtesies removed, and the quoted texts that their marks stand for.
    """
    quotes = Quotes()
    text = _overwrite().sub(f" {OVERWRITE} ", _masked(_without_note(prompt.translate(_MARKS)), quotes))
    text = re.sub(r"\s+", lambda gap: "\n" if "\n" in gap[0] else " ", text).strip()
    text = re.sub(r"(?m)^(?:[-*•]|\d{1,2}[.)]) ", "", text)
    pieces = _strong().split(text, maxsplit=_MOST_PIECES)
    parts = [_courteous(part) for piece in pieces for part in _weakly_split(piece)]
    return _joined([part for part in parts if part and not _GREETING.fullmatch(part)]), quotes


def _without_note(prompt: str) -> str:
    """Drop what the notebook appends about files and variables."""
    if prompt.startswith(_NOTE):
        return ""
    return prompt.split("\n" + _NOTE, 1)[0].rstrip()


def _masked(text: str, quotes: Quotes) -> str:
    """Replace quoted text, fences and the lines below a colon by marks."""

    def mark(match: re.Match[str]) -> str:
        return quotes.mark(next(group for group in match.groups() if group is not None), match[0])

    masked = _quoted().sub(mark, text)
    block = _block().search(masked)
    rest = ""
    if block is not None:
        body, *after = re.split(rf"\n\n(?={_AFTER}\b)", block["body"], maxsplit=1, flags=re.I)
        raw = quotes.expand(body).strip("\n").rstrip()
        masked, rest = f"{masked[: block.start('gap')]} {quotes.mark(raw, raw)}", "\n".join(["", *after])
    masked = (masked + rest).replace("\u2019", "'")
    return re.sub(rf":?[ \t]*\n\s*(?={QUOTE}[ \t]*(?:\n|\Z))", ": ", masked)


@cache
def _block() -> re.Pattern[str]:
    """A line that writes something and ends with a colon, and all that follows it."""
    verbs = "create|make|write|save|put|add|append|store|overwrite|file|containing|insert"
    return re.compile(
        rf"^(?=[^\n]*\b(?:{verbs})\b)[^\n]*:(?P<gap>[ \t]*\n)(?!\s*{QUOTE}[ \t]*(?:\n|\Z))(?P<body>.+)\Z",
        re.I | re.M | re.S,
    )


@cache
def _quoted() -> re.Pattern[str]:
    return re.compile(
        r"```[^\n`]*\n(.*?)\n?```"
        r'|"([^"]*)"|\u201c([^\u201c\u201d]*)\u201d|\u2018([^\u2018\u2019\n]*)\u2019(?!\w)|«([^«»]*)»|`([^`\n]+)`'
        r"|(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))+)'(?!\w)",
        re.S,
    )


@cache
def _overwrite() -> re.Pattern[str]:
    what = (
        r"(?:it|them|existing|"
        r"(?:the|any|an)? ?(?:old|existing|current|previous) (?:one|file|version|content))"
    )
    when = r"(?: if (?:it|one|that|the file|there is one)(?: already)?(?: exists| is there)?)?"
    return re.compile(
        r"(?<!n't)(?<!not)(?<!never),? (?:and |by )?(?:overwrite|overwriting|replacing|replace) "
        rf"{what}{when}(?=[.,;!\n]|$| and | then )",
        re.I,
    )


@cache
def _strong() -> re.Pattern[str]:
    """What always ends a command."""
    return re.compile(
        rf"[.;!?]?\n|; ?|[.!?] (?=[A-Z])|(?i:[.,]? (?:and )?{_AFTER}\b,? )|"
        r"(?i:[.!?] (?=(?:and|also|next|now|please)\b))"
    )


def _weakly_split(piece: str) -> list[str]:
    """Split before verbs; after a comma, and in a list, only before one that has a file to work on."""
    making = re.search(r"\b(?:create|make|write|save|put|add|append|start)\b", piece[:60], re.I)
    head = _list_head().search(piece) if making else None
    parts, start = [], 0
    for gap in _weak().finditer(piece):
        careful = gap[0].startswith(", ") or (head is not None and head.end() <= gap.start())
        if careful and not _object().search(re.split(",| and ", piece[gap.end() : gap.end() + 200])[0]):
            continue
        parts.append(piece[start : gap.start()])
        start = gap.end()
        if len(parts) == _MOST_PIECES:
            break
    return [*parts, piece[start:]]


@cache
def _list_head() -> re.Pattern[str]:
    """What announces a list, whose items may be verbs: "call mom"."""
    return re.compile(
        r"\b(?:list|items|lines|tasks|todos|things|bullets|points|steps)\b"
        r"[^:.,]{0,60}(?::| with| of| containing)",
        re.I,
    )


@cache
def _object() -> re.Pattern[str]:
    return re.compile(rf"\b(?:it|its|them|files?|folder|everything)\b|\w\.[A-Za-z]|{QUOTE}", re.I)


@cache
def _weak() -> re.Pattern[str]:
    """What ends a command when another one follows."""
    verb = rf"(?:(?:{_SHELL_VERBS})(?= [^ ]*[.\ue000/])|(?:{_KNOWN_VERBS}|{_OTHER_VERBS})\b)"
    polite = r"(?:please |also |just |can you |could you )?"
    return re.compile(
        rf"(?:,? and|,? but|,|[.!?])(?: also)? (?={polite}{verb})| (?=without (?!the\b)\w+ing\b)", re.I
    )


@cache
def _lead() -> re.Pattern[str]:
    return re.compile(
        r"(?:please|kindly|hey|hi|hello|ok|okay|now|then|next|finally|lastly|also|and|but|just|"
        r"after that|afterwards|can you|could you|would you|will you|can we|could we|can u|let's|let us|"
        r"go ahead and|"
        r"help me(?: to)?|you should|you must|(?:i|we) (?:want|need|would like|wanna|wish)(?: you)?(?: to)?|"
        r"i'd like(?: you)?(?: to)?|i'd love(?: you)? to|try to|for me|quickly|simply|thanks|know|"
        rf"(?:first|second|third|firstly|secondly)(?=,| (?:{_KNOWN_VERBS})\b))(?:[,:!.]+ ?| )",
        re.I,
    )


_TAIL = re.compile(
    r"(?:[,.!]? (?:for me|please)|"
    r"[,.!] ?(?:thanks|thank you|thx|cheers|will you|would you|ok|okay)(?: (?:a lot|so much))?!*)$",
    re.I,
)
_GREETING = re.compile(
    r"(?:hi|hello|hey|please|thanks|thank you|thx|ok|okay|good (?:morning|afternoon|evening))"
    r"(?: (?:a lot|so much|very much|in advance|there))?!*",
    re.I,
)
_LITERAL_TAIL = re.compile(
    r"\b(?:says?|saying|with|text|containing|words?|contents?|reads?|reading|to|of|for) please$", re.I
)


def _courteous(part: str) -> str:
    """Strip what only makes a command polite."""
    part = part.strip(" ,;")
    at = 0
    while match := _lead().match(part, at):
        at = match.end()
    part = part[at:].rstrip(" ?.,")
    for _ in range(3):
        if _LITERAL_TAIL.search(part[-60:]):
            break
        kept = _TAIL.sub("", part[-40:])
        part = (part[:-40] + kept).rstrip(" ?.,")
    return part


def _joined(parts: list[str]) -> list[str]:
    """Join what was one command: "write LIST and save it as F", "find and replace", "sort and dedupe F"."""
    out: list[str] = []
    for part in parts:
        naming = re.match(
            r"(?:save|store|call|name|write|put) (?:it|this|that|them)(?: (?:as|to|in|into|under))? ",
            part,
            re.I,
        )
        bare = out[-1].lower() if out else ""
        if naming and out and _nameless(out[-1]):
            out[-1] = f"{out[-1]} to {part[naming.end() :]}"
        elif re.fullmatch(
            r"(?:in|from|inside|within|using|to|(?:at|to) the (?:end|bottom) of) (?:the )?(?:file )?"
            rf"(?:{QUOTE}|\S+\.\w+)",
            bare,
        ):
            out[-1] = f"{out[-1]}, {part}"
        elif bare in {"find", "search", "look", "open", "go", "try"}:
            out[-1] = part
        elif bare in {"read", "sort", "copy", "count"}:
            out[-1:] = [f"{bare} {part.rsplit(' ', 1)[-1]}", part]
        else:
            out.append(part)
    return out


def _nameless(part: str) -> bool:
    """A command that makes something and names no file."""
    making = re.match(r"(?:create|make|write|save|store|put|start) ", part, re.I)
    return bool(making) and not re.search(r"\w\.[A-Za-z]\w*\b", part)
