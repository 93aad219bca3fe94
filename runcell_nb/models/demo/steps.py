"""How the demo works: with the ordinary tools, answering from their results.

Work is a generator that yields a `Call`, is sent the `Reply`, and returns what is `Said`. It keeps nothing
else, so that it can be run again from the results in a conversation.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from .phrases import Name, Stop, listed


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to make."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a call; `failed` is an error result or a command with an exit code other than 0."""

    text: str
    failed: bool = False

    def of_shell(self) -> Reply:
        """Take the line that tells the exit code off the output of a command."""
        match = re.search(r"\n?\(exit \d+\)\s*\Z", self.text)
        text = self.text[: match.start()] if match else self.text
        return Reply("" if text == "(no output)" else text, self.failed or match is not None)


@dataclass(frozen=True, slots=True)
class Said:
    """What a step answers; `value` is what it found out, for a command that saves it; None for nothing."""

    text: str
    value: str | None = None


Work = Generator[Call, Reply, Said]
Values = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: work that is given what the step before said."""

    work: Callable[[Said], Work]
    named: tuple[str, ...] = ()  # the files it speaks of, the likeliest "it" first
    changes: tuple[str, ...] = ()  # the files that it changes or removes
    spares: tuple[str, ...] = ()  # the files that are to be left alone; '*' for all
    folder: str = ""  # a folder it makes
    open_end: bool = False  # its command ends with a text for a file that is not in quotes
    looks: bool = False  # it changes nothing
    lines: bool = False  # it shows or counts the lines of a file
    copied: tuple[str, ...] = ()  # the original and the copy that it makes


def filled(template: str, **values: object) -> str:
    """Fill an answer; `{block}` is `out` in a code fence, and "{n} line(s)" counts lines."""
    out = str(values.get("out", ""))
    ticks = "`" * (max((len(run) for run in re.findall(r"`{3,}", out)), default=2) + 1)
    counted = r"(\{(\w+)\} \{?\w+\}?)\(s\)"
    plural = re.sub(counted, lambda found: found[1] + "s" * (str(values[found[2]]) != "1"), template)
    return plural.format(block=f"{ticks}\n{out.rstrip()}\n{ticks}", **values)


@dataclass(frozen=True, slots=True)
class Action:
    """One tool call and the answer to it: texts with `{file}`, the names of values, `{out}` or `{block}`."""

    tool: str
    say: str
    arguments: Mapping[str, Any]  # in those of bash each value becomes one word
    careful: bool = False  # it changes the file, so that only its exact name will do
    keeps: bool = True  # what it finds out may be saved

    def _call(self, values: Values, path: str = "") -> Call:
        words: dict[str, str | Sequence[str]] = {"file": path, **values}
        if self.tool == "bash":
            words["file"] = f"./{path}" if path.startswith("-") else path
            words = {
                name: " ".join(map(quote, [text] if isinstance(text, str) else text))
                for name, text in words.items()
            }
        return Call(
            self.tool,
            {
                name: text.format(**words) if isinstance(text, str) else text
                for name, text in self.arguments.items()
            },
        )

    def __call__(self, name: Name | None = None, **values: str | Sequence[str]) -> Work:
        """Do it, on a file if there is one."""
        if name is None:
            path, reply = "", (yield self._call(values))
            if reply.failed:
                raise Stop(f"That did not work: {reply.text.strip()}")
        else:
            path, reply = yield from _asked(name, lambda path: self._call(values, path), self.careful)
        out = reply.text.strip("\n") if "{block}" in self.say else reply.text.strip()
        nothing = re.match(r"No (?:matches|files match)", out) is not None
        told = out if nothing else filled(self.say, **{**values, "file": path, "out": out or "(nothing)"})
        return Said(told, ("" if nothing else out) if self.keeps and not self.careful else None)


def bash(command: str, say: str, careful: bool = False) -> Action:
    """Return the action of a command."""
    return Action("bash", say, {"command": command}, careful)


def _asked(
    name: Name, call: Callable[[str], Call], careful: bool
) -> Generator[Call, Reply, tuple[str, Reply]]:
    """Make a call about a file; when it fails, find out whether another file is meant."""
    path = name.path if name.sure else (yield from _nearest(name.path, careful))
    reply = yield call(path)
    if reply.failed:
        path = yield from _nearest(path, careful, reply.text.strip() or "the command failed")
        reply = yield call(path)
    if reply.failed:
        raise Stop(f"That did not work on {path}: {reply.text.strip()}")
    return path, reply


def _nearest(path: str, careful: bool, problem: str = "") -> Generator[Call, Reply, str]:
    """Find the one file that `path` can mean: other case, other folder, no ending.

    Raises:
        Stop: None or several, or `careful` and it is called otherwise; or it is there and has a problem.
    """
    reply = yield Call("glob", {"pattern": "**/*"})
    paths = [] if reply.text.startswith("No files match") else reply.text.splitlines()
    if path in paths and problem:
        raise Stop(f"That did not work on {path}: {problem}")
    forms = (r".*", r"[^/]*$", r"[^/]*(?=\.\w+$)")
    hits = ([one for one in paths if path.lower() in re.findall(form, one.lower())] for form in forms)
    near = [path] if path in paths else next((found for found in hits if found), [])
    if near == [path] or (len(near) == 1 and not careful):
        return near[0]
    if near:
        raise Stop(f"There is no file {path}. If you mean {listed(near)}, say so; nothing was changed.")
    more = ", …" if len(paths) > 20 else "."
    raise Stop(f"There is no file {path} here. Files here: {', '.join(paths[:20]) or 'none'}{more}")


def _check_free(path: str, advice: str) -> Generator[Call, Reply, None]:
    """Look for a file without the shell; what a pattern takes for a sign stands for any character."""
    reply = yield Call("glob", {"pattern": re.sub(r"[^\w./ -]", "?", path)})
    if reply.failed or path in reply.text.splitlines() or "files shown]" in reply.text:
        raise Stop(f"{path} is already there and I left it as it is. {advice}")


_REACH: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "average": lambda numbers: sum(numbers) / len(numbers),
    "maximum": max,
    "minimum": min,
}


def column(name: Name, text: str, how: str) -> Work:
    """Reckon the sum, average, maximum or minimum of a CSV column, named by its header in any case."""
    path, reply = yield from _asked(name, lambda path: Call("read", {"file_path": path}), False)
    if re.search(r"\[lines? \d+.* of \d+.*\]\Z", reply.text):
        raise Stop(f"{path} is larger than what this demo reads.")
    try:
        header, *rows = [row for row in csv.reader(reply.text.split("\n")) if any(row)]
    except (csv.Error, ValueError):
        raise Stop(f"{path} is empty or no table.") from None
    forms = [cell.strip().lower() for cell in header]
    places = [forms.index(form) for form in (text.lower(), text.lower()[:-1]) if form in forms]
    if not places and not re.search(r"\.[ct]sv$", path, re.I):
        raise Stop(f"{path} is not a table with a column {text!r}.")
    if not places:
        raise Stop(f"{path} has no column {text!r}. Its columns: {', '.join(header)}.")
    cells = [row[places[0]].strip() for row in rows if places[0] < len(row)]
    numbers = [float(cell) for cell in cells if re.fullmatch(r"[-+]?(?:\d+\.?\d*|\.\d+)", cell)]
    if not numbers:
        raise Stop(f"The column {header[places[0]]} of {path} has no numbers, but for example {cells[:1]}.")
    value, rest = f"{_REACH[how](numbers):.15g}", len(rows) - len(numbers)
    say = "The {how} of {column} in {file} is {value} ({n} number(s); left out: {rest} cell(s))."
    told = filled(say, how=how, column=header[places[0]], file=path, value=value, n=len(numbers), rest=rest)
    return Said(told, value)


def create(path: str, text: str, overwrite: bool) -> Work:
    """Write a new file; an old one stays unless the words said to overwrite it."""
    if not overwrite:
        yield from _check_free(path, f'Say "overwrite {path} with …" to replace it.')
    text = text if not text or text.endswith("\n") else text + "\n"
    reply = yield Call("write", {"file_path": path, "content": text})
    if reply.failed:
        raise Stop(f"Writing {path} failed: {reply.text.strip()}")
    say = "{did} {file} with {n} line(s)." if text else "{did} {file} with nothing in it yet."
    return Said(filled(say, did="Wrote" if overwrite else "Created", file=path, n=text.count("\n")))


def save(said: Said, name: Name, add: bool, it: Name | None) -> Work:
    """Save what the step before found out; when that was nothing to be saved, save a copy of `it`."""
    if said.value:
        lines = said.value.split("\n")
        return (yield from append(name, quoted=lines) if add else create(name.path, said.value, False))
    if said.value is None and it and not add:
        return (yield from transfer(it, name.path, False, False))
    raise Stop(f"There is nothing to save, so {name.path} was not written.")


def append(name: Name, lines: Sequence[str] = (), quoted: Sequence[str] = ()) -> Work:
    """Add lines at the end of a file; those not quoted get the bullet that its last line has."""
    bulleted = lines and not re.match(r"[-*#]", lines[0])
    bullet = "$(tail -n 1 {file} | grep -o '^[-*] ')" if bulleted else ""
    command = (
        'test -f {file} && {{ test -z "$(tail -c 1 {file})" || echo >> {file}; }} && '
        f'printf -- "{bullet}%s\\n" {{text}} >> {{file}}'
    )
    added = bash(command, "Added {n} line(s) to the end of {file}.", careful=True)
    return added(name, text=[*lines, *quoted], n=str(len([*lines, *quoted])))


def passed(name: Name, command: str, say: str, target: str = "", **values: str | Sequence[str]) -> Work:
    """Pass a file through a command, into itself or into a new file."""
    if target:
        yield from _check_free(target, "Name another file.")
    whole = f'test -f {{file}} && t=$(mktemp) && {command} > "$t" && cat "$t" > {{target}} && rm "$t"'
    say += " into {target}." if target else "."
    return (yield from bash(whole, say, careful=True)(name, target=target or name.path, **values))


def sort(name: Name, order: str = "", target: str = "") -> Work:
    """Sort the lines of a file; `order` is what the person said of it."""
    if name.path.endswith(".csv"):
        raise Stop("A CSV file has a header; I sort only plain lines. Nothing was changed.")
    flags = "-n" if re.search("number|numeric", order, re.I) else "-f"
    flags += "r" if re.search("revers|descend|backward|z to a|largest|highest", order, re.I) else ""
    return (yield from passed(name, f"sort {flags} < {{file}}", "Sorted the lines of {file}", target))


def transfer(name: Name, target: str, move: bool, into: bool) -> Work:
    """Copy or move a file, into a folder when the target is one; `into` says that it has to be one."""
    need = (
        "[ -d {target} ] || {{ echo there is no folder {target}, so say a new folder; exit 1; }}; "
        if into
        else ""
    )
    command = (
        f'[ -f {{file}} ] || exit 1; {need}t={{target}}; [ -d "$t" ] && t="$t/$(basename -- {{file}})"; '
        '[ ! -e "$t" ] || {{ echo "$t is already there"; exit 1; }}; '
        f'mkdir -p -- "$(dirname -- "$t")" && {"mv" if move else "cp"} -- {{file}} "$t" && echo "$t"'
    )
    said = bash(command, f"{'Moved' if move else 'Copied'} {{file}} to {{out}}.", careful=True)
    return said(name, target=target)


def delete(found: Sequence[Name]) -> Work:
    """Delete files, all or none."""
    paths = [name.path for name in found]
    check = 'for f in {paths}; do [ -f "$f" ] || {{ echo "There is no file $f"; exit 1; }}; done; '
    command = "rm -- {file}" if len(found) == 1 else check + "rm -- {paths}"
    return bash(command, "Deleted {all}.", careful=True)(found[0], paths=paths, all=listed(paths))


def each(found: Sequence[Name], look: Callable[[Name], Work]) -> Work:
    """Look at several files, one after the other."""
    said = []
    for name in found:
        said.append((yield from look(name)))
    values = [one.value for one in said if one.value is not None]
    return Said("\n".join(one.text for one in said), "\n".join(values) if values else None)


def leave(what: str) -> Work:
    """Do nothing, and say so."""
    yield from ()
    return Said(f"I left {what} alone.")
