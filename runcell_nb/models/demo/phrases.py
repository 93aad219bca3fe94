"""The table: patterns of plain English requests, each with the builder of what is done.

A pattern has to match a whole command. A line break in it, with the indentation after it, stands for one
blank, or for nothing after a `|` and before a group that begins with its own blank. A builder returns a
`Step`, or None when a part is not what the pattern takes it for (the next pattern is tried).
"""

from __future__ import annotations

import re
from functools import cache

from . import reading, writing
from .commands import QUOTE
from .scene import HERE, Builder
from .slots import NUMBER


@cache
def table() -> list[tuple[re.Pattern[str], Builder]]:
    """Return the table, compiled once."""
    return [
        (re.compile(_BREAK.sub(_unbroken, pattern), re.I | re.S), builder)
        for builder, patterns in _PATTERNS
        for pattern in patterns
    ]


_BREAK = re.compile(r"(?P<bar>\|)?\n\s*(?P<blank>\(\?(?::|P<\w+>)(?: |,\? ))?")


def _unbroken(gap: re.Match[str]) -> str:
    return (gap["bar"] or "") + ("" if gap["bar"] or gap["blank"] else " ") + (gap["blank"] or "")


_F = r"(?P<files>.+?)"
_IN = r"(?: (?:in|inside|of|from|under|at|within) (?P<where>.+))?"
_HERE = HERE
_VIEW = r"""(?:show|read|print|cat|display|open|view|see|output|type|give|get|tell|dump|check|look at|
    peek at|preview|
    what is|what's|what are)"""
_IS = r"(?:what is|what's|whats|how much is|how high is)"
_N = rf"(?P<n>{NUMBER})"
_ENDS = r"(?:just |only )?(?:the )?(?P<end>first|last|top|bottom|final)"
_LINES = r"(?:(?:all|any|every|the|each|those) )*lines?"
_THAT_HAVE = r"""(?:that |which |where )?(?:contains?|containing|with|mentions?|mentioning|has|have|
    includes?|including|
    matching|saying)"""
_UNIT = r"(?:lines?|words?|characters?|letters?|bytes?|rows?|data rows?|columns?|fields?|entries)"
_ONE_MEASURE = r"""(?:sum|total|average|mean|avg|max|maximum|min|minimum|highest|lowest|largest|smallest|
    biggest|
    greatest)"""
_MEASURE = rf"(?P<how>{_ONE_MEASURE}(?:(?:,|,? and) (?:the )?{_ONE_MEASURE})*)"
_NEW = r"(?:create|make|write|save|start|generate|set up|prepare|produce|touch|new|store|open)"
_MARKER = r"""(?:,? (?P<marker>(?:(?:that|which) (?:just |only |simply )?(?:says?|reads?)|saying|reading|
    to say|
    (?:that |which )?(?:contains?|containing|has|having|holds?|holding|includes?|including)|to contain|
    to hold|
    with(?: just| only)?|and (?:the |its )?(?:text|contents?))(?: in(?:side)? it| inside)?:?) |
    (?P<colon>:) ?)"""
_FOLLOWING = r"(?:this|these|the following)(?: (?:text|lines?|words|content|items|note))?"
_SAYING = r"(?P<says>(?:(?: that)? (?:saying|says|reads|with the text|with|reading)):?|:)"
_ORDER = r"""(?:,? (?:alphabetically|by name|numerically|
    (?:in )?(?:alphabetical|alphabetic|ascending|descending|reverse|reversed|numerical|numeric)
    (?: alphabetical| alphabetic| numerical)?(?: order)?|backwards|from a to z|from z to a|a-z|z-a|in place|
    (?:largest|smallest|highest|lowest) first))*"""
_TARGET = (
    r"(?: (?:into|to|as|in) (?P<target>(?:a new file |a file |the file |new file )?(?:called |named )?\S+))?"
)
_FORBIDDEN = r"""(?:touch|delete|remove|erase|change|modify|edit|overwrite|move|rename|open|alter|write to|
    replace|
    sort|read|create|copy|mess with|do anything (?:to|with)|
    (?:touch|delet|remov|eras|chang|modify|edit|overwrit|mov|renam|open|alter|replac|sort|read)ing)"""
_IF_THERE = r"(?: if (?:it|they|one)(?: is| are)?(?: already)? (?:exists?|there))?"
_OCCURRENCES = r"""(?: (?P<which>(?:all|every|each|only the first|the first)(?: of)?(?: the)?))?
    (?: (?:occurrences?|instances?|mentions?)(?: of)?)?"""
_FOLDER = rf"(?P<folder>{QUOTE}|[\w./-]+)"
_A_FOLDER = r"(?: me)?(?: (?:a|an|the|new|empty|another))*"

_PATTERNS: list[tuple[Builder, list[str]]] = [
    (
        writing.leave,
        [
            rf"(?:don't|do not|never|not|no need to|without)(?: ever| please)? {_FORBIDDEN} {_F}{_IF_THERE}",
            rf"""(?:leave|keep) {_F}
            (?: alone| as (?:it is|is|they are)| unchanged| untouched| intact| in place| where it is)?""",
        ],
    ),
    (
        reading.list_files,
        [
            rf"""(?:list|show|display|print|give|see|view|get|tell)(?: me)?
            (?: a list of| all| of| the| my| every| what| which)*(?: (?P<kind>\*?\.?\w+))? (?:files|
            filenames|file names)
            (?: and (?:folders|directories))?(?: (?:there are|that are|are|exist|you (?:have|see)|we have|
            i have|is|
            currently))?(?: (?:here|there|in here))?
            (?P<deep>,? (?:recursively|in all (?:sub)?folders|including subfolders|
            in (?:the )?subfolders(?: too)?))?
            {_IN}""",
            rf"""(?:list|show|find|get)(?: me)?(?: all| the)* files (?:ending (?:in|with)|
            with (?:the )?(?:extension|ending)|of type|with) (?P<ending>\*?\.\w+|\w{{1,4}})
            (?: (?:extension|ending))?{_IN}""",
            rf"""(?:what|which)(?: (?P<kind>(?!files?\b)\*?\.?\w+))? files?(?: and folders)?
            (?: are| do| is| exist| can| we| you| i| have| see| has| there| here| now)*{_IN}""",
            r"(?:ls|dir)(?: -\w+)?(?: (?P<where>\S+))?",
            rf"""(?:{_IS}|show(?: me)?(?: what is| what's)?|list(?: what is| what's)?)(?: (?:in|inside))?
            (?P<where>{_HERE})""",
            rf"""(?:{_IS}|show(?: me)?|list)(?: what is| what's)?(?: the)?(?: contents? of)?(?: in| inside)?
            (?P<where>(?:the |my )?(?:(?:folder|directory) \S+|\S+ (?:folder|directory)))""",
            rf"(?:list|show)(?: me)? (?:everything|all)(?: there is)?{_IN}",
            r"what (?:files )?(?:do|have) (?:i|we|you) (?:have|got)(?: here)?",
            rf"(?:list|{_IS} (?:in|inside)|what files are in) (?P<where>[\w-]+/?)",
        ],
    ),
    (
        reading.part,
        [
            rf"(?:{_VIEW} )?(?:me )?{_ENDS} {_N} (?:lines?|rows?|entries) (?:of|in|from) {_F}",
            rf"(?:{_VIEW} )?(?:me )?{_ENDS} (?P<one>line|row|entry) (?:of|in|from) {_F}",
            rf"(?:{_VIEW} )?(?:me )?{_ENDS} (?:few )?(?:lines|rows) (?:of|in|from) {_F}",
            rf"(?P<end>head|tail)(?: -n)? ?-?(?P<n>\d{{1,6}}) {_F}",
            rf"(?:{_VIEW} )?(?:me )?(?:the )?(?P<end>head|tail|top|bottom|end|beginning|start) of {_F}",
            rf"(?P<end>head|tail) {_F}",
        ],
    ),
    (
        reading.line_range,
        [
            rf"""(?:{_VIEW} )?(?:me )?(?:just |only )?(?:the )?lines? (?P<a>\d{{1,6}})
            (?: ?(?:to|-|and|through) ?(?P<b>\d{{1,6}}))? (?:of|in|from) {_F}"""
        ],
    ),
    (
        reading.count_text,
        [
            rf"""(?:count|tell me|find|show me)?(?: the)? ?(?:how many times|how often|
            (?:number of )?(?:times|occurrences of)|how many occurrences of)(?: does| is|
             the word)? (?P<text>.+?)
            (?: (?:appears?|occurs?|is (?:used|mentioned)|are|exist|comes? up|shows? up))?(?: there)?
            (?:in|within) {_F}""",
        ],
    ),
    (
        reading.count_files,
        [
            rf"""(?:count|how many|what is the number of|number of|tell me how many|tell me the number of|
            count how many)(?: up)?(?: all| the| of| my)*(?: (?P<kind>(?!files?\b)\*?\.?\w+))? files?
            (?: (?:are|is|do|exist|have|has|we|i|you|there|here|now|in here))*{_IN}""",
        ],
    ),
    (
        reading.count,
        [
            rf"""(?:count|how many|{_IS}|number of|tell me|show me|get|give me|find|report|print|calculate|
            compute)
            (?: out| up)?(?: (?:how many|the number of|number of|all|the|of|total))*
            (?P<what>{_UNIT}(?:(?:,|,? and) (?:the )?{_UNIT})*)(?: count)?(?: (?:are|
            is))?(?: there)?(?: (?:in|of|inside|from|does|do|for|has|have))? {_F}
            (?: (?:have|has|contains?|there|got|hold))?""",
            rf"(?P<what>word|line|character|byte|row) count (?:of|for|in) {_F}",
            rf"wc -(?P<what>[lwcm]) {_F}",
            rf"how (?P<what>big|large|long) is {_F}",
            rf"(?:{_IS} )?(?:the )?(?P<what>size|length) of {_F}",
            rf"""(?:count|how many|tell me how many|show me how many) (?:the )?(?P<what>{_UNIT})
            (?: (?:there are|are there|it has|does it have|in total))?""",
            rf"""(?:what|which) (?P<what>columns?|headers?|fields?) (?:does|do|are in|are there in|is in) {_F}
            (?: have| has| contain)?""",
            rf"""(?:show|list|name|tell|print|give)(?: me)? (?:the |all )*(?P<what>columns?|headers?|fields?)
            (?: names?)? (?:of|in|from) {_F}""",
        ],
    ),
    (
        reading.column,
        [
            rf"""(?:(?:{_IS}|calculate|compute|get|find|show|give|tell|work out|determine|reckon|
            report)(?: me)? )?(?:the |overall )*{_MEASURE}(?: (?:value|number|amount))?(?: (?:of|in|for|
            from))?
            (?P<col>.+?)
            (?:in|of|from)(?: the)? (?P<files>\S+|it|(?:that |this |the )?file(?: \S+)?)""",
            rf"""(?:(?:{_IS}|calculate|compute|get|find|show|give|
            tell)(?: me)? )?(?:the )?{_MEASURE}(?: value)?
            (?: of| in)? (?P<col>[^.]+)""",
            r"(?P<how>add up|sum|total)(?: up)? (?P<col>.+?) (?:in|of|from) (?:the )?(?P<files>.+)",
        ],
    ),
    (
        reading.find,
        [
            rf"""(?:{_VIEW}|find|search for|search|look for|list|grep)(?: me)?(?: (?:all|any|every|the|each))*
            (?:lines?|places?|rows?|entries) {_THAT_HAVE} (?P<text>.+) (?:in|of|from|inside) (?P<files>.+)""",
            r"(?:search|grep|look|scan)(?: in| inside| through)? (?P<files>.+?) for (?P<text>.+)",
            rf"""(?P<which>which|what|in which|find|list|show(?: me)?|find all|search for)(?: the| all|
             me)* files?
            (?:{_THAT_HAVE} )+(?P<text>.+)""",
            r"""(?:find|search for|search|look for|look up|grep for|grep|locate|where is|where's|where does|
            where do)
            (?: me)?(?: (?:all|any|every|the|each|occurrences? of|mentions? of|where))* (?P<text>.+?)
            (?: (?:appears?|occurs?|is|mentioned|is mentioned|used|found|comes up|stand))?
            (?:in|inside|within|across|from|through) (?P<files>.+)""",
            r"grep (?:-\w+ )?(?P<text>\S+) (?P<files>\S+)",
            r"(?:does|do) (?P<files>.+?) (?:contain|mention|include|have) (?P<text>.+)",
            r"is (?P<text>.+?)(?: mentioned| contained| listed)? (?:in|inside) (?P<files>.+)",
        ],
    ),
    (
        reading.find_anything,
        [
            r"where (?:does|is) (?P<text>.+?) (?:appear|occur|mentioned|used)",
            r"(?:find|search for|search|look for|grep for|grep|locate|where is|where's) (?P<text>.+)",
        ],
    ),
    (
        reading.exists,
        [
            r"(?:is there|do (?:we|i|you) have) (?P<files>(?:a |the )?(?:file )?.+?)(?: here)?",
            rf"""(?:check (?:if|whether|that)|see if|tell me (?:if|whether)) (?:there is )?{_F}
            (?: (?:exists?|is (?:here|there)))?""",
            rf"(?:does|is) {_F}(?: (?:exist|here|there|already there|present))",
        ],
    ),
    (
        reading.show,
        [
            rf"""(?:{_VIEW}|echo)(?: me)?(?: (?:all|what is|what's|the (?:full |whole |entire )?(?:contents?|
            text)|
            contents?|of|inside|in|out|back|up|is))* {_F}(?:'s (?:contents?|text))?
            (?: (?:to me|out loud|out|again|back|back to me|on screen|here|for me|now|contents?))*""",
            rf"(?:{_IS}|what) (?:in|inside|written in|the (?:contents?|text) of) {_F}(?: now)?",
            rf"what (?:does|do) {_F} (?:say|contain|look like|have in it|read|have inside|hold)(?: now)?",
            rf"{_VIEW}(?: me)? what {_F} (?:says|contains|looks like)(?: now)?",
        ],
    ),
    (
        writing.make_folder,
        [
            rf"""(?:make|create|add|set up|new|start){_A_FOLDER} (?:folder|directory|dir|subfolder)
            (?: (?:called|named|with the name|with name))?:? {_FOLDER}""",
            rf"(?:make|create|add|new){_A_FOLDER} {_FOLDER} (?:folder|directory|subfolder)",
            rf"mkdir(?: -p)? {_FOLDER}",
        ],
    ),
    (
        writing.unique,
        [
            rf"""(?:remove|delete|drop|get rid of|eliminate|strip|clean)(?: out| up)?(?: (?:all|any|the|
            every|exact))*
            (?:duplicates?|duplicated|repeated|repeating|double|doubled)
            (?: (?:lines?|entries|rows?|items|ones|names|words))?(?: (?:from|in|of) {_F}{_TARGET})?""",
            rf"""(?:dedupe|deduplicate|de-duplicate|uniq)(?: (?:the|all))*(?: (?:lines?|entries))?(?: (?:in|
            of|from))?
            {_F}{_TARGET}""",
            rf"(?:make|keep)(?: (?:the|only|all|just))* unique lines (?:in|of) {_F}",
            rf"make(?: (?:the|all))* lines (?:in|of) {_F} unique",
        ],
    ),
    (
        writing.drop_lines,
        [rf"(?:delete|remove|drop|erase) {_LINES} {_THAT_HAVE} (?P<text>.+) (?:from|in|of) {_F}"],
    ),
    (
        writing.drop_line,
        [
            rf"(?:delete|remove|drop|erase) (?:the )?(?P<place>first|last) line (?:from|in|of) {_F}",
            rf"""(?:delete|remove|drop|erase) (?:the )?line (?:number )?(?P<place>\d{{1,6}}) (?:from|in|
            of) {_F}""",
        ],
    ),
    (
        writing.sort,
        [
            rf"""(?:sort|order|alphabeti[sz]e|arrange)
            (?: (?:the|all|lines?|contents?|items|entries|names|words|list|numbers|of|in|from|rows))*
            {_F}{_ORDER}{_TARGET}{_ORDER}""",
            rf"""(?:put|arrange)(?: the)? (?:lines?|items|names|entries) (?:of|in) {_F} (?:in|into)
            (?: (?:alphabetical|ascending|descending|reverse|numerical|sorted))+ order{_TARGET}""",
        ],
    ),
    (
        writing.overwrite,
        [
            rf"""(?:overwrite|(?:overwrite|replace)(?: the| all| whole| entire)* contents? (?:of|in)) {_F}
            (?P<marker>with|by|so that it says|to say):? (?P<text>.+)""",
            rf"(?:change|set)(?: the)? (?:contents?|text) (?:of|in) {_F} (?P<marker>to):? (?P<text>.+)",
            rf"overwrite {_F}(?P<marker>:) ?(?P<text>.+)",
        ],
    ),
    (
        writing.replace_text,
        [
            rf"""substitute{_OCCURRENCES} (?P<new>.+?) for (?P<old>.+?) (?:in|inside|within|
            throughout) (?P<files>.+)""",
            rf"""(?:replace|change|substitute|swap){_OCCURRENCES} (?P<old>.+?) (?:with|by|to|into|
            for) (?P<new>.+)
            (?:in|inside|within|throughout|everywhere in|across) (?P<files>.+)""",
            rf"""(?:replace|change|substitute|swap){_OCCURRENCES} (?P<old>.+?) in (?P<files>.+?)
            (?:with|by|to|into|for) (?P<new>.+)""",
            rf"(?:replace|substitute|swap){_OCCURRENCES} (?P<old>.+?) (?:with|by|for) (?P<new>.+)",
        ],
    ),
    (
        writing.save,
        [
            r"""(?P<verb>save|write|put|store|record|append|add|output|keep)(?: down)? (?:it|this|that|them)
            (?: all| down)? (?:to|in|into|as|under)(?: the (?:end|bottom) of)? (?P<files>.+)""",
            r"""(?P<verb>save|write|put|store|record|append|add|output)(?: down)?(?: only| just)?
            (?:the|their|his|her|its|that|this) (?P<field>[\w ]{1,40}?)(?: of (?:it|that))? (?:to|in|into|as)
            (?: the (?:end|bottom) of)? (?P<files>.+)""",
        ],
    ),
    (
        writing.append,
        [
            rf"""(?:append|add|insert) {_FOLLOWING} (?:to|in|into)(?: the (?:end|
            bottom) of)? {_F}: ?(?P<text>.+)""",
            rf"""(?:append|add|insert|write|put)(?: (?:the|these|following|new|{NUMBER}))* (?P<several>lines|
            items|entries|
            tasks|words|names) (?:to|in|into)(?: the (?:end|bottom) of)? {_F}(?P<says>:) ?(?P<text>.+)""",
            rf"(?:at|to|in) (?:the (?:end|bottom) of )?{_F},? (?:append|add|insert) (?P<text>.+)",
            rf"""(?:append|add|insert|write|put)(?: me)? (?:a |another |one more |a new |the )?(?:line|item|
            entry|task|text|row) (?:to|in|into)(?: the (?:end|bottom) of)? {_F}{_SAYING} (?P<text>.+)""",
            rf"""(?:append|add|insert|write|put|prepend) (?P<text>.+)
            (?P<top>(?:to|at|on|as) the (?:very )?(?:top|beginning|start|front|first line)) (?:of|in) {_F}""",
            rf"prepend (?P<text>.+) (?P<top>to) {_F}",
            rf"""(?:append|add|insert|write|put)(?: (?:a|another) line)? (?P<text>.+)
            (?:to|at|on|as) the (?:very )?(?:end|bottom|last line) (?:of|in) {_F}""",
            rf"(?:append|add) (?P<text>.+) (?:to|onto|into|in|on) {_F}",
            rf"(?:append|add) to {_F}(?:,|:)? (?P<text>.+)",
        ],
    ),
    (
        writing.copy,
        [
            r"""(?:copy|duplicate|cp|make a (?:copy|duplicate|backup) of|create a (?:copy|duplicate|
            backup) of|back up|
            backup|clone)(?: the contents? of)? (?P<src>.+?)
            (?P<sep>to|as|into|in|under|onto|called|named|inside|and (?:call|name) it|with the name)
            (?: a (?:new )?file(?: called| named)?)? (?P<dst>.+)""",
            r"cp (?P<src>\S+) (?P<dst>\S+)",
            r"copy (?P<src>.+?) (?P<dst>there)",
        ],
    ),
    (writing.put, [r"put (?P<src>.+?) (?P<sep>into|in|inside) (?P<dst>.+)"]),
    (
        writing.move,
        [
            r"""(?:move|rename|mv|change the name of|relocate)(?: the file)? (?P<src>.+?)
            (?P<sep>to|as|into|in|inside|under)(?: be(?: called)?)? (?P<dst>.+)""",
            r"mv (?P<src>\S+) (?P<dst>\S+)",
            r"move (?P<src>.+?) (?P<dst>there)",
        ],
    ),
    (writing.ask_where, [rf"(?:copy|duplicate|back up|backup|clone|move|rename) {_F}"]),
    (
        writing.delete,
        [
            rf"""(?:delete|remove|erase|rm|trash|get rid of|throw away|unlink)(?: -\w+)* {_F}
            (?: (?:from (?:the|my) (?:folder|workspace|disk|directory)|permanently|again|now))?"""
        ],
    ),
    (writing.cut_out, [rf"(?:delete|remove|erase|take|cut) (?P<text>.+) (?:from|out of) {_F}"]),
    (
        writing.create,
        [
            rf"(?:{_NEW}|put|enter) {_FOLLOWING} (?:to|in|into|as) {_F}(?P<marker>:) ?(?P<text>.+)",
            rf"(?:{_NEW}|put) (?P<head>[^:]+) (?:in|into|to) {_F}: ?(?P<text>.+)",
            rf"""{_NEW}(?: me)? an? (?:\w+ )?(?:file|note|document)(?: for me)?{_MARKER}(?P<text>.+),?
            (?:in|to|as|under|inside|called|named|with the name|and (?:call|name|
            save) it(?: as)?) (?P<files>.+)""",
            rf"{_NEW} (?:me )?(?:in ?to |to |in )?{_F}{_MARKER}(?P<text>.+)",
            rf"(?P<files>an? (?:new )?(?:\w+ )?file .+?){_MARKER}(?P<text>.+)",
            rf"{_NEW}(?: me)?(?: (?:a|an|the|new|empty|blank))* {_F}",
            rf"{_NEW}(?: me)? {_F} (?P<text>{QUOTE})",
            rf"{_NEW} (?:in)?to {_F},? (?P<text>.+)",
            rf"""(?:{_NEW}|put|enter|type|jot)(?: down)? (?P<text>.+)
            (?:to|into|as|in a (?:new )?file (?:called|named)|to a (?:new )?file (?:called|named)) {_F}""",
            rf"(?:{_NEW}|put|enter|type|jot)(?: down)? (?P<text>.+) (?:in|inside|called|named|under) {_F}",
        ],
    ),
]
