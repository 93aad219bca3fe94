"""What the demo reads: each function does one thing and changes nothing."""

from __future__ import annotations

import re
from shlex import quote

from .slots import Name, listed
from .work import (
    Asked,
    Call,
    Said,
    Stop,
    Work,
    counted,
    every_file,
    fenced,
    here,
    looked,
    near_to,
    shell,
    word,
)


def listing(folder: str) -> Work:
    """List a folder."""
    reply = yield Call("ls", {"path": folder})
    if reply.failed:
        raise Stop(f"Listing {folder} failed: {reply.text.strip()}")
    return Said(
        f"{'Here is what is there' if folder == '.' else f'In {folder}'}:\n{fenced(reply.text)}", reply.text
    )


def matching(pattern: str, folder: str = ".") -> Work:
    """List files by a pattern, subfolders included."""
    reply = yield Call("glob", {"pattern": pattern, "path": folder})
    if reply.failed:
        raise Stop(f"Looking for {pattern} failed: {reply.text.strip()}")
    if reply.text.startswith("No files match"):
        return Said(reply.text)
    place = "" if folder == "." else f" in {folder}"
    return Said(f"Files that match {pattern}{place}:\n{fenced(reply.text)}", reply.text)


def _read(path: str) -> Asked:
    reply = yield Call("read", {"file_path": path})
    return reply


def show(name: Name) -> Work:
    """Show a file."""
    path, reply = yield from looked(name, _read)
    if reply.text.strip() in {"", "(empty file)"}:
        return Said(f"{path} is empty.")
    return Said(f"Here is {path}:\n{fenced(reply.text)}", reply.text)


def part(name: Name, command: str, what: str) -> Work:
    """Show some lines of a file, cut out by a command such as `head -n 3`."""
    path, reply = yield from looked(name, lambda path: shell(f"{command} < {word(path)}"))
    if not reply.text.strip():
        return Said(f"{path} has nothing there.")
    return Said(f"{what.capitalize()} of {path}:\n{fenced(reply.text)}", reply.text.strip("\n"))


_COUNTS = {
    "line": "awk 'END {print NR}'",
    "row": "awk 'END {print (NR > 0 ? NR - 1 : 0)}'",
    "word": "wc -w",
    "character": "wc -m",
    "byte": "wc -c",
}


def count(name: Name, what: str) -> Work:
    """Count lines, data rows, words, characters or bytes of a file."""
    path, reply = yield from looked(name, lambda path: shell(f"{_COUNTS[what]} < {word(path)}"))
    total = reply.text.strip()
    note = " below its header" if what == "row" else ""
    return Said(f"{path} has {counted(int(total), what)}{note}.", total)


def count_text(name: Name, text: str) -> Work:
    """Count how often a text occurs in a file, in any case."""
    path, reply = yield from looked(
        name,
        lambda path: shell(f"test -f {word(path)} && (grep -oiF -e {quote(text)} -- {word(path)} | wc -l)"),
    )
    total = int(reply.text.strip())
    return Said(
        f'"{text}" occurs {counted(total, "time")} in {path} (upper and lower case alike).', str(total)
    )


def count_files(folder: str, ending: str) -> Work:
    """Count the files below a folder."""
    named = f" -name {quote('*.' + ending)}" if ending else ""
    place = "." if folder == "." else f"./{folder}"
    reply = yield from shell(f"find {word(place)} -type f{named} -not -path './.runcell/*' | wc -l")
    if reply.failed or not reply.text.strip().isdigit():
        raise Stop(f"Counting the files failed: {reply.text.strip()}")
    kind = f"{ending} file" if ending else "file"
    total = int(reply.text)
    where = "here" if folder == "." else f"in {folder}"
    return Said(
        f"There {'is' if total == 1 else 'are'} {counted(total, kind)} {where}, subfolders included.",
        str(total),
    )


def find_text(text: str, name: Name | None, names_only: bool) -> Work:
    """Find a text in one file or in all, in any case."""

    def ask(path: str) -> Asked:
        reply = yield Call("grep", {"pattern": text, "path": path, "literal": True, "ignore_case": True})
        return reply

    if name is None:
        where, reply = "the files here", (yield from ask("."))
        if reply.failed:
            raise Stop(f"Searching failed: {reply.text.strip()}")
    else:
        where, reply = yield from looked(name, ask)
    lines = reply.text.splitlines()
    hits = [line for line in lines if re.match(r".*?:\d+:", line)]
    notes = "".join(f"\n{line}" for line in lines if line.startswith("[") and line not in hits)
    if not hits:
        return Said(f'Nothing in {where} contains "{text}".{notes}')
    shown = sorted({hit.split(":", 1)[0] for hit in hits}) if names_only else hits
    what = counted(len(shown), "file" if names_only else "line")
    listing = "\n".join(shown)
    found = listing if name is None else "\n".join(re.sub(r"^.*?:\d+:", "", hit) for hit in hits)
    return Said(f'{what} with "{text}" in {where}:\n{fenced(listing)}{notes}', found)


def exists(path: str) -> Work:
    """Tell whether a file is there."""
    reply = yield from shell(f"test -f {word(path)}")
    if not reply.failed:
        return Said(f"Yes, {path} is there.", "yes")
    paths = yield from every_file()
    near = near_to(path, paths)
    if near:
        return Said(f"There is no {path} exactly, but {listed(near)}.", "no")
    return Said(f"No, there is no {path}. {here(paths)}", "no")
