"""What the values of options can be: models, threads, sandboxes, names of the notebook, files."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, GenericAlias, MethodType, ModuleType, UnionType
from typing import Any

from pydantic import TypeAdapter

from runcell_nb.core.tools import ToolDefinition
from runcell_nb.models.defaults import DEFAULT_MODELS, DEMO_MODEL, default_model
from runcell_nb.models.local_servers import find_local_servers

from .cell_options import THINKING_LEVELS
from .completion_place import Place
from .option_line import EXPRESSION_INPUT
from .replay_mode import MODES

LOOK_SECONDS = 0.1
"""The longest that a completion waits for the model servers of this machine."""

KEPT_SECONDS = 5.0
"""How long what they said counts."""

MOST_ENTRIES = 5_000
"""Entries of a folder that are looked at."""

_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, partial, ToolDefinition)
_TYPES = (type, GenericAlias, UnionType, TypeAdapter)
_NEEDS_QUOTES = re.compile(r"""[\s"'\\]""")

Choice = tuple[str, str]
"""What to type, without quotes, and what it is."""


class LocalModels:
    """Names of the models on this machine, looked up by a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: list[str] = []
        self._looked = -KEPT_SECONDS
        self._thread: threading.Thread | None = None

    def names(self, seconds: float) -> list[str]:
        """Return the names; those of the last look when a new one takes longer than so many seconds."""
        with self._lock:
            if self._thread is None and time.monotonic() - self._looked >= KEPT_SECONDS:
                self._thread = threading.Thread(target=self._look, name="runcell-local-models", daemon=True)
                self._thread.start()
            thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return self._names

    def _look(self) -> None:
        with suppress(Exception):  # a completion has nobody to tell
            servers = asyncio.run(find_local_servers(os.environ, LOOK_SECONDS))
            self._names = [model.name for server in servers for model in server.models]
        with self._lock:
            self._looked, self._thread = time.monotonic(), None


class Choices:
    """Everything that can be proposed in one notebook.

    Args:
        shell: Its namespace has the variables.
        session: Returns the notebook's session, or None before there is one.
    """

    def __init__(self, shell: Any, session: Callable[[], Any]) -> None:
        self._shell, self._session = shell, session
        self._local = LocalModels()
        self._of: dict[str, Callable[[], Iterable[Choice]]] = {
            "model": self._models,
            "thread": lambda: ((name, "thread") for name in self._held("book")),
            "sandbox": lambda: ((name, "sandbox") for name in self._held("shelf")),
            "snapshot": lambda: ((name, "snapshot") for name in self._held("snapshots")),
            "type": lambda: ((name, "type") for name, value in self._variables() if _is_type(value)),
            "function": lambda: (
                (name, "function") for name, value in self._variables() if _is_function(value)
            ),
            "variable": self._values,
            "level": lambda: ((level, "level") for level in THINKING_LEVELS),
            "mode": lambda: ((mode, "mode") for mode in MODES),
        }

    def at(self, place: Place) -> Iterator[Choice]:
        """Yield the names that fit a place, quoted where that is needed."""
        seen = set[str]()
        for kind in place.kinds:
            for name, what in _files(place.typed) if kind == "file" else self._of[kind]():
                if name not in seen and name.isprintable() and _fits(place.typed, name, kind):
                    seen.add(name)
                    yield _quoted(name), what

    def _models(self) -> Iterator[Choice]:
        for name, value in self._variables():
            if all(hasattr(type(value), needed) for needed in ("stream", "describe")):
                yield name, "gateway"
        yield default_model(os.environ).model, "model"
        for _, variable, model in DEFAULT_MODELS:
            if os.environ.get(variable, "").strip():
                yield model, "model"
        yield DEMO_MODEL, "demo"
        yield from ((name, "local model") for name in self._local.names(LOOK_SECONDS))

    def _held(self, attribute: str) -> list[str]:
        """Return the names of the session's threads, sandboxes or snapshots."""
        held = getattr(self._session(), attribute, None)
        names = held if isinstance(held, Mapping) else getattr(held, "names", ())
        return [name for name in names if isinstance(name, str)]

    def _variables(self) -> list[tuple[str, Any]]:
        """Return what the user has bound, sorted."""
        hidden = self._shell.user_ns_hidden
        return sorted(
            (
                (name, value)
                for name, value in list(self._shell.user_ns.items())
                if not name.startswith("_") and (name not in hidden or hidden[name] is not value)
            ),
            key=lambda pair: pair[0],
        )

    def _values(self) -> Iterator[Choice]:
        for name, value in self._variables():
            if not (issubclass(type(value), ModuleType) or _is_type(value) or _is_function(value)):
                yield name, type(value).__name__


# The type is asked, not the object: a proxy may do anything when asked what it is.
def _is_type(value: Any) -> bool:
    kind = type(value)
    return issubclass(kind, _TYPES) or kind.__module__ == "typing"


def _is_function(value: Any) -> bool:
    return issubclass(type(value), _FUNCTIONS)


def _files(typed: str) -> Iterator[Choice]:
    folder = typed[: typed.rfind("/") + 1]
    with suppress(OSError, RuntimeError), os.scandir(Path(folder or ".").expanduser()) as entries:
        for entry in sorted(islice(entries, MOST_ENTRIES), key=lambda entry: entry.name):
            path = folder + entry.name
            if not path.startswith(typed) or (entry.name[0] == "." and typed == folder):
                continue
            path = f"./{path}" if EXPRESSION_INPUT.fullmatch(path) else path
            if "," not in path:  # separates inputs
                yield (f"{path}/", "folder") if entry.is_dir() else (path, "file")


def _fits(typed: str, name: str, kind: str) -> bool:
    if kind == "model":
        return typed.casefold() in name.casefold()
    return name.startswith(typed) or name.startswith(f"./{typed}")


def _quoted(name: str) -> str:
    """Quote a name with blanks; that of a folder stays open, because more follows."""
    if not _NEEDS_QUOTES.search(name):
        return name
    quoted = shlex.quote(name)
    return quoted[:-1] if name.endswith("/") else quoted
