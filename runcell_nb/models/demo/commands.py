"""From a prompt of the offline demo to its single commands.

Quoted text, code fences and texts of several lines are taken out first, so that nothing in them is read as
a command. Every pattern here is linear in the length of the prompt.
"""

from __future__ import annotations

import re

QUOTE = "\ue000\\d+\ue001"
"""Pattern of the mark that stands for a piece of quoted text."""

MAX_COMMAND = 2_000
"""Characters of one command outside of quotes; a person's command is shorter."""

_VERBS = [  # the table's verb, and the words that mean it; the first that fits counts
    ("sum", "sum up|add up|total up|sum|total(?! number of (?:lines|words|rows|files|char))"),
    ("count lines in", "wc -l|how long is"),
    ("count words in", "wc -w"),
    ("count bytes in", "how (?:big|large) is|(?:what is|what'?s) the size of"),
    ("delete duplicates in", "dedupe|deduplicate"),
    ("create empty", "touch"),
    ("create folder", "mkdir(?: -p)?"),
    ("copy", "copy|duplicate|back up|backup|cp|(?:make|create) an? (?:copy|backup) of"),
    ("create", "create|make|generate|start|set up|prepare|produce"),
    ("write", "write|save|put|store|record|enter|type"),
    ("overwrite", "overwrite"),
    ("add", "append|add|insert"),
    ("show", "show|read|print|cat|display|view|open|output"),
    ("list", "list|ls|dir"),
    ("delete", "delete|remove|erase|rm|trash|get rid of|drop"),
    ("tell", "tell|give|get|see|what is|what'?s|what are|check|look at|calculate|compute|work out"),
    ("count", "count|how many|(?:total )?number of"),
    ("find", "find|search for|search|look for|grep for|grep|look in|look through|locate|where is|where'?s"),
    ("replace", "replace|change|substitute|swap"),
    ("move", "move|rename|mv"),
    ("sort", "sort|order|alphabeti[sz]e|arrange"),
]
_MORE_VERBS = (  # that begin a command, known to the table or not
    "use|run|invoke|call(?! it)|name(?! it)|what|which|how|don't|do not|never|leave|keep|should|"
    "translate|summari[sz]e|explain|describe|e-?mail|send|plot|draw|fix|improve|analy[sz]e|commit|push|download|"
    "install|execute|upload|fetch|compare|merge|convert|zip|unzip|format|split|reverse|rewrite|edit|update|undo|"
    "clear|empty|clean|train|test|build|deploy|ask|answer|refactor|extract|filter|group|combine|publish|set|turn"
)
_SHELL_VERBS = "cat|touch|cp|mv|rm|wc|mkdir|head|tail"  # only before what looks like a file
_KNOWN = f"(?:{'|'.join(words for _, words in _VERBS)}|{_MORE_VERBS})"
_VERB = rf"(?:(?:{_SHELL_VERBS})(?= [^ ]*[./\ue000])|(?!(?:{_SHELL_VERBS})\b){_KNOWN}\b)"
_AFTER = "(?:then|after that|afterwards|after this|finally|lastly)"
_LEAD = (  # what only makes a command polite
    r"(?:(?:please|kindly|hey|hi|hello|ok|okay|now|then|next|finally|lastly|also|and|but|just|after that|"
    r"afterwards|(?:can|could|would|will) (?:you|we|u)|let's|let us|go ahead and|help me(?: to)?|"
    r"you (?:should|must)|(?:i|we) (?:want|need|would like|wish)(?: you)?(?: to)?|try to|for me|quickly|"
    r"i'(?:d|ll) (?:like|love|need)(?: you)?(?: to)?|thanks|first|second|third|"
    r"(?:tell|show|give) me(?= (?:what'?s?|which|how|if|whether|where'?s?)\b))(?:[,:!.]+ ?| ))*"
)
_PRAISE = "great|perfect|nice|cool|awesome|super|lovely|good|alright|thx|thanks|thank (?:you|u)|cheers"
_FILLER = rf"(?:(?:{_PRAISE}|ok|okay|pls|plz|and|so|yes|now)(?:[,:!]+ ?|\.+ | ))*"  # before a command
_TAIL = r"(?:[,.!]? (?:for me|please|pls|plz)|[,.!] ?(?:thanks|thx|thank (?:you|u))(?: a lot| so much)?!*)$"
_LAST_WORD = (  # after a command that gives no text, where these words could be a part of it
    r"((?:show|print|cat|open|list|count|delete|remove|trash|sort|how|what|what'?s|first|last|number)\b"
    rf"(?!.*\b(?:with|says?|saying|contain\w*|mention\w*|ha(?:s|ve))\b).* \S+)[,.!]? (?:now|{_PRAISE})!*"
)
_BARE_THE = (
    r"the (?=(?:first|last|number|total|sum|average|mean|m(?:ax|in)\w*|highest|lowest|biggest|"
    r"smallest|largest|contents?|line|word) )"
)
_GREETING = rf"(?:hi|hello|hey|please|{_PRAISE}|pls|plz|ok|good (?:morning|evening))(?: \w+)?!*"
_STRONG = (  # what always ends a command
    rf"[.;!?]?\n|; ?|[.!?] (?=[A-Z])|(?i:[.,]? (?:and )?{_AFTER}\b,? )|"
    r"(?i:[.!?] (?=(?:and|also|next|now|please)\b))"
)
_WEAK = (  # what ends a command when another one follows
    rf"(?:,? and|,? but|,|[.!?])(?: also)? (?=(?:please |also |just |(?:can|could) you )?{_VERB})|"
    r" (?=without (?!the\b)\w+ing\b)"
)
_LIST_HEAD = (  # what announces a list, whose items may be verbs: "call mom"
    r"\b(?:list|items|lines|tasks|todos|things|bullets|points)\b[^:.,]{0,60}(?::| with| of| containing)"
)
_OBJECT = rf"\b(?:it|its|them|files?|folder|everything)\b|\w\.[a-z]|{QUOTE}"  # what a verb works on
_WRITES = r"\b(?:create|make|write|save|put|add|append|store|overwrite|file|insert)\b"
_TEXT_LEAD = r" (?:with|containing|saying|that says|that contains):?(?= |$)|:(?= )"
_FOLLOWING = r" (?:(?:the|this|these|following) )+(?:text|lines?|words|content|items)?"
_QUOTED = (
    r"```[^\n`]*\n(.*?)\n?```"
    r'|"([^"]*)"|\u201c([^\u201c\u201d]*)\u201d|\u2018([^\u2018\u2019\n]*)\u2019(?!\w)|`([^`\n]+)`'
    r"|(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))+)'(?!\w)"
)
_BULLET = r"[ \t]*(?:[-*•]|\d{1,2}[.)]) "
_LINE_COMMAND = (  # a line that is a command or a courtesy, and no data such as "name,age"
    rf"\s*{_LEAD}(?:{_AFTER}\b|thanks|thank you|{_VERB}(?=[ .!]|$))"
)
_NOTE = re.compile("\nFiles put into the sandbox:|\nNote on the sandbox:")
_MOST_PIECES = 50  # of one prompt, and of one sentence: more is no request, and the rest stays in one piece


class Quotes:
    """The texts that marks in a prompt stand for."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, str]] = []  # without and with its quotes

    def mark(self, inner: str, raw: str) -> str:
        """Keep a text and return its mark."""
        self._texts.append((inner, raw))
        return f"\ue000{len(self._texts) - 1}\ue001"

    def whole(self, text: str) -> str | None:
        """Return the quoted text when `text` is one mark and nothing else."""
        return self._texts[int(text.strip()[1:-1])][0] if re.fullmatch(rf"\s*{QUOTE}\s*", text) else None

    def closed(self, text: str) -> bool:
        """Tell whether the text ends with a piece that the person put into quotes or a fence."""
        mark = re.search(rf"{QUOTE}\s*\Z", text[-20:])
        inner, raw = self._texts[int(mark[0].strip()[1:-1])] if mark else ("", "")
        return inner != raw

    def expand(self, text: str) -> str:
        """Return `text` as the person wrote it, quotes included."""
        return re.sub(QUOTE, lambda mark: self._texts[int(mark[0][1:-1])][1], text)

    def plain(self, text: str) -> str:
        """Return the quoted text of a lone mark, else the text as written."""
        inner = self.whole(text)
        return self.expand(text).strip() if inner is None else inner


def commands(prompt: str) -> tuple[list[str], Quotes]:
    """Split a prompt into its commands.

    Args:
        prompt: What the person wrote; the notebook's note about files is left out.

    Returns:
        The commands in order, courtesies removed, and the quoted texts that their marks stand for.
    """
    quotes = Quotes()

    def mark(match: re.Match[str]) -> str:
        return quotes.mark(next(group for group in match.groups() if group is not None), match[0])

    text = _NOTE.split("\n" + re.sub("[\ue000\ue001]", "\ufffd", prompt), maxsplit=1)[0]
    text = _without_long_texts(re.sub(_QUOTED, mark, text, flags=re.S), quotes).replace("\u2019", "'")
    text = re.sub(r"\s+", lambda gap: "\n" if "\n" in gap[0] else " ", text).strip()
    text = re.sub(rf":?\n(?={QUOTE}(?:\n|\Z))", ": ", text)
    pieces = re.split(_STRONG, re.sub(rf"(?m)^{_BULLET}", "", text), maxsplit=_MOST_PIECES)
    parts = [_courteous(part) for piece in pieces for part in _weakly_split(piece)]
    return _joined([part for part in parts if part and not re.fullmatch(_GREETING, part, re.I)]), quotes


def canonical(command: str) -> str:
    """Return the command with the table's own verb at its beginning."""
    match = re.match("|".join(rf"({words})(?!\w)" for _, words in _VERBS), command, re.I)
    return command if match is None else _VERBS[(match.lastindex or 1) - 1][0] + command[match.end() :]


def _without_long_texts(text: str, quotes: Quotes) -> str:
    """Mark a text of several lines: all below a colon, or from "with" up to the next line with a command."""
    lines, out, at = text.split("\n"), [], 0
    while at < len(lines):
        line, at = lines[at].rstrip(), at + 1
        lead = re.search(_TEXT_LEAD, line, re.I)
        head, first = (line[: lead.end()], line[lead.end() :]) if lead else ("", "")
        below = line.endswith(":")
        if below or re.fullmatch(_FOLLOWING, first, re.I):
            head, first = line, ""
        named = below or (lead is not None and re.search(rf"\w\.[A-Za-z]|{QUOTE}", line[: lead.start()]))
        if named and len(line) <= MAX_COMMAND and re.search(_WRITES, line, re.I) and not quotes.whole(first):
            end = _end_of_text(lines, at, below)
            body = quotes.expand("\n".join([first.strip(), *lines[at:end]])).strip("\n").rstrip()
            line, at = (f"{head} {quotes.mark(body, body)}", end) if end > at else (line, at)
        out.append(line)
    return "\n".join(out)


def _end_of_text(lines: list[str], at: int, below: bool) -> int:
    """Return the place of the first line that is no longer part of the text."""
    bullet = "" if below or not re.match(_BULLET, lines[at - 1]) else f"(?:{_BULLET})?"
    stop = re.compile(_AFTER if below else bullet + _LINE_COMMAND, re.I)
    if at < len(lines) and re.fullmatch(rf"\s*{QUOTE}\s*", lines[at]):
        return at
    places = (place for place in range(at, len(lines)) if stop.match(lines[place]))
    return next((place for place in places if not below or not lines[place - 1].strip()), len(lines))


def _weakly_split(piece: str) -> list[str]:
    """Split before verbs; after a comma, and in a list, only before one that has a file to work on."""
    head = re.search(_LIST_HEAD, piece, re.I) if re.search(_WRITES, piece[:60], re.I) else None
    parts, start = list[str](), 0
    for gap in re.finditer(_WEAK, piece, re.I):
        careful = gap[0].startswith(", ") or (head is not None and head.end() <= gap.start())
        following = re.split(",| and ", piece[gap.end() : gap.end() + 200])[0]
        if (not careful or re.search(_OBJECT, following, re.I)) and len(parts) < _MOST_PIECES:
            parts.append(piece[start : gap.start()])
            start = gap.end()
    return [*parts, piece[start:]]


def _courteous(part: str) -> str:
    """Strip what only makes a command polite."""
    part = part.strip(" ,;")
    for pattern in (_FILLER, _LEAD, _BARE_THE):
        lead = re.match(pattern, part, re.I)
        part = part[lead.end() if lead else 0 :].rstrip(" ?.,")
    part = (part[:-40] + re.sub(_TAIL, "", part[-40:], flags=re.I)).rstrip(" ?.,")
    last = re.fullmatch(_LAST_WORD, part, re.I) if len(part) <= MAX_COMMAND else None
    return last[1].rstrip(" ?.,") if last else part


_IT = r"(?:it|this|that|them|the (?:\w+ )?(?:results?|outputs?|lines|list))"
_SAVE = rf"(?:save|store|call|name|write|put) {_IT}(?: (?:as|to|in|into|under))?"
_TOGETHER = [  # what was one command: patterns of a command and the next, and what they are together
    (rf"((?:create|make|write|save|put|start) (?!.*\w\.[A-Za-z]).+)\n{_SAVE} (.+)", r"\1 to \2"),
    (rf"((?:sort|order|dedupe|(?:remove|delete) (?:the )?duplicate).+)\n{_SAVE} (.+)", r"\1 into \2"),
    (
        r"((?:create|make|start|touch) (?!.* (?:with|containing|saying|that|reading|folder|directory) ).+)\n"
        r"(?:write|put|add|insert) (.+) (?:in|into|to|inside) (?:it|the file)(:.+)?",
        r"\1 with \2\3",
    ),
    (
        r"(find|search for) (.+) in (.+)\n(?:replace|change) (?:it|them) (with|by|to) (.+)",
        r"replace \2 \4 \5 in \3",
    ),
    (
        rf"((?:in|from|using|(?:at|to) the (?:end|bottom) of) (?:the )?(?:file )?(?:{QUOTE}|\S+\.\w+))\n(.+)",
        r"\1, \2",
    ),
    (r"(?:find|search|look|open|go|try)\n(.+)", r"\1"),
]


def _joined(parts: list[str]) -> list[str]:
    """Put together what was one command: "write LIST and save it as F", "find and replace"."""
    out: list[str] = []
    for part in parts:
        pair = f"{out[-1]}\n{part}" if out else ""
        rules = _TOGETHER if 0 < len(pair) <= MAX_COMMAND else []
        found = ((re.fullmatch(rule, pair, re.I), template) for rule, template in rules)
        together = next((match.expand(template) for match, template in found if match), "")
        out[-1:] = [together] if together else [*out[-1:], part]
    return out
