"""Commands that write: from the parts of a command to what is done.

The caution lives here: a command that changes a file needs its plain name, "it" has to be one file, and
text that nobody gave is never written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from . import columns, writes
from .commands import QUOTE
from .content import content, items
from .host import save_value
from .scene import ALL_FILES, Scene, Step
from .slots import Name, Refusal, is_one, listed, safe_path
from .work import Said, Work

_LITERAL = re.compile(r"say|read|text|content|:|line|message|word|phrase|sentence", re.I)


def create(match: re.Match[str], scene: Scene) -> Step | None:
    """Write a new file, or several empty ones."""
    phrase, text = match["files"], match.groupdict().get("text")
    if is_one(phrase) and not scene.it:
        return None
    if text:
        head = match.groupdict().get("head")
        text = f"{head}: {text}" if head else text
        text = re.sub(r" (?:in|inside) (?:it|the file)$", "", text, flags=re.I)
        name = scene.one(phrase, "write")
        marker = match.groupdict().get("marker") or ""
        return None if name is None or not name.sure else _written(name.path, text, marker, scene)
    found = scene.names(phrase)
    if not found or not all(name.sure for name in found):
        return None
    if scene.composing and not re.search(r"\b(?:empty|blank|touch)\b", match[0], re.I):
        raise Refusal(
            f"I cannot make up what goes into {found[0].path}; say its text, or that it is to be empty"
        )
    return _empty(found)


def _written(path: str, text: str, marker: str, scene: Scene) -> Step:
    header = re.fullmatch(
        r"(?:the )?(?:columns?|headers?|header row)(?: names?| row)?:? (?P<names>.+)", text.strip(), re.I
    )
    if header and columns.is_table(path):
        given = ",".join(items(header["names"], scene.quotes))
    else:
        given = content(text, bool(_LITERAL.search(marker)), scene.quotes)
    over = scene.overwrite
    return Step(
        lambda _: writes.create(path, given, over),
        named=(path,),
        changes=(path,) if over else (),
        instead=scene.last is not None and scene.last.empty == path,
    )


def _empty(found: Sequence[Name]) -> Step:
    def work(_: Said) -> Work:
        said = []
        for name in found:
            said.append((yield from writes.create(name.path, "", False)).text)
        return Said("\n".join(said))

    paths = tuple(name.path for name in found)
    return Step(work, named=paths, empty=paths[0] if len(paths) == 1 else None)


def overwrite(match: re.Match[str], scene: Scene) -> Step | None:
    """Replace the whole content of a file."""
    scene.overwrite = True
    return create(match, scene)


def append(match: re.Match[str], scene: Scene) -> Step | None:
    """Add lines at the end, or at the top, of a file."""
    name = scene.one(re.sub(r"^(?:the )?(?:list|file) (?:in|of) ", "", match["files"], flags=re.I), "add to")
    if name is None:
        return None
    given = re.sub(
        r"^(?:(?:a|an|another|one more|the|new|this|following) )*(?:line|item|entry|task|row)"
        r"(?: (?:saying|that says|with the text|with|of|reading))?:? ",
        "",
        match["text"],
        count=1,
        flags=re.I,
    )
    groups = match.groupdict()
    if groups.get("several"):
        text = "\n".join(items(given, scene.quotes))
    else:
        literal = given != match["text"] or bool(groups.get("says"))
        text = content(given, literal, scene.quotes).removesuffix("\n")
    as_item = scene.quotes.whole(given) is None and not re.match(r"[-*#]|\d+[.)] ", given)
    if groups.get("top"):
        return Step(lambda _: writes.prepend(name, text), named=(name.path,), changes=(name.path,))
    return Step(lambda _: writes.append(name, text, as_item), named=(name.path,), changes=(name.path,))


_RESULT = re.compile(
    r"(?:results?|answers?|outputs?|numbers?|total|count|sum|average|mean|maximum|minimum|value|list|lines|names|"
    r"listing|reply|response|matches|record|data|info|information|details)",
    re.I,
)


def save(match: re.Match[str], scene: Scene) -> Step | None:
    """Save what the command before found out, or let it write into a new file instead."""
    before, name = scene.last, scene.one(match["files"], "write")
    adding, field = match["verb"].lower() in {"append", "add"}, match.groupdict().get("field")
    if name is None or not name.sure or name.path in scene.it:
        return None
    wanted = None if field is None or _RESULT.fullmatch(field) else field
    if before is not None and before.into is not None and not wanted and not adding and not scene.overwrite:
        return before.into(name.path)
    if before is None or not before.tells:
        return _copied(name, scene) if not field and not adding and len(scene.it) == 1 else None
    path, over = name.path, scene.overwrite
    return Step(
        lambda said: save_value(said, wanted, path, adding, over),
        named=(path,),
        changes=(path,) if over or adding else (),
    )


def _copied(name: Name, scene: Scene) -> Step:
    return moved(Name(scene.it[0]), name.path, False, False, scene.overwrite)


def replace_text(match: re.Match[str], scene: Scene) -> Step | None:
    """Replace a text in a file."""
    where, which = match.groupdict().get("files"), match["which"] or ""
    if where is not None and re.fullmatch(ALL_FILES, where.strip(), re.I):
        raise Refusal("I replace text in one named file at a time")
    place = r"(?:the )?(?:(?:first|last|second|third|\d+(?:st|nd|rd|th)) )?lines?\b|(?:the )?contents?\b"
    if re.match(place, match["old"], re.I):
        return None
    if where is None and not scene.it:
        raise Refusal("Say in which file")
    name = scene.one(where or "it", "change")
    old, new = _meant(match["old"], scene), scene.sought(match["new"])
    if name is None or not old:
        return None
    if match["new"].lower() in {"nothing", "an empty string"}:
        new = ""
    every = not re.match(r"(?:only )?the first", which, re.I)
    return Step(lambda _: writes.replace(name, old, new, every), named=(name.path,), changes=(name.path,))


def _meant(text: str, scene: Scene) -> str:
    """Return the text to replace; "it" is the one that was just looked for."""
    if not re.fullmatch(r"it|this|that|them|the word|the text", text, re.I):
        return scene.sought(text)
    if scene.last is None or scene.last.sought is None:
        raise Refusal("Say which text to replace")
    return scene.last.sought


def copy(match: re.Match[str], scene: Scene) -> Step | None:
    """Copy a file."""
    return _transferred(match, scene, move=False)


def move(match: re.Match[str], scene: Scene) -> Step | None:
    """Move or rename a file."""
    return _transferred(match, scene, move=True)


def ask_where(match: re.Match[str], scene: Scene) -> Step | None:
    """Ask for the new name of a file."""
    if not scene.names(match["files"]):
        return None
    raise Refusal("Say the new name or folder as well")


def put(match: re.Match[str], scene: Scene) -> Step | None:
    """Move a file into a folder, where both are plain; elsewhere "put" writes a text."""
    folder = re.search(r"\b(?:folder|directory|there)\b|^it$|/$", match["dst"].strip(), re.I)
    file = re.fullmatch(r"(?:it|(?:the |that )?(?:file )?[\w./-]+\.[A-Za-z]\w{0,5})", match["src"], re.I)
    return _transferred(match, scene, move=True) if folder and file else None


def _transferred(match: re.Match[str], scene: Scene, move: bool) -> Step | None:
    name = scene.one(match["src"], "move" if move else "copy")
    if name is None:
        return None
    phrase, over = match["dst"].strip(), scene.overwrite
    if re.fullmatch(r"(?:it|there|(?:that|the|the new|this) folder)", phrase, re.I):
        if scene.folder is None:
            raise Refusal(f"I do not know which folder {phrase!r} is; please name it")
        return moved(name, scene.folder, move, True, over)
    if re.search(r"\b(?:folder|directory|dir)\b|/$", phrase, re.I):
        folder = scene.folder_named(phrase)
        if folder is None:
            return None
        step = moved(name, folder, move, True, over)
        return (
            _in_a_new_folder(step, folder)
            if re.search(r"\bnew (?:folder|directory)\b", phrase, re.I)
            else step
        )
    target = scene.one(phrase, "write")
    if target is None:
        return None
    preposition = (match.groupdict().get("sep") or "").lower()
    into = preposition in {"into", "in", "inside"} and not re.search(r"\.\w+$", target.path)
    return moved(name, target.path, move, into, over)


def moved(name: Name, target: str, move: bool, into: bool, over: bool) -> Step:
    """Copy or move a file, into the folder `target` or to that name."""
    result = f"{target}/{name.path.rsplit('/', 1)[-1]}" if into else target
    changes = ((name.path,) if move else ()) + ((result,) if over else ())
    named = (result,) if move else (result, name.path)
    return Step(lambda _: writes.transfer(name, target, move, into, over), named=named, changes=changes)


def _in_a_new_folder(step: Step, folder: str) -> Step:
    def work(said: Said) -> Work:
        made = yield from writes.make_folder(folder)
        done = yield from step.work(said)
        return Said(f"{made.text}\n{done.text}")

    return replace(step, work=work, folder=folder)


def delete(match: re.Match[str], scene: Scene) -> Step | None:
    """Delete files that are named one by one, or an empty folder."""
    phrase, kind = match["files"], "(?:folder|directory|dir)"
    folder = re.fullmatch(
        rf"(?:the |my )?(?:empty )?(?:{kind}(?: called| named)? (?P<a>{QUOTE}|\S+)|"
        rf"(?P<b>{QUOTE}|\S+) {kind})",
        phrase,
        re.I,
    )
    if folder:
        path = safe_path(scene.quotes.plain(folder["a"] or folder["b"]).rstrip("/"))
        return Step(lambda _: writes.remove_folder(path), changes=(path,))
    found = scene.deletable(phrase)
    if found is None:
        if re.search(r"[*?]|\b(?:everything|all|every|anything|files|folders|contents?)\b", phrase, re.I):
            raise Refusal("I delete only files that are named one by one")
        return None
    paths = tuple(name.path for name in found)
    return Step(lambda _: writes.delete(found), named=paths, changes=paths)


def drop_lines(match: re.Match[str], scene: Scene) -> Step | None:
    """Remove the lines of a file that contain a text."""
    name, text = scene.one(match["files"], "change"), scene.sought(match["text"])
    if name is None or not text or "\n" in text:
        return None
    return Step(lambda _: writes.drop_lines(name, text), named=(name.path,), changes=(name.path,))


def drop_line(match: re.Match[str], scene: Scene) -> Step | None:
    """Remove one line of a file by its place."""
    name, place = scene.one(match["files"], "change"), match["place"].lower()
    if name is None:
        return None
    return Step(lambda _: writes.drop_line(name, place), named=(name.path,), changes=(name.path,))


def cut_out(match: re.Match[str], scene: Scene) -> Step | None:
    """Ask back: "remove milk from todo.txt" may mean the word or the whole line."""
    name = scene.one(match["files"], "change")
    if name is None:
        return None
    text = scene.quotes.expand(match["text"])
    raise Refusal(
        f'Say "delete the lines with {text} from {name.path}" or "replace {text} with nothing in {name.path}"'
    )


def make_folder(match: re.Match[str], scene: Scene) -> Step | None:
    """Make a folder."""
    path = scene.quotes.plain(match["folder"]).rstrip("/")
    if not path or path.lower() in {"a", "the", "called", "named", "new"}:
        return None
    path = safe_path(path)
    return Step(lambda _: writes.make_folder(path), folder=path)


def sort(match: re.Match[str], scene: Scene) -> Step | None:
    """Sort the lines of a file."""
    words = match[0].lower()
    flags = "-n" if re.search(r"\bnumbers?\b|numeric|\bsize\b", words) else "-f"
    if re.search(r"revers|descend|backward|z to a|z-a|largest first|highest first", words):
        flags += "r"
    step = _rewritten(match, scene, partial(writes.sort_lines, flags=flags))
    if step is not None and any(columns.is_table(path) for path in step.named or ()):
        raise Refusal("A CSV file has a header; I sort only plain lines")
    return step


def unique(match: re.Match[str], scene: Scene) -> Step | None:
    """Remove duplicate lines of a file."""
    return _rewritten(match, scene, writes.unique_lines)


def _rewritten(match: re.Match[str], scene: Scene, action: Callable[..., Work]) -> Step | None:
    where = match.groupdict().get("files")
    if where is None and not scene.it:
        raise Refusal("Say in which file")
    name, phrase = scene.one(where or "it", "change"), match.groupdict().get("target")
    target = scene.one(phrase, "write") if phrase else None
    if name is None or (phrase and target is None):
        return None

    def into(path: str) -> Step:
        return Step(lambda _: action(name, target=path), named=(path, name.path), instead=True)

    if target is not None:
        return replace(into(target.path), instead=False)
    return Step(lambda _: action(name, target=None), named=(name.path,), changes=(name.path,), into=into)


_OTHERS = re.compile(
    r"(?:anything|any|everything|all|the others?|others?|the rest|any(?:thing)? (?:else|other files?)|"
    r"(?:(?:any|all|the|my|other) )*files?|the folder|the workspace)(?: else| other)?",
    re.I,
)


def leave(match: re.Match[str], scene: Scene) -> Step | None:
    """Change nothing of what is named."""
    phrase = match["files"].strip()
    found = None if _OTHERS.fullmatch(phrase) or (is_one(phrase) and not scene.it) else scene.names(phrase)
    if found is None and not _OTHERS.fullmatch(phrase) and not is_one(phrase):
        return None
    spared = tuple(name.path for name in found) if found else ("*",)
    what = listed(spared) if found else "everything else"
    return Step(lambda _: writes.leave(what), named=spared if found else None, spares=spared)
