"""`%runcell export`: the runs of a notebook as a plain script on the library."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.models.defaults import default_model
from runcell_nb.models.redact import redact

from .cell_inputs import NOTE_HEADING
from .shown_text import count_text

ExportedCell = tuple[str, Mapping[str, Any]]
"""A prompt and the fields of its `CellOptions`; those that are missing count as not given."""

_LIMITS = {
    "max_cost": "max_cost_usd",
    "max_tokens": "max_total_tokens",
    "max_requests": "max_requests",
    "max_seconds": "max_seconds",
}
_OURS = frozenset(
    [
        "AsyncExitStack",
        "Path",
        "RunLimits",
        "create_agent",
        "create_sandbox",
        "create_thread",
        "print",
        "stack",
    ]
)
"""Names that the script uses, so that no result may have them."""


def export_script(cells: Sequence[ExportedCell], path: str | os.PathLike[str]) -> str:
    """Write the runs of a notebook as a script that does them again.

    What only the notebook has (types, functions, gateways, variables put in by `--in`) is named in it
    as something to import.

    Args:
        cells: In the order in which they ran. A cell without a model gets the default one of now.
        path: Of the script, ending in `.py`; an existing file is never touched.

    Returns:
        A sentence for the user.

    Raises:
        InvalidOptionError: No runs, a name that does not fit, a file that exists or cannot be written.
    """
    target = Path(path).expanduser()
    if target.suffix != ".py":
        raise InvalidOptionError(f"%runcell export takes the name of a new .py file, got {str(path)!r}.")
    if not cells:
        raise InvalidOptionError("%runcell export: nothing has run yet, so there is nothing to write.")
    script = script_of(cells)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(script)
    except FileExistsError as error:
        message = f"%runcell export: {str(path)!r} exists already; give a name that is free."
        raise InvalidOptionError(message, cause=error) from error
    except (OSError, ValueError) as error:
        message = f"%runcell export: {str(path)!r} cannot be written: {error}."
        raise InvalidOptionError(message, cause=error) from error
    return f"Wrote {count_text(len(cells), 'run')} to {target}."


def script_of(cells: Sequence[ExportedCell]) -> str:
    """Return the script as text; keys and tokens in prompts are masked.

    Args:
        cells: As for `export_script`.
    """
    writer = _Writer()
    for prompt, options in cells:
        given = {
            name: value
            for name, value in options.items()
            if value is not None and value is not False and value != ()
        }
        writer.add(redact(prompt), given)
    body = "\n".join(f"        {line}".rstrip() for line in writer.lines)
    missing = ", ".join(writer.missing)
    parts = [
        '"""The runs of a notebook."""\n\nimport asyncio\nfrom contextlib import AsyncExitStack\n',
        "from pathlib import Path\n" if "Path(" in body else "",
        "\nfrom runcell_nb import ",
        "RunLimits, " if "RunLimits(" in body else "",
        "create_agent, create_sandbox, create_thread\n",
        f"\n# TODO: import or define what the notebook had: {missing}\n" if missing else "",
        "\n\nasync def main() -> None:\n    async with AsyncExitStack() as stack:\n",
        body,
        '\n\n\nif __name__ == "__main__":\n    asyncio.run(main())\n',
    ]
    return "".join(parts)


@dataclass
class _Writer:
    """Writes run after run; agents, threads and sandboxes are made where they are first used."""

    lines: list[str] = field(default_factory=list)
    missing: dict[str, None] = field(default_factory=dict)
    _names: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, prompt: str, options: Mapping[str, Any]) -> None:
        """Write one run."""
        if self.lines:
            self.lines.append("")
        agent = self._agent(options)
        thread = self._shared("thread", options, "create_thread()")
        sandbox = self._shared("sandbox", options, "await stack.enter_async_context(create_sandbox())")
        out = self._result_name(options.get("out", "result"))
        files, note = _files(options.get("inputs", ()))
        self.lines += [f"{out} = await {agent}.run(", *_literal(prompt + note), *files]
        if "schema" in options:
            self.lines.append(f"    schema={self._needed(options['schema'])},")
        self.lines += [f"    thread={thread},", f"    sandbox={sandbox},", *_limits(options), ")"]
        self.lines.append(f"print({out}.{'data' if 'schema' in options else 'text'})")

    def _agent(self, options: Mapping[str, Any]) -> str:
        model = options.get("model") or default_model(os.environ).model
        arguments = [self._needed(model) if model.isidentifier() else repr(model)]
        if "tools" in options:
            named = ", ".join(f"{name!r}: {self._needed(name)}" for name in options["tools"])
            arguments.append(f"tools={{{named}}}")
        if "thinking" in options:
            arguments.append(f"thinking_level={options['thinking']!r}")
        if "max_repairs" in options:
            arguments.append(f"max_repairs={options['max_repairs']!r}")
        made = f"create_agent({', '.join(arguments)})"
        known = ("agent", made) in self._names
        name = self._name("agent", made)
        if not known:
            self.lines.append(f"{name} = {made}")
        return name

    def _shared(self, kind: str, options: Mapping[str, Any], made: str) -> str:
        """Return the name of a thread or sandbox, made when it is new or has to be."""
        of_notebook = options.get(kind, "")
        known = (kind, of_notebook) in self._names
        name = self._name(kind, of_notebook)
        if not known or "fresh" in options:
            comment = f"  # {of_notebook!r}" if of_notebook else ""
            self.lines.append(f"{name} = {made}{comment}")
        return name

    def _name(self, kind: str, key: str) -> str:
        """Return a variable: `thread`, `thread_2`, ..."""
        count = sum(known == kind for known, _ in self._names) + 1
        return self._names.setdefault((kind, key), kind if count == 1 else f"{kind}_{count}")

    def _needed(self, name: str) -> str:
        self.missing[name] = None
        return name

    def _result_name(self, name: str) -> str:
        return "result" if name in _OURS or name in self._names.values() else name


def _literal(text: str) -> list[str]:
    """Return text as an argument, a literal for each line."""
    lines = [f"    {line!r}" for line in text.splitlines(keepends=True)]
    return [*lines[:-1], f"{lines[-1]},"]


def _files(inputs: Sequence[str]) -> tuple[list[str], str]:
    """Return the argument for files on disk, with what else has to be put in, and the note for the model."""
    lines, notes = [], []
    for word in inputs:
        path = Path(word).expanduser()
        if path.is_file():
            lines.append(f"        {{'path': {path.name!r}, 'bytes': Path({str(path)!r}).read_bytes()}},")
            notes.append(f"- {path.name!r} (a copy of a file on disk)")
        else:
            lines.append(f"        # TODO: what --in {word!r} was, as {{'path': ..., 'text': ...}}")
    note = "\n".join(["\n", NOTE_HEADING, *notes]) if notes else ""
    return (["    files=[", *lines, "    ],"] if lines else []), note


def _limits(options: Mapping[str, Any]) -> list[str]:
    given = [f"{limit}={options[name]!r}" for name, limit in _LIMITS.items() if name in options]
    return [f"    limits=RunLimits({', '.join(given)}),"] if given else []
