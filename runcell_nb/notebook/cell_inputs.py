"""`--in`: variables and files of the notebook as files of the sandbox, with a note for the model."""

from __future__ import annotations

import asyncio
import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from runcell_nb.core.errors import InvalidOptionError, message_of
from runcell_nb.core.files import FileInput

from .disk_inputs import DiskFile, InputRoom, disk_files, read_disk_file
from .option_line import EXPRESSION_INPUT
from .shown_text import one_line
from .variable_files import file_of_value

NOTE_HEADING = "Files put into the sandbox:"
"""First line of the paragraph that tells the model what it was given."""

MAX_NOTED = 50
"""Files that the note names; the others are counted."""


@dataclass(frozen=True, slots=True)
class CellInput:
    """One file for the sandbox and a line that describes it."""

    file: FileInput
    note: str


async def read_cell_inputs(names: Sequence[str], namespace: Mapping[str, Any]) -> list[CellInput]:
    """Read what `--in` names, in a thread; cancelling gives it up.

    Args:
        names: What is most literal counts first: a variable `df`, `name=expression`, a path, a folder or a
            glob on disk, `df.parquet` for a variable that holds a DataFrame. `name.parquet=expression`
            goes, too.
        namespace: Of the notebook. Expressions are evaluated on a copy, on the thread: they bind nothing.

    Raises:
        InvalidOptionError: Nothing of that name, an expression that fails, a value of a kind that has no
            file form, or too much.
    """
    room = InputRoom()
    try:
        return await asyncio.to_thread(_read, names, namespace, room) if names else []
    finally:
        room.given_up.set()


def note_of(inputs: Sequence[CellInput]) -> str:
    """Return the paragraph for the model; empty without inputs."""
    if not inputs:
        return ""
    more = len(inputs) - MAX_NOTED
    counted = [f"- and {more:,} more"] if more > 0 else []
    return "\n".join([NOTE_HEADING, *(f"- {entry.note}" for entry in inputs[:MAX_NOTED]), *counted])


@dataclass(frozen=True, slots=True)
class _Value:
    """A value to put in, of a variable or an expression."""

    name: str
    code: CodeType | str
    parquet: bool


def _read(names: Sequence[str], namespace: Mapping[str, Any], room: InputRoom) -> list[CellInput]:
    """Find everything first: what is too much or missing is told before anything is read."""
    found = [(name, _found(name, namespace, room)) for name in names]
    inputs: list[CellInput] = []
    for name, source in found:
        if isinstance(source, _Value):
            room.check()
            path, data, note = file_of_value(
                source.name, _held(name, source, namespace), parquet=source.parquet
            )
            room.take(name, len(data))
            inputs.append(_described(path, data, note))
        else:
            inputs.extend(_copy(file, read_disk_file(file, room)) for file in source)
    _check_places(inputs)
    return inputs


def _check_places(inputs: Sequence[CellInput]) -> None:
    places = Counter(entry.file.path for entry in inputs)
    twice = next((place for place, count in places.items() if count > 1), None)
    if twice is not None:
        raise InvalidOptionError(
            f"--in: more than one input would be the file {twice!r}; give each once, "
            "or a value another name with name=expression."
        )


def _found(name: str, namespace: Mapping[str, Any], room: InputRoom) -> _Value | list[DiskFile]:
    if name in namespace:
        return _Value(name, name, parquet=False)
    asked = EXPRESSION_INPUT.fullmatch(name)
    if asked:
        return _Value(asked["name"], _compiled(name, asked["code"].strip()), asked["ending"] is not None)
    files = disk_files(name, room)
    if files:
        return files
    variable = name.removesuffix(".parquet")
    if variable in namespace:
        return _Value(variable, variable, parquet=True)
    raise InvalidOptionError(f"--in {name!r}: {_not_there(name, variable, namespace)}.")


def _not_there(name: str, variable: str, namespace: Mapping[str, Any]) -> str:
    if not _on_disk(name):
        return f"no variable, file or folder of that name{_nearest(variable, namespace)}"
    return "the folder holds no files" if Path(name).expanduser().is_dir() else "it is no regular file"


def _compiled(word: str, code: str) -> CodeType:
    if _on_disk(word):
        raise InvalidOptionError(
            f"--in {word!r} is an expression and a file; write ./{word} for the file, or rename the value."
        )
    try:
        return compile(code, f"--in {word}", "eval", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        why = error.msg if isinstance(error, SyntaxError) else message_of(error)
        how = f"quote all of it when it has blanks or quotes, or write ./{word} for a path"
        message = f"--in {word!r}: {code!r} is no Python expression ({why}); {how}."
        raise InvalidOptionError(message, cause=error) from error


def _on_disk(word: str) -> bool:
    try:
        return Path(word).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # too long, with a NUL, or of nobody's home
        return False


def _held(word: str, source: _Value, namespace: Mapping[str, Any]) -> Any:
    if isinstance(source.code, str):
        return namespace[source.code]
    try:
        return eval(source.code, dict(namespace))  # the user wrote it as code, as in any cell
    except BaseException as error:  # SystemExit, say: on the event loop it would end the kernel
        why = f"{type(error).__name__}: {one_line(message_of(error)).rstrip('.')}"
        raise InvalidOptionError(f"--in {word!r}: {why}{_hint(error, namespace)}.", cause=error) from error


def _hint(error: BaseException, namespace: Mapping[str, Any]) -> str:
    """Return what may have been meant where a name is not there: its quotes are gone, say."""
    if not isinstance(error, NameError) or not error.name:
        return ""
    return _nearest(error.name, namespace) or "; quote all of it when it has blanks or quotes"


def _copy(file: DiskFile, data: bytes) -> CellInput:
    return _described(file.target, data, f"a copy of a file on disk, {len(data)} bytes")


def _described(path: str, data: bytes, note: str) -> CellInput:
    line = " ".join(f"{path} ({note})".splitlines())  # names of files and columns may hold line ends
    return CellInput(FileInput(path, bytes=data), line)


_SHELL_NAMES = frozenset(("In", "Out", "exit", "quit", "open", "get_ipython"))
"""What IPython puts into every namespace; nobody means these."""


def _nearest(name: str, namespace: Mapping[str, Any]) -> str:
    known = [known for known in list(namespace) if not known.startswith("_") and known not in _SHELL_NAMES]
    close = difflib.get_close_matches(name, known, n=3)
    return f" (did you mean {', '.join(close)}?)" if close else ""
