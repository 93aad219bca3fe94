"""What the demo writes: each function does one thing, and nothing that was not asked for."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from .slots import Name, listed
from .work import Asked, Call, Said, Stop, Work, changed, check_free, check_there, counted, exact, shell, word


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def create(path: str, text: str, overwrite: bool) -> Work:
    """Write a new file; an old one stays unless the words said to overwrite it."""
    if not overwrite:
        yield from check_free(path, f'Say "overwrite {path} with …" to replace it.')
    text = _ended(text)
    reply = yield Call("write", {"file_path": path, "content": text})
    if reply.failed:
        raise Stop(f"Writing {path} failed: {reply.text.strip()}")
    lines = len(text.split("\n")) - 1
    what = counted(lines, "line") if text else "nothing in it yet"
    return Said(f"{'Wrote' if overwrite else 'Created'} {path} with {what}.")


def make_folder(path: str) -> Work:
    """Make a folder and its parents."""
    reply = yield from shell(f"mkdir -p -- {word(path)}")
    if reply.failed:
        raise Stop(f"Making the folder {path} failed: {reply.text.strip()}")
    return Said(f"Made the folder {path}.")


def remove_folder(path: str) -> Work:
    """Remove a folder that is empty."""
    reply = yield from shell(f"rmdir -- {word(path)}")
    if reply.failed:
        raise Stop(f"I remove only empty folders, and this failed: {reply.text.strip()}")
    return Said(f"Removed the empty folder {path}.")


def replace(name: Name, old: str, new: str, every: bool) -> Work:
    """Replace a text in a file."""
    path = yield from exact(name)
    reply = yield Call(
        "edit", {"file_path": path, "old_string": old, "new_string": new, "replace_all": every}
    )
    if reply.failed:
        yield from check_there(path)
        raise Stop(f'"{old}" was not replaced in {path}: {reply.text.strip()}')
    return Said(f'Replaced "{old}" by "{new}" in {path}.')


def append(name: Name, text: str, as_item: bool) -> Work:
    """Add lines at the end of a file; `as_item` gives them the bullet that its last line has."""
    path = yield from exact(name)
    file, lines = word(path), " ".join(quote(line) for line in text.split("\n"))
    bullet = f'case "$(tail -n 1 {file})" in "- "*) b="- ";; "* "*) b="* ";; esac; ' if as_item else ""
    yield from changed(
        path,
        f'test -f {file} || exit 1; {bullet}test -z "$(tail -c 1 {file})" || echo >> {file}; '
        f'printf -- "${{b}}%s\\n" {lines} >> {file}',
    )
    return Said(f"Added {counted(text.count(chr(10)) + 1, 'line')} to the end of {path}.")


def prepend(name: Name, text: str) -> Work:
    """Add lines at the top of a file."""
    path = yield from exact(name)
    yield from _filtered(path, path, f"{{ printf '%s\\n' {quote(text)}; cat {word(path)}; }}")
    return Said(f"Added {counted(text.count(chr(10)) + 1, 'line')} at the top of {path}.")


def _filtered(path: str, target: str, command: str) -> Asked:
    """Write a command's output to `target`, which may be the file that it reads."""
    reply = yield from changed(
        path,
        f'test -f {word(path)} && t=$(mktemp) && {command} > "$t" && cat "$t" > {word(target)}; '
        's=$?; rm -f "$t"; exit $s',
    )
    return reply


def _rewritten(name: Name, target: str | None, command: str, done: str) -> Work:
    """Pass a file's lines through a command, into itself or into a new file."""
    path = yield from exact(name)
    if target is not None:
        yield from check_free(target, "Name another file.")
    yield from _filtered(path, target or path, f"{command} < {word(path)}")
    return Said(f"{done} {path}{f' into {target}' if target else ''}.")


def sort_lines(name: Name, target: str | None, flags: str) -> Work:
    """Sort the lines of a file; `flags` are those of `sort`."""
    return _rewritten(name, target, f"sort {flags}".rstrip(), "Sorted the lines of")


def unique_lines(name: Name, target: str | None) -> Work:
    """Remove lines that stood before in a file; the order stays."""
    return _rewritten(name, target, "awk '!seen[$0]++'", "Removed the duplicate lines of")


def drop_lines(name: Name, text: str) -> Work:
    """Remove the lines that contain a text."""
    return _rewritten(
        name,
        None,
        f"TEXT={quote(text)} awk 'index($0, ENVIRON[\"TEXT\"]) == 0'",
        f'Removed the lines with "{text}" from',
    )


def drop_line(name: Name, place: str) -> Work:
    """Remove the line at a place: 'first', 'last' or its number."""
    path = yield from exact(name)
    counted_lines = yield from changed(path, f"awk 'END {{ print NR }}' < {word(path)}")
    total = int(counted_lines.text)
    number = {"first": 1, "last": total}.get(place) or int(place)
    if not 1 <= number <= total:
        raise Stop(f"{path} has {counted(total, 'line')}, so there is no line {number} to remove.")
    return (yield from _rewritten(name, None, f"awk 'NR != {number}'", f"Removed line {number} of"))


def transfer(name: Name, target: str, move: bool, into_folder: bool, overwrite: bool) -> Work:
    """Copy or move a file, into a folder when the target is one."""
    path = yield from exact(name)
    command, done = ("mv", "Moved") if move else ("cp", "Copied")
    file, goal = word(path), word(target)
    # without a folder to go into, the target is a name; its own folders are made, as write does
    otherwise = "echo no such folder; exit 4" if into_folder else f'mkdir -p -- "$(dirname {goal})"'
    taken = ":" if overwrite else 'test ! -e "$t" || { echo taken; exit 3; }'
    inside = f"{goal}/{quote(path.rsplit('/', 1)[-1])}"
    reply = yield from shell(
        f"test -f {file} || exit 2; t={goal}; if test -d {goal}; then t={inside}; else {otherwise}; fi; "
        f'{taken}; {command} -- {file} "$t" && echo "$t"'
    )
    if not reply.failed:
        return Said(f"{done} {path} to {reply.text.strip()}.")
    yield from check_there(path)
    why = {
        "no such folder": f"There is no folder {target}, so {path} stays where it is.",
        "taken": f"{target} is already there, so nothing was changed; name another file.",
    }
    raise Stop(why.get(reply.text.strip(), f"That did not work on {path}: {reply.text.strip()}"))


def delete(found: Sequence[Name]) -> Work:
    """Delete files, all or none."""
    paths = []
    for name in found:
        paths.append((yield from exact(name)))
    files = " ".join(word(path) for path in paths)
    tests = " && ".join(f"test -f {word(path)}" for path in paths)
    reply = yield from shell(f"{tests} && rm -- {files}")
    if reply.failed:
        for path in paths:
            yield from check_there(path)
        raise Stop(f"Deleting {listed(paths)} failed: {reply.text.strip()}")
    return Said(f"Deleted {listed(paths)}.")


def leave(what: str) -> Work:
    """Do nothing, and say so."""
    yield from ()
    return Said(f"I left {what} alone.")
