"""The kinds of rows in the table: each makes a step of a match, or None when a part is something else."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from . import steps
from .commands import QUOTE
from .phrases import FOLDER, IT, MEASURES, NUMBER, ROLE, Name, Scene, Stop, number
from .steps import Step, Work
from .texts import content, items, one_per_line

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


def look(do: Callable[..., Work], match: Match, scene: Scene) -> Step | None:
    """Read each of some files; "it" is the likeliest one."""
    given, phrase = _given(match, scene), match.groupdict().get("files") or "it"
    found = scene.names(phrase)[: 1 if re.fullmatch(IT, phrase, re.I) else None]
    if not found:
        return None
    lines = re.match("show|what|tell (?:contents|in|of|text)|.* line", match[0], re.I) is not None
    named = tuple(name.path for name in found)
    return Step(lambda _: steps.each(found, partial(do, **given)), named, looks=True, lines=lines)


def ones(do: Callable[..., Work], match: Match, scene: Scene) -> Step | None:
    """Read "the first one" as a line, after a command about the lines of one file."""
    return look(do, match, scene) if scene.lines and len(scene.it) == 1 else None


def change(do: Callable[..., Work], match: Match, scene: Scene) -> Step | None:
    """Change exactly one file, or make a new one of it."""
    given, name = _given(match, scene), scene.one(match.groupdict().get("files") or "it")
    path = given.get("target", name.path)
    return Step(lambda _: do(name, **given), (path,), (path,), open_end=_open_end(match, scene))


def place(do: Callable[..., Work], match: Match, scene: Scene) -> Step | None:
    """Do what is about no file by its name."""
    given = _given(match, scene)
    return Step(lambda _: do(**given), folder=given.get("path", ""), looks="path" not in given)


def refuse(reason: str, match: Match, scene: Scene) -> Step | None:
    """Understand it and do nothing."""
    raise Stop(reason)


def leave(_: None, match: Match, scene: Scene) -> Step | None:
    """Note which files are to stay as they are."""
    phrase = match["kept"]
    known = scene.it or not re.fullmatch(IT, phrase, re.I)
    spared = tuple(name.path for name in scene.names(phrase.replace(" or ", " and "))) if known else ()
    left = scene.quotes.expand(phrase)
    return Step(lambda _: steps.leave(left), spared, spares=spared or ("*",), looks=True)


def create(_: None, match: Match, scene: Scene) -> Step | None:
    """Write a file with the text that the command gives, or an empty one."""
    name, groups = scene.one(match["files"]), match.groupdict()
    over, text, given = match[0].startswith(("overwrite", "replace")), groups.get("text"), ""
    if not name.sure or (re.fullmatch(IT, match["files"], re.I) and not over):
        return None
    if text:
        literal = groups.get("colon") or re.search("say|read|exactly|:", groups.get("with") or "", re.I)
        text = re.sub(" (?:in|inside) it$", "", text, flags=re.I)
        whole = f"{groups['head']}: {text}" if groups.get("head") else text
        given = content(whole, bool(literal), scene.quotes)
        if groups.get("with") and not literal and re.search(r"\.(?:md|txt)$|list", name.path, re.I):
            given = one_per_line(given) if QUOTE[0] not in text else given
    elif scene.later and "empty" not in match[0].lower():
        raise Stop(f"I cannot make up what goes into {name.path}; say its text, or that it is to be empty")
    there = groups.get("there")
    path = (f"{scene.folder_there(there)}/{name.path}" if there else name.path,)
    work = partial(steps.create, path[0], given, over)
    return Step(lambda _: work(), path, path if over else (), open_end=_open_end(match, scene))


def delete(_: None, match: Match, scene: Scene) -> Step | None:
    """Delete files that are named one by one."""
    phrase = match["files"]
    phrase = f"the {phrase}" if re.fullmatch(ROLE, f"the {phrase}", re.I) else phrase
    found = (scene.one(phrase),) if re.fullmatch(IT, phrase, re.I) else scene.names(phrase)
    paths = tuple(name.path for name in found)
    return Step(lambda _: steps.delete(found), paths, paths)


def transfer(_: None, match: Match, scene: Scene) -> Step | None:
    """Copy or move one file; what it is put into has to be a folder."""
    name, move, phrase = scene.one(match["files"]), match[0].startswith(("move", "place")), match["to"]
    there = re.fullmatch("it|there|(?:that|the|this) (?:new )?folder", phrase, re.I)
    into = bool(there or match[0].startswith("place") or re.fullmatch(FOLDER, phrase, re.I))
    target = scene.folder_path(phrase) if into and not there else ""
    target = target or (scene.folder_there(phrase) if there else scene.one(phrase).path)
    made = f"{target}/{name.path.rsplit('/', 1)[-1]}" if into else target
    # "a new folder old", "a folder called old": the folder is made
    new = not there and re.search(r"\bnew |^a .*(?:called|named) ", phrase, re.I) is not None
    work = partial(steps.transfer, name, made if new else target, move, into and not new)
    if move:
        return Step(lambda _: work(), (made,), (name.path,))
    return Step(lambda _: work(), (made, name.path), copied=(name.path, made))


def save(_: None, match: Match, scene: Scene) -> Step | None:
    """Write down what the command before found out."""
    name, add = scene.one(match["files"]), match[0].startswith("add")
    if not name.sure or name.path in scene.it or not (scene.later or scene.it):
        return None
    it = Name(scene.it[0]) if len(scene.it) == 1 else None
    return Step(lambda said: steps.save(said, name, add, it), (name.path,), (name.path,) if add else ())
