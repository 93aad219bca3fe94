"""The built-in tools that handle single files and folders: read, write, edit, ls (FACTS 4.7-4.9)."""

from __future__ import annotations

import asyncio
import base64
from typing import Literal

from pydantic import Field

from .builtin_tool import ToolArguments, ToolWorkspace, builtin_tool
from .changes import MAX_KEPT_FILE
from .image_type import image_type
from .messages import ImageBlock, TextBlock
from .outcome import Change, ToolFailure, ToolOutcome, text_outcome
from .paths import is_state_path
from .tool_content import MAX_IMAGE_BYTES

MAX_READ_LINES = 2000
MAX_READ_CHARS = 50_000
MAX_NAMES = 500


class _Read(ToolArguments):
    file_path: str = Field(description="File to read, relative to the workspace.")
    offset: int = Field(1, ge=1, description="First line to read, counted from 1.")
    limit: int = Field(MAX_READ_LINES, ge=1, description="How many lines to read.")


class _Write(ToolArguments):
    file_path: str = Field(description="File to write, relative to the workspace; folders are made.")
    content: str = Field(description="The whole new content.")


class _Edit(ToolArguments):
    file_path: str = Field(description="File to edit, relative to the workspace.")
    old_string: str = Field(description="Exact text to replace; must occur once unless replace_all is true.")
    new_string: str = Field(description="Text to put there, taken literally.")
    replace_all: bool = Field(False, description="Replace every occurrence.")


class _Ls(ToolArguments):
    path: str = Field(".", description="Folder to list, relative to the workspace.")


async def _read(arguments: _Read, workspace: ToolWorkspace) -> ToolOutcome:
    path = workspace.path(arguments.file_path)
    data = await _content(path, workspace)
    media_type = image_type(data)
    if media_type is not None:
        return _image(path, data, media_type)
    if b"\0" in data[:8192]:
        raise ToolFailure(
            f"{path} is a binary file of {len(data)} bytes; look at it with bash, for example with xxd."
        )
    return text_outcome(await asyncio.to_thread(_window, path, data, arguments.offset, arguments.limit))


async def _write(arguments: _Write, workspace: ToolWorkspace) -> ToolOutcome:
    path = _writable(arguments.file_path, workspace)
    data = arguments.content.encode("utf-8", "replace")
    before = await workspace.sandbox.read_file(path)
    change = await _put(path, before, data, workspace)
    done = "Created" if before is None else "Replaced the content of"
    return text_outcome(f"{done} {path} ({len(data)} bytes).", changes=(change,))


async def _edit(arguments: _Edit, workspace: ToolWorkspace) -> ToolOutcome:
    path = _writable(arguments.file_path, workspace)
    before = await _content(path, workspace)
    try:
        text = before.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolFailure(f"{path} is not UTF-8 text; edit cannot change it. Use bash.") from None
    old, new = _line_ends_as_in(text, arguments.old_string, arguments.new_string)
    count = _occurrences(path, text, old, new, arguments.replace_all)
    change = await _put(path, before, text.replace(old, new).encode("utf-8", "replace"), workspace)
    times = "1 place" if count == 1 else f"{count} places"
    return text_outcome(f"Edited {path} in {times}.", changes=(change,))


async def _ls(arguments: _Ls, workspace: ToolWorkspace) -> ToolOutcome:
    path = workspace.path(arguments.path)
    names = await workspace.sandbox.list_directory(path)
    if names is None:
        raise ToolFailure(f"There is no folder {path!r} in the workspace.")
    if not names:
        return text_outcome("(empty folder)")
    names = sorted(names, key=lambda name: (name.casefold(), name))
    cut = [f"[{MAX_NAMES} of {len(names)} names shown]"] if len(names) > MAX_NAMES else []
    return text_outcome(await workspace.outputs.fitted("\n".join(names[:MAX_NAMES] + cut)))


async def _content(path: str, workspace: ToolWorkspace) -> bytes:
    data = None if path == "." else await workspace.sandbox.read_file(path)
    if data is not None:
        return data
    if await workspace.sandbox.list_directory(path) is not None:
        raise ToolFailure(f"{path!r} is a folder; list it with ls.")
    raise ToolFailure(f"There is no file {path!r} in the workspace.")


def _writable(given: str, workspace: ToolWorkspace) -> str:
    path = workspace.path(given)
    if path == ".":
        raise ToolFailure(f"{given!r} is the workspace itself; name a file in it.")
    if is_state_path(path):
        raise ToolFailure(f"{path!r} belongs to the toolkit; use a file outside .runcell/.")
    return path


async def _put(path: str, before: bytes | None, data: bytes, workspace: ToolWorkspace) -> Change:
    await workspace.sandbox.write_file(path, data)
    workspace.watch.note(path, data)
    kind: Literal["create", "modify"] = "create" if before is None else "modify"
    kept = before if before is not None and len(before) <= MAX_KEPT_FILE else None
    return Change(path, kind, kept)


def _line_ends_as_in(text: str, old: str, new: str) -> tuple[str, str]:
    """A model writes a bare line feed also where the file's lines end in carriage return, line feed."""
    if "\r\n" in text and "\r" not in old and old not in text:
        return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    return old, new


def _occurrences(path: str, text: str, old: str, new: str, replace_all: bool) -> int:
    if not old:
        raise ToolFailure("old_string is empty; give the text to replace, or use write for a whole file.")
    if old == new:
        raise ToolFailure("old_string and new_string are the same; nothing was changed.")
    count = text.count(old)
    if count == 0:
        raise ToolFailure(f"old_string occurs 0 times in {path}; nothing was changed. Read the file again.")
    if count > 1 and not replace_all:
        raise ToolFailure(
            f"old_string occurs {count} times in {path}; nothing was changed. "
            "Give more of the text around it, or set replace_all."
        )
    return count


def _window(path: str, data: bytes, offset: int, limit: int) -> str:
    if not data:
        return "(empty file)"
    lines = _lines(data.decode("utf-8", "replace"))
    if offset > len(lines):
        raise ToolFailure(f"{path} has {len(lines)} lines; line {offset} is beyond its end.")
    shown, size = 0, 0
    for line in lines[offset - 1 : offset - 1 + limit]:
        if size + len(line) > MAX_READ_CHARS:
            break
        shown, size = shown + 1, size + len(line)
    if shown == 0:
        return _cut_line(path, lines[offset - 1], offset, len(lines))
    last = offset - 1 + shown
    part = "".join(lines[offset - 1 : last])
    if last == len(lines):
        return part
    return f"{part}[lines {offset}-{last} of {len(lines)}; read on with offset={last + 1}]"


def _lines(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _cut_line(path: str, line: str, number: int, total: int) -> str:
    onward = f"; read on with offset={number + 1}" if number < total else ""
    return (
        f"{line[:MAX_READ_CHARS]}\n[line {number} of {total} is cut at {MAX_READ_CHARS} of {len(line)} "
        f"characters; get the rest with bash, for example with cut -c{onward}]"
    )


def _image(path: str, data: bytes, media_type: str) -> ToolOutcome:
    if len(data) > MAX_IMAGE_BYTES:
        raise ToolFailure(f"{path} is an image of {len(data)} bytes; at most {MAX_IMAGE_BYTES} can be shown.")
    said = f"{path} ({media_type}, {len(data)} bytes)"
    encoded = base64.b64encode(data).decode("ascii")
    shown = [{"type": "text", "text": said}, {"type": "image", "data": encoded, "mediaType": media_type}]
    return ToolOutcome((TextBlock(text=said), ImageBlock(data=encoded, media_type=media_type)), shown)


READ = builtin_tool(
    "read",
    f"Read a text file, or look at a png, jpeg, gif or webp image. At most {MAX_READ_LINES} lines or "
    f"{MAX_READ_CHARS} characters come at once; read on with offset.",
    _Read,
    _read,
)
WRITE = builtin_tool(
    "write", "Write a file: create it, or replace its whole content.", _Write, _write, serial=True
)
EDIT = builtin_tool("edit", "Replace an exact text in a file.", _Edit, _edit, serial=True)
LS = builtin_tool(
    "ls", f"List the names in a folder; folders end in /. At most {MAX_NAMES} names are shown.", _Ls, _ls
)
