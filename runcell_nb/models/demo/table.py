"""The table of the offline demo: patterns of plain requests, and what is done.

In a pattern `{F}` stands for files, `{T}` for a text, and so on (`SLOTS`); a blank also lets small words
pass ("all the lines"), except before a slot. The verb is one of `commands._VERBS`. A pattern has to match a
whole command. A function of `steps` gets what the slots stand for, each by the name of its group.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from . import kinds, steps
from .commands import QUOTE, canonical
from .kinds import Match
from .phrases import SLOTS, Scene
from .steps import Action, Step, Work, bash


def _passed(command: str, say: str) -> Callable[..., Work]:
    return partial(steps.passed, command=command, say=say)


_SHOW = "(?:(?:show|tell|find) )?"
_OF = "(?:of|in|from|for)"
_ARE = "(?: (?:are|is|do|does|exist|can|we|you|u|i|have|see|has|now|here|there))*"
_LINE = "(?:(?:a|another|new|one more) )*(?:line|item|entry|task)(?: (?:saying|that says|with(?: text)?))?:?"
_TOUCH = "(?:touch|delet|remov|eras|chang|modify|edit|overwrit|mov|renam|open|replac|sort|read)(?:e|ing)?"
_RESULT = "(?:it|this|that|them|results?|answer|output|number|total|sum|count|average|lines|matches|price)"
_COUNTS = [
    ("line", "lines?|entries", "awk 'END {{print NR}}' < {file}"),
    ("row", "(?:data )?rows?", "awk 'END {{print (NR ? NR - 1 : 0)}}' < {file}"),
    ("word", "words?", "wc -w < {file}"),
    ("character", "characters?|letters?", "wc -m < {file}"),
    ("byte", "bytes?", "wc -c < {file}"),
]
_UP = "(?:shows? up|appears?|occurs?|comes? up|turns? up|mentioned|found|used)"
_A_FILE = "an? (?:(?:new|empty|blank|text|csv|short) )*(?:file|note|document)(?: called| named)? {TOKEN}"
_NEW_FILE = f"(?:create|write|add)(?P<files>(?: {_A_FILE})|(?<=create) {{TOKEN}})"
_ORDERED = r"(?=.*(?:order|alphabetical(?:ly)?|numerically)$)"
_ENDS = [
    ("start", "first|top|head|beginning|start", "head -n {n} < {file}"),
    ("end", "last|final|bottom|tail|end", "tail -n {n} < {file}"),
]
_GREP = {"pattern": "{text}", "path": ".", "literal": True, "ignore_case": True}
_EDIT = {"file_path": "{file}", "old_string": "{old}", "new_string": "{new}", "replace_all": True}
_FIND_IN_ALL = Action("grep", 'Lines with "{text}":\n{block}', _GREP)
_FIND_FILES = "find . -type f -name '*'{ending} -not -path './.runcell/*' | wc -l"
_COUNT_WORDS = 'awk \'{{w += NF}} END {{print NR, "lines and", w + 0, "words"}}\' < {file}'
_DROP_LINES = "TEXT={text} awk 'index($0, ENVIRON[\"TEXT\"]) == 0' < {file}"

# fmt: off
_TABLE: list[tuple[Callable[[Any, Match, Scene], Step | None], Any, str]] = [  # kind, what it does, patterns
    (kinds.leave, None, rf"""
        (?:don't|do not|never|not|no need to|without)(?: ever)? {_TOUCH} (?P<kept>.+?)(?: if .+)?
        (?:leave|keep) (?P<kept>.+) (?:alone|as (?:it is|is|they are)|unchanged|untouched|intact|in place)
        (?:leave|keep) (?P<kept>(?:the )?\S+)"""),
    (kinds.place, partial(bash(_FIND_FILES, "{out} file(s), with subfolders."), ending=""),
        rf"count files?{_ARE}(?: in)?(?: {{HERE}})?"),
    (kinds.place, bash(_FIND_FILES, "{out} {ending} file(s), with subfolders."),
        rf"count {{KIND}}files?{_ARE}"),
    (kinds.place, partial(Action("ls", "Here is what is there:\n{block}", {"path": "{where}"}), where="."),
        rf"""
        (?:(?:list|show|tell) )?(?:a list of |what |which )?files{_ARE}(?: (?:in|of) {{WHERE}})?
        (?:list|tell|show) (?:contents of|in|inside) {{WHERE}}
        (?:list|tell|show) (?P<where>{{HERE}}|{{FOLDER}})
        list(?: -\w+)?(?: {{WHERE}})?
        (?:list|show) everything(?: in)?(?: {{WHERE}})?"""),
    (kinds.place, Action("glob", "All files:\n{block}", {"pattern": "**/*"}),
        "(?:list|show) files,? (?:recursively|(?:in|including|in all) (?:sub)?folders)"),
    (kinds.place, Action("glob", "Files that end in {ending}:\n{block}", {"pattern": "**/*{ending}"}), rf"""
        (?:(?:list|show|tell|find) )?(?:what |which )?{{KIND}}files{_ARE}
        (?:list|show|find) files (?:ending (?:in|with)|with (?:extension|ending)|of type) (?P<ending>\S+)"""),
    *((kinds.ones, partial(bash(command, "{n} line(s) at the " + end + " of {file}:\n{block}"), n="1"),
        rf"{_SHOW}(?:{words})(?: {{N}})? ones?") for end, words, command in _ENDS),
    *((kinds.look, partial(bash(command, "{n} line(s) at the " + end + " of {file}:\n{block}"), n="10"), rf"""
        {_SHOW}(?:{words})(?: {{N}})?(?: lines?| rows?)? {_OF} {{F}}
        (?:{words})(?: -n)?(?: -?{{N}})? {{F}}""") for end, words, command in _ENDS),
    (kinds.look,
        bash("test -f {file} && (grep -oiF -e {text} < {file} | wc -l)", "{file} has it {out} time(s)."),
        "(?:how often|count (?:times|occurrences of))(?: does| is)? {T}(?: appears?| occurs?)? in {F}"),
    *((kinds.look, bash(command, f"{{file}} has {{out}} {unit}(s)."), rf"""
        (?:count|tell) (?:(?:total )?number of )?(?:{words})(?: (?:are|there|{_OF}|does|do))* {{F}}(?: \w+)?
        (?:tell )?(?:{words}) count {_OF} {{F}}
        count (?:{words})(?: (?:there are|are there|are|it has|does it have|in total))?""")
      for unit, words, command in _COUNTS),
    (kinds.look, bash(_COUNT_WORDS, "{file} has {out}."), rf"count lines and words {_OF} {{F}}"),
    (kinds.look, steps.column,
        rf"{_SHOW}{{HOW}}(?: value| (?:number|amount)(?= of))?(?: {_OF})?(?: column)? {{COL}}"
        rf"(?: column| values)?(?: {_OF} {{F}})?"),
    (kinds.place, bash("grep -rliF -e {text} . | sort", 'Files with "{text}":\n{block}'),
        "(?:which|what|find|list|show) files?(?: {HAVE})+ {T}"),
    (kinds.place, _FIND_IN_ALL, rf"""
        find(?: where)? {{T}}(?: {_UP})? (?:in|inside|across) {{ALL}}
        find(?: in| inside| through)? {{ALL}} for {{T}}
        where (?:does|do|is|are) {{T}} {_UP}(?: (?:in|inside|across) {{ALL}})?"""),
    (kinds.look, Action("grep", 'Lines with "{text}" in {file}:\n{block}', {**_GREP, "path": "{file}"}), rf"""
        (?:show|find|list|which|what|tell) (?:lines?|rows?) {{HAVE}} {{T}} {_OF} {{F}}
        (?:show|find|list|which|what|tell) (?:lines?|rows?) {_OF} {{F}} {{HAVE}} {{T}}
        (?:where|(?:(?:in|on) )?(?:which|what) (?:lines?|rows?)) (?:does|do|is|are) {{T}} {_UP} in {{F}}
        find(?: in| inside)? {{F}} for {{T}}
        find(?: where)? {{T}}(?: (?:{_UP}|is))? (?:in|inside|within) {{F}}
        (?:does|do) {{F}} (?:contain|mention|include|have) {{T}}"""),
    (kinds.look, bash("test -f {file} && echo Yes || echo No", "{file}: {out}"), r"""
        find (?P<files>[\w./-]+\.[a-z]\w{0,5})
        (?:is there|do (?:we|i|you) have|tell if(?: there is)?) {P}(?: here| exists?| is there)?
        (?:does|is) {P} (?:exist|here|there|already there|present)"""),
    (kinds.place, _FIND_IN_ALL, "find {W}"),
    (kinds.look, Action("read", "Here is {file}:\n{block}", {"file_path": "{file}"}, keeps=False), rf"""
        show(?: (?:contents?|text|of|what is|inside|in|back))* {{F}}(?: (?:to me|again|here|now|contents?))*
        tell(?: (?:contents?|text|of|inside|in|written))* {{P}}(?: now)?
        what (?:does|do) {{F}} (?:say|contain|look like|read|hold|have in it)(?: now)?
        {_SHOW}what (?:is )?(?:in )?{{P}}(?: (?:says|contains|looks like))?"""),
    (kinds.place, bash("mkdir -p -- {path}", "Made the folder {path}."), """
        create(?: (?:a|an|another|empty|new))* (?:folder|directory)(?: called| named)?:? {PATH}
        create(?: (?:a|an|another|empty|new))* {PATH} (?:folder|directory)"""),
    (kinds.change, _passed("awk '!seen[$0]++' < {file}", "Removed the duplicate lines of {file}"),
        rf"delete (?:duplicates?|duplicated|repeated)(?: lines?| entries| items)?(?: {_OF} {{F}}{{TO}})?"),
    (kinds.change, _passed(_DROP_LINES, 'Removed the lines with "{text}" from {file}'),
        rf"delete lines? {{HAVE}} {{T}} {_OF} {{F}}"),
    (kinds.change, _passed("sed '$d' < {file}", "Removed the last line of {file}"),
        "delete last line of {F}"),
    (kinds.change, steps.sort, rf"""
        sort (?:the )?(?P<order>numbers) {_OF} {{F}}{{TO}}
        sort(?: lines?| contents?| items| names| words| list)?(?: {_OF})? {{F}}{{ORDER}}{{TO}}
        write{_ORDERED}(?: (?:lines|contents?|items|names|words|entries|list) {_OF})? {{F}}{{ORDER}}"""),
    (kinds.create, None, rf"""
        {_NEW_FILE}(?: (?:in|into|inside|to))? {{THERE}}(?:{{WITH}}{{T}})?
        {_NEW_FILE}{{WITH}}{{T}} (?:in|into|inside|to) (?P<there>there|(?:that|the) (?:new )?folder)"""),
    (kinds.create, None, r"""
        overwrite {F} (?P<with>with|by|to say):? {T}
        (?:overwrite|replace) contents? (?:of|in) {F} (?P<with>with|by):? {T}
        (?:write|overwrite) (?:this|these|following)(?: text| lines)? (?:to|in|into|as) {F}(?P<colon>:) {T}
        (?:create|write) (?P<head>[^:]+) (?:in|into|to) {F}: ?{T}
        create an? (?:\w+ )?(?:file|note){WITH}{T},? (?:to|as|called|named) {F}
        (?:create|write|overwrite)(?: (?:to|in|into))? {F}{WITH}{T}
        (?P<files>an? (?:new )?(?:\w+ )?file (?:called |named )?{TOKEN}){WITH}{T}"""),
    (kinds.refuse, "I replace text in one named file at a time", "replace {OLD} (?:with|by) {NEW} in {ALL}"),
    (kinds.change, Action("edit", 'Replaced "{old}" by "{new}" in {file}.', _EDIT, careful=True), """
        replace {OLD} (?:with|by|to) {NEW} in {F}
        replace {OLD} in {F} (?:with|by|to) {NEW}
        replace {OLD} (?:with|by) {NEW}"""),
    (kinds.save, None, rf"(?:write|add) {_RESULT}(?: down)? (?:to|in|into|as|under) {{F}}"),
    (kinds.change, _passed("{{ printf '%s\\n' {lines}; cat {file}; }}", "Added it at the top of {file}"), """
        (?:add|write|prepend) (?P<lines>.+?) (?:to|at) (?:top|beginning|start) of {F}
        prepend (?P<lines>.+?) to {F}"""),
    (kinds.change, steps.append, rf"""
        add (?:{{NUMBER}} )?(?P<several>lines|items|tasks) (?:to|in)(?: end of)? {{F}}: ?(?P<lines>.+)
        (?:add|write) (?:a |another |new )*(?:line|item|task) (?:to|in)(?: end of)? {{F}}(?: saying)?:? {{L}}
        (?:add|write)(?: {_LINE})? {{L}} (?:to|at) (?:end|bottom) of {{F}}
        add(?: {_LINE})? {{L}} (?:to|onto|into|in) {{F}}
        (?:at|to) (?:(?:end|bottom) of )?{{F}},? (?:append|add|insert) {{L}}
        add to {{F}}[,:]? {{L}}"""),
    (kinds.transfer, None, r"""
        (?:copy|move) {F} (?:to|as|into|in|inside|under|called|named|and call it)(?: be)? (?P<to>.+)
        (?:copy|move) {F} (?P<to>there|{TOKEN})
        place {F} (?:into|in|inside) (?P<to>{FOLDER}|it|(?:the|that|this) (?:new )?folder|[\w/-]+)
        place {F} (?P<to>there)
        write (?P<files>it|\S+\.\w+) (?:into|in) (?P<to>{FOLDER}|there)"""),
    (kinds.refuse, "Say the new name or folder as well", "(?:copy|move) {F}"),
    (kinds.delete, None, r"delete(?: -\w+)* {F}(?: permanently| again| now)?"),
    (kinds.refuse, "I delete only files, and only those that are named one by one",
        r"delete\b.*(?:[*?]|\b(?:everything|all|every|anything|files|folders)\b).*|delete {FOLDER}"),
    (kinds.refuse, 'Say "delete the lines with … from FILE" or "replace … with nothing in FILE"',
        "delete .+ (?:from|out of) {F}"),
    (kinds.create, None, rf"""
        create {{F}} (?P<text>{QUOTE})
        (?:create|write)(?: empty)? {{F}}
        write to {{F}},? {{T}}
        (?:create|write|overwrite) {{T}} (?:to|into|as|in|called|named) {{F}}"""),
]
# fmt: on


@cache
def _compiled() -> list[tuple[re.Pattern[str], Callable[[Match, Scene], Step | None]]]:
    rows = [(texts.strip().split("\n"), partial(kind, do)) for kind, do, texts in _TABLE]
    return [(_pattern(text.strip()), build) for texts, build in rows for text in texts]


def _pattern(text: str) -> re.Pattern[str]:
    loose = re.sub(r" (?![{?]|\(\?P<)", " (?:(?:the|all|me|my|just|only|any|every|each|also|very) )*+", text)
    loose = loose.replace(" {F}", " (?:(?:me|all|just|only) )*+{F}")
    return re.compile(re.sub(r"\{([A-Z]+)\}", lambda slot: SLOTS[slot[1]], loose), re.I | re.S)


_FILE_FIRST = re.compile(rf"(?:in|from|using) ((?:the )?(?:file )?(?:{QUOTE}|[^\s,]+\.\w+)),? (.+)", re.I)
_SET_OFF = re.compile(r"((?:[\w']+ ){0,6}(?:file|note|document|folder)), (\S+?),?(| .*)", re.I)
_PUT = re.compile(  # a file into a folder, and no text into a file
    r"put ((?:the )?(?:file )?(?:\S+\.\w+|it|(?:that|this) file)) (?!in .*(?:order|alphabetically)$)"
    r"((?:in|into|inside) (?!.*(?:\b(?:with|says?|saying|containing|that says)\b|\w\.\w|:)).+|there)",
    re.I,
)
_ITS = re.compile(r"(.+) its ((?:(?:first|last)(?: \w+)? )?(?:lines?|words?|characters?|rows?))", re.I)


def step_for(command: str, scene: Scene) -> Step | None:
    """Return the step for a command; None when no pattern fits.

    Raises:
        Stop: It is understood and not done.
    """
    if put := _PUT.fullmatch(command):
        command = f"place {put[1]} {re.sub('^in there$', 'there', put[2], flags=re.I)}"
    if set_off := _SET_OFF.fullmatch(command):
        command = "{} {}{}".format(*set_off.groups())
    turned = _FILE_FIRST.sub(r"\2 in \1", _ITS.sub(r"\1 the \2 of it", command))
    readings = [canonical(reading).rstrip("!") for reading in dict.fromkeys((command, turned))]
    found = ((pattern.fullmatch(text), build) for text in readings for pattern, build in _compiled())
    made = (build(match, scene) for match, build in found if match)
    return next((step for step in made if step is not None), None)
