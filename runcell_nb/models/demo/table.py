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

from . import steps
from .commands import QUOTE, canonical
from .phrases import FOLDER, IT, MEASURES, NUMBER, SLOTS, Name, Scene, Stop, content, items, number
from .steps import Action, Step, Work, bash

Match = re.Match[str]

_ENDINGS = {"text": "txt", "python": "py", "markdown": "md"}
_READERS: dict[str, Callable[[Scene, str], object]] = {
    # what each group gives to a function of `steps`; files are left to the kind of the row
    **dict.fromkeys(("text", "old"), Scene.sought),
    **dict.fromkeys(("where", "path"), Scene.folder_path),
    "n": lambda _, text: str(1 if text.lower() in {"line", "row"} else number(text)),
    "new": lambda scene, text: "" if text.lower() == "nothing" else scene.sought(text),
    "target": lambda scene, text: scene.one(text).path,
    "how": lambda _, text: next(how for how in MEASURES if re.fullmatch(MEASURES[how], text, re.I)),
    "ending": lambda _, text: "." + _ENDINGS.get(text.lower(), text.lower().lstrip("*.")),
    "lines": lambda scene, text: content(text, bool(re.match(NUMBER, text)), scene.quotes).split("\n"),
    "quoted": lambda scene, text: scene.quotes.plain(text).removesuffix("\n").split("\n"),
    "order": lambda _, text: text,
}


def _given(match: Match, scene: Scene) -> dict[str, Any]:
    groups = {name: text for name, text in match.groupdict().items() if text}
    given = {name: read(scene, groups[name]) for name, read in _READERS.items() if name in groups}
    return {**given, "lines": items(groups["lines"], scene.quotes)} if "several" in groups else given


def _open_end(match: Match, scene: Scene) -> bool:
    texts = [match.groupdict().get(group) for group in ("text", "new", "lines")]
    return any(text and match[0].endswith(text) for text in texts) and not scene.quotes.closed(match[0])


# The kinds of rows: each makes a step of a match, or returns None when a part is not what it was taken for.


def _look(do: Callable[..., Work], match: Match, scene: Scene) -> Step | None:
    """Read each of some files; "it" is the likeliest one."""
    given, phrase = _given(match, scene), match.groupdict().get("files") or "it"
    found = scene.names(phrase)[: 1 if re.fullmatch(IT, phrase, re.I) else None]
    if not found:
        return None
    return Step(lambda _: steps.each(found, partial(do, **given)), tuple(name.path for name in found))


def _change(do: Callable[..., Work], match: Match, scene: Scene) -> Step | None:
    """Change exactly one file, or make a new one of it."""
    given, name = _given(match, scene), scene.one(match.groupdict().get("files") or "it")
    path = given.get("target", name.path)
    return Step(lambda _: do(name, **given), (path,), (path,), open_end=_open_end(match, scene))


def _place(do: Callable[..., Work], match: Match, scene: Scene) -> Step | None:
    """Do what is about no file by its name."""
    given = _given(match, scene)
    return Step(lambda _: do(**given), folder=given.get("path", ""))


def _refuse(reason: str, match: Match, scene: Scene) -> Step | None:
    """Understand it and do nothing."""
    raise Stop(reason)


def _leave(_: None, match: Match, scene: Scene) -> Step | None:
    phrase = match["kept"]
    known = scene.it or not re.fullmatch(IT, phrase, re.I)
    spared = tuple(name.path for name in scene.names(phrase.replace(" or ", " and "))) if known else ()
    return Step(lambda _: steps.leave(scene.quotes.expand(phrase)), spared, spares=spared or ("*",))


def _create(_: None, match: Match, scene: Scene) -> Step | None:
    name, groups = scene.one(match["files"]), match.groupdict()
    over, text, given = match[0].startswith(("overwrite", "replace")), groups.get("text"), ""
    if not name.sure or (re.fullmatch(IT, match["files"], re.I) and not over):
        return None
    if text:
        literal = groups.get("colon") or re.search("say|read|exactly|:", groups.get("with") or "", re.I)
        text = re.sub(" (?:in|inside) it$", "", text, flags=re.I)
        whole = f"{groups['head']}: {text}" if groups.get("head") else text
        given = content(whole, bool(literal), scene.quotes)
    elif scene.later and "empty" not in match[0].lower():
        raise Stop(f"I cannot make up what goes into {name.path}; say its text, or that it is to be empty")
    work, path = partial(steps.create, name.path, given, over), (name.path,)
    return Step(lambda _: work(), path, path if over else (), open_end=_open_end(match, scene))


def _delete(_: None, match: Match, scene: Scene) -> Step | None:
    one = re.fullmatch(IT, match["files"], re.I)
    found = (scene.one(match["files"]),) if one else scene.names(match["files"])
    paths = tuple(name.path for name in found)
    return Step(lambda _: steps.delete(found), paths, paths)


def _transfer(_: None, match: Match, scene: Scene) -> Step | None:
    name, move, phrase = scene.one(match["files"]), match[0].startswith(("m", "w")), match["to"]
    there = re.fullmatch("it|there|(?:that|the|this) (?:new )?folder", phrase, re.I)
    if there and not scene.folder:
        raise Stop(f"I do not know which folder {phrase!r} is; please name it")
    into = bool(there or re.fullmatch(FOLDER, phrase, re.I))
    target = scene.folder if there else scene.folder_path(phrase) if into else scene.one(phrase).path
    made = f"{target}/{name.path.rsplit('/', 1)[-1]}" if into else target
    new = " new " in phrase and not there  # a path whose folders are made
    work = partial(steps.transfer, name, made if new else target, move, into and not new)
    return Step(lambda _: work(), (made,) if move else (made, name.path), (name.path,) if move else ())


def _save(_: None, match: Match, scene: Scene) -> Step | None:
    name, add = scene.one(match["files"]), match[0].startswith("add")
    if not name.sure or name.path in scene.it or not (scene.later or scene.it):
        return None
    it = Name(scene.it[0]) if len(scene.it) == 1 else None
    return Step(lambda said: steps.save(said, name, add, it), (name.path,), (name.path,) if add else ())


def _passed(command: str, say: str) -> Callable[..., Work]:
    return partial(steps.passed, command=command, say=say)


_SHOW = "(?:(?:show|tell|find) )?"
_OF = "(?:of|in|from|for)"
_ARE = "(?: (?:are|is|do|does|exist|can|we|you|i|have|see|has|now|here|there))*"
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
    (_leave, None, rf"""
        (?:don't|do not|never|not|no need to|without)(?: ever)? {_TOUCH} (?P<kept>.+?)(?: if .+)?
        (?:leave|keep) (?P<kept>.+) (?:alone|as (?:it is|is|they are)|unchanged|untouched|intact|in place)
        (?:leave|keep) (?P<kept>\S+)"""),
    (_place, partial(bash(_FIND_FILES, "{out} file(s), with subfolders."), ending=""),
        rf"count files?{_ARE}(?: in)?(?: {{HERE}})?"),
    (_place, bash(_FIND_FILES, "{out} {ending} file(s), with subfolders."), rf"count {{KIND}}files?{_ARE}"),
    (_place, partial(Action("ls", "Here is what is there:\n{block}", {"path": "{where}"}), where="."), rf"""
        (?:(?:list|show|tell) )?(?:a list of |what |which )?files{_ARE}(?: (?:in|of) {{WHERE}})?
        (?:list|tell|show) (?:contents of|in|inside) (?P<where>{{HERE}}|{{FOLDER}}|[\w-]+)
        (?:list|tell|show) (?P<where>{{HERE}}|{{FOLDER}})
        list(?: -\w+)?(?: {{WHERE}})?
        (?:list|show) everything(?: in)?(?: {{WHERE}})?"""),
    (_place, Action("glob", "All files:\n{block}", {"pattern": "**/*"}),
        "(?:list|show) files,? (?:recursively|(?:in|including|in all) (?:sub)?folders)"),
    (_place, Action("glob", "Files that end in {ending}:\n{block}", {"pattern": "**/*{ending}"}), rf"""
        (?:(?:list|show|tell|find) )?(?:what |which )?{{KIND}}files{_ARE}
        (?:list|show|find) files (?:ending (?:in|with)|with (?:extension|ending)|of type) (?P<ending>\S+)"""),
    *((_look, partial(bash(command, "{n} line(s) at the " + end + " of {file}:\n{block}"), n="10"), rf"""
        {_SHOW}(?:{words})(?: {{N}})?(?: lines?| rows?)? {_OF} {{F}}
        (?:{words})(?: -n)?(?: -?{{N}})? {{F}}""") for end, words, command in _ENDS),
    (_look, bash("test -f {file} && (grep -oiF -e {text} < {file} | wc -l)", "{file} has it {out} time(s)."),
        "(?:how often|count (?:times|occurrences of))(?: does| is)? {T}(?: appears?| occurs?)? in {F}"),
    *((_look, bash(command, f"{{file}} has {{out}} {unit}(s)."), rf"""
        (?:count|tell) (?:number of )?(?:{words})(?: (?:are|there|{_OF}|does|do))* {{F}}(?: \w+)?
        (?:tell )?(?:{words}) count {_OF} {{F}}
        count (?:{words})(?: (?:there are|are there|are|it has|does it have|in total))?""")
      for unit, words, command in _COUNTS),
    (_look, bash(_COUNT_WORDS, "{file} has {out}."), rf"count lines and words {_OF} {{F}}"),
    (_look, steps.column,
        rf"{_SHOW}{{HOW}}(?: value)?(?: {_OF})?(?: column)? {{T}}(?: column| values)?(?: {_OF} {{F}})?"),
    (_place, bash("grep -rliF -e {text} . | sort", 'Files with "{text}":\n{block}'),
        "(?:which|what|find|list|show) files?(?: {HAVE})+ {T}"),
    (_place, _FIND_IN_ALL, "find(?: where)? {T} (?:in|inside|across) {ALL}"),
    (_look, Action("grep", 'Lines with "{text}" in {file}:\n{block}', {**_GREP, "path": "{file}"}), rf"""
        (?:show|find|list) (?:lines?|rows?) {{HAVE}} {{T}} {_OF} {{F}}
        find(?: in| inside)? {{F}} for {{T}}
        find(?: where)? {{T}}(?: (?:appears?|occurs?|is))? (?:in|inside|within) {{F}}
        (?:does|do) {{F}} (?:contain|mention|include|have) {{T}}"""),
    (_look, bash("test -f {file} && echo Yes || echo No", "{file}: {out}"), r"""
        find (?P<files>[\w./-]+\.[a-z]\w{0,5})
        (?:is there|do (?:we|i|you) have|tell if(?: there is)?) {P}(?: here| exists?| is there)?
        (?:does|is) {P} (?:exist|here|there|already there|present)"""),
    (_place, _FIND_IN_ALL, "find {W}"),
    (_look, Action("read", "Here is {file}:\n{block}", {"file_path": "{file}"}, keeps=False), rf"""
        show(?: (?:contents?|text|of|what is|inside|in|back))* {{F}}(?: (?:to me|again|here|now|contents?))*
        tell(?: (?:contents?|text|of|inside|in|written))* {{P}}(?: now)?
        what (?:does|do) {{F}} (?:say|contain|look like|read|hold|have in it)(?: now)?
        {_SHOW}what (?:is )?(?:in )?{{P}}(?: (?:says|contains|looks like))?"""),
    (_place, bash("mkdir -p -- {path}", "Made the folder {path}."), """
        create(?: (?:a|an|another|empty|new))* (?:folder|directory)(?: called| named)?:? {PATH}
        create(?: (?:a|an|another|empty|new))* {PATH} (?:folder|directory)"""),
    (_change, _passed("awk '!seen[$0]++' < {file}", "Removed the duplicate lines of {file}"),
        rf"delete (?:duplicates?|duplicated|repeated)(?: lines?| entries| items)?(?: {_OF} {{F}}{{TO}})?"),
    (_change, _passed(_DROP_LINES, 'Removed the lines with "{text}" from {file}'),
        rf"delete lines? {{HAVE}} {{T}} {_OF} {{F}}"),
    (_change, _passed("sed '$d' < {file}", "Removed the last line of {file}"), "delete last line of {F}"),
    (_change, steps.sort, rf"""
        sort (?P<order>numbers) {_OF} {{F}}{{TO}}
        sort(?: lines?| contents?| items| names| words| list)?(?: {_OF})? {{F}}{{ORDER}}{{TO}}
        write(?: lines {_OF})? {{F}}{{ORDER}}"""),
    (_create, None, r"""
        overwrite {F} (?P<with>with|by|to say):? {T}
        (?:overwrite|replace) contents? (?:of|in) {F} (?P<with>with|by):? {T}
        (?:write|overwrite) (?:this|these|following)(?: text| lines)? (?:to|in|into|as) {F}(?P<colon>:) {T}
        (?:create|write) (?P<head>[^:]+) (?:in|into|to) {F}: ?{T}
        create an? (?:\w+ )?(?:file|note){WITH}{T},? (?:to|as|called|named) {F}
        (?:create|write|overwrite)(?: (?:to|in|into))? {F}{WITH}{T}
        (?P<files>an? (?:new )?(?:\w+ )?file (?:called |named )?{TOKEN}){WITH}{T}"""),
    (_refuse, "I replace text in one named file at a time", "replace {OLD} (?:with|by) {NEW} in {ALL}"),
    (_change, Action("edit", 'Replaced "{old}" by "{new}" in {file}.', _EDIT, careful=True), """
        replace {OLD} (?:with|by|to) {NEW} in {F}
        replace {OLD} in {F} (?:with|by|to) {NEW}
        replace {OLD} (?:with|by) {NEW}"""),
    (_save, None, rf"(?:write|add) {_RESULT}(?: down)? (?:to|in|into|as|under) {{F}}"),
    (_change, _passed("{{ printf '%s\\n' {lines}; cat {file}; }}", "Added it at the top of {file}"), """
        (?:add|write|prepend) (?P<lines>.+?) (?:to|at) (?:top|beginning|start) of {F}
        prepend (?P<lines>.+?) to {F}"""),
    (_change, steps.append, rf"""
        add (?:{{NUMBER}} )?(?P<several>lines|items|tasks) (?:to|in)(?: end of)? {{F}}: ?(?P<lines>.+)
        (?:add|write) (?:a |another |new )*(?:line|item|task) (?:to|in)(?: end of)? {{F}}(?: saying)?:? {{L}}
        (?:add|write)(?: {_LINE})? {{L}} (?:to|at) (?:end|bottom) of {{F}}
        add(?: {_LINE})? {{L}} (?:to|onto|into|in) {{F}}
        (?:at|to) (?:(?:end|bottom) of )?{{F}},? (?:append|add|insert) {{L}}
        add to {{F}}[,:]? {{L}}"""),
    (_transfer, None, r"""
        (?:copy|move) {F} (?:to|as|into|in|inside|under|called|named|and call it)(?: be)? (?P<to>.+)
        (?:copy|move) {F} (?P<to>there|{TOKEN})
        write (?P<files>it|\S+\.\w+) (?:into|in) (?P<to>{FOLDER}|there)"""),
    (_refuse, "Say the new name or folder as well", "(?:copy|move) {F}"),
    (_delete, None, r"delete(?: -\w+)* {F}(?: permanently| again| now)?"),
    (_refuse, "I delete only files, and only those that are named one by one",
        r"delete\b.*(?:[*?]|\b(?:everything|all|every|anything|files|folders)\b).*|delete {FOLDER}"),
    (_refuse, 'Say "delete the lines with … from FILE" or "replace … with nothing in FILE"',
        "delete .+ (?:from|out of) {F}"),
    (_create, None, rf"""
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
    loose = re.sub(r" (?![{?])", " (?:(?:the|all|me|my|just|only|any|every|each|also) )*+", text)
    loose = loose.replace(" {F}", " (?:(?:me|all|just|only) )*+{F}")
    return re.compile(re.sub(r"\{([A-Z]+)\}", lambda slot: SLOTS[slot[1]], loose), re.I | re.S)


_FILE_FIRST = re.compile(rf"(?:in|from|using) ((?:the )?(?:file )?(?:{QUOTE}|[^\s,]+\.\w+)),? (.+)", re.I)
_ITS = re.compile(r"(.+) its ((?:(?:first|last)(?: \w+)? )?(?:lines?|words?|characters?|rows?))", re.I)


def step_for(command: str, scene: Scene) -> Step | None:
    """Return the step for a command; None when no pattern fits.

    Raises:
        Stop: It is understood and not done.
    """
    turned = _FILE_FIRST.sub(r"\2 in \1", _ITS.sub(r"\1 the \2 of it", command))
    readings = [canonical(reading).rstrip("!") for reading in dict.fromkeys((command, turned))]
    found = ((pattern.fullmatch(text), build) for text in readings for pattern, build in _compiled())
    made = (build(match, scene) for match, build in found if match)
    return next((step for step in made if step is not None), None)
