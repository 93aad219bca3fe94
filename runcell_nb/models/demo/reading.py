"""Commands that read: from the parts of a command to what is done."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from . import columns, reads
from .scene import ALL_FILES, Scene, Step
from .slots import Name, Refusal, number
from .work import Said, Work
from .writing import moved

_ENDINGS = {
    "text": "txt",
    "python": "py",
    "markdown": "md",
    "yaml": "yml",
    "javascript": "js",
    "image": "png",
    "excel": "xlsx",
}


def list_files(match: re.Match[str], scene: Scene) -> Step | None:
    """List a folder, or files by their ending."""
    groups = match.groupdict()
    folder = scene.folder_named(groups.get("where"))
    kind = (groups.get("kind") or groups.get("ending") or "").lower().lstrip("*.")
    if folder is None or (kind and not re.fullmatch(r"\w{1,10}", kind)):
        return None
    if kind:
        return Step(lambda _: reads.matching(f"**/*.{_ENDINGS.get(kind, kind)}", folder), tells=True)
    if groups.get("deep"):
        return Step(lambda _: reads.matching("**/*", folder), tells=True)
    return Step(lambda _: reads.listing(folder), tells=True)


_OUTCOME = re.compile(r"(?:me )?the (?:results?|output|outcome|sorted file|new content)", re.I)


def show(match: re.Match[str], scene: Scene) -> Step | None:
    """Show files."""
    found = scene.names("it" if scene.it and _OUTCOME.fullmatch(match["files"]) else match["files"])
    if not found:
        return None
    plain_verb = re.match(r"(?:show|read|print|cat|display|open|view)\b", match[0], re.I)
    if not plain_verb and not all(name.sure for name in found):
        return None
    step = each(found, reads.show)
    if len(found) > 1:
        return step
    # what is shown may be cut, so that saving it means a copy of the file
    return replace(step, into=lambda path: moved(found[0], path, False, False, False))


def each(found: Sequence[Name], *actions: Callable[[Name], Work]) -> Step:
    """Do the same with several files, one after the other."""

    def work(_: Said) -> Work:
        said = []
        for name, action in product(found, actions):
            said.append((yield from action(name)))
        return Said("\n".join(one.text for one in said), "\n".join(one.value for one in said))

    return Step(work, named=tuple(name.path for name in found), tells=True)


def part(match: re.Match[str], scene: Scene) -> Step | None:
    """Show the first or last lines of files."""
    found = scene.names(match["files"])
    if not found:
        return None
    groups = match.groupdict()
    one = bool(groups.get("one"))
    wanted = number(groups.get("n"), 1 if one else 10)
    last = match["end"].lower() in {"last", "bottom", "final", "tail", "end"}
    command = f"{'tail' if last else 'head'} -n {wanted}"
    what = f"{'last' if last else 'first'} {'line' if wanted == 1 else f'{wanted} lines'}"
    return each(found, lambda name: reads.part(name, command, what))


def line_range(match: re.Match[str], scene: Scene) -> Step | None:
    """Show lines by their numbers."""
    found = scene.names(match["files"])
    if not found:
        return None
    first, last = int(match["a"]), int(match["b"] or match["a"])
    what = f"line {first}" if first == last else f"lines {first} to {last}"
    return each(found, lambda name: reads.part(name, f"sed -n '{first},{last}p'", what))


_UNITS = {
    "letter": "character",
    "data row": "row",
    "entrie": "line",
    "entry": "line",
    "l": "line",
    "w": "word",
    "m": "character",
    "c": "byte",
    "big": "byte",
    "large": "byte",
    "size": "byte",
    "long": "line",
    "length": "line",
}


def count(match: re.Match[str], scene: Scene) -> Step | None:
    """Count lines, rows, words or characters of files; of columns tell the names."""
    units = [_UNITS.get(unit, unit) for unit in (word.rstrip("s") for word in _units(match["what"]))]
    where = match.groupdict().get("files") or "it"
    if re.fullmatch(r"(?:all )?(?:the |my )?files|(?:each|every) file", where, re.I):
        raise Refusal("I count in files that are named; list the files first")
    found = scene.names(where)
    if not found:
        return None
    if {"column", "field", "header"} & set(units):
        return each(found, columns.columns)

    def counted(name: Name, unit: str) -> Work:
        return reads.count(name, "line" if unit == "row" and not columns.is_table(name.path) else unit)

    return each(found, *(partial(counted, unit=unit) for unit in units))


def _units(text: str) -> list[str]:
    return re.sub(r",? and (?:the )?|, ?", ",", text.lower()).split(",")


def count_text(match: re.Match[str], scene: Scene) -> Step | None:
    """Count how often a text occurs in files."""
    found, text = scene.names(match["files"]), scene.sought(match["text"])
    return each(found, lambda name: reads.count_text(name, text)) if found else None


def count_files(match: re.Match[str], scene: Scene) -> Step | None:
    """Count files."""
    folder, kind = scene.folder_named(match["where"]), (match["kind"] or "").lower().lstrip("*.")
    if folder is None:
        return None
    return Step(lambda _: reads.count_files(folder, _ENDINGS.get(kind, kind)), tells=True)


def find(match: re.Match[str], scene: Scene) -> Step | None:
    """Find a text in files that are named, or in all."""
    text, where = scene.sought(match["text"]), match.groupdict().get("files")
    if not text or "\n" in text:
        return None
    if where is None or re.fullmatch(ALL_FILES, where.strip(), re.I):
        only_names = bool(match.groupdict().get("which"))
        return Step(lambda _: reads.find_text(text, None, only_names), tells=True)
    found = scene.names(where)
    if not found:
        return None
    return replace(each(found, lambda name: reads.find_text(text, name, False)), sought=text)


def find_anything(match: re.Match[str], scene: Scene) -> Step | None:
    """Find a file by its name, or one word or quoted text in all files."""
    text = match["text"]
    found = scene.names(text) if re.search(r"\.[A-Za-z]\w{0,5}$", scene.quotes.plain(text)) else None
    if found:
        return _exists(found[0])
    one_thing = scene.quotes.whole(text) is not None or " " not in scene.sought(text)
    return find(match, scene) if one_thing else None


def exists(match: re.Match[str], scene: Scene) -> Step | None:
    """Tell whether a file is there."""
    found = scene.names(match["files"])
    return _exists(found[0]) if found and len(found) == 1 else None


def _exists(name: Name) -> Step:
    return Step(lambda _: reads.exists(name.path), named=(name.path,), tells=True)


_MEASURE_WORDS = {
    "sum": "sum", "total": "sum", "add": "sum", "average": "average", "mean": "average", "avg": "average",
    "max": "maximum", "maximum": "maximum", "highest": "maximum", "largest": "maximum", "biggest": "maximum",
    "greatest": "maximum", "min": "minimum", "minimum": "minimum", "lowest": "minimum", "smallest": "minimum",
}  # fmt: skip


def column(match: re.Match[str], scene: Scene) -> Step | None:
    """Reckon with a column of a CSV file."""
    measures = [_MEASURE_WORDS[word.split()[0]] for word in _units(match["how"])]
    bare = re.sub(
        r"^(?:(?:the|all|column|values?|numbers?|of|in|for|up|from) )+|(?: (?:column|values?|numbers?))+$",
        "",
        match["col"].strip(),
        flags=re.I,
    )
    wanted = scene.quotes.plain(bare)
    if not wanted or re.search(r"\b(?:by|per|where|for|each|and|lines?|words?|files?)\b", bare, re.I):
        return None
    where = match.groupdict().get("files")
    if where is None and not scene.it:
        return Step(lambda _: columns.column_of_the_table(wanted, measures[0]), tells=True)
    found = scene.names(where or "it")
    return (
        each(found, *(partial(columns.column, wanted=wanted, measure=one) for one in measures))
        if found
        else None
    )
