"""What a recording knows of a cell of a notebook."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .normal_message import key_digest, normal_text
from .recorded_step import KeptResult, RecordedStep

MAX_PROMPT = 200
"""Characters of a cell's prompt that a recording has; the digest is of all of it."""

MAX_FILES = 200
"""Files of which each has its digest; of more there is one digest of all."""

ALL_FILES = "*"
"""Stands for all files together, where they are too many."""

_DIGEST_CHARS = 12


@dataclass(frozen=True, slots=True, eq=False)
class RecordedCell:
    """A cell as it was when it was recorded.

    Attributes:
        cell: Its id.
        prompt: The beginning of its prompt.
        prompt_digest: Of all of it, by `prompt_digest`.
        model: Who answered.
        tools: Names of the tools of the notebook that it had, in order.
        files: Files of its sandbox before the run, path -> digest, by `file_digests`.
        steps: What it asked, in order.
        results: Of tools with `record=True`, in order.
    """

    cell: str
    prompt: str
    prompt_digest: str
    model: str
    tools: tuple[str, ...] = ()
    files: Mapping[str, str] | None = None
    steps: Sequence[RecordedStep] = ()
    results: Sequence[KeptResult] = ()


def recorded_cell(
    cell: str,
    prompt: str,
    model: str,
    *,
    tools: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    steps: Sequence[RecordedStep] = (),
    results: Sequence[KeptResult] = (),
) -> RecordedCell:
    """Describe a cell; its prompt is shortened and its keys are taken out.

    Args:
        cell: As all others: see `RecordedCell`.
        prompt: All of it.
        model: As in `RecordedCell`.
        tools: As in `RecordedCell`.
        files: As in `RecordedCell`; None when they are not known.
        steps: As in `RecordedCell`.
        results: As in `RecordedCell`.
    """
    begins, digest = normal_text(prompt)[:MAX_PROMPT], prompt_digest(prompt)
    return RecordedCell(cell, begins, digest, model, tuple(tools), files, tuple(steps), tuple(results))


def prompt_digest(prompt: str) -> str:
    """Return the digest by which a cell is found again."""
    return key_digest(normal_text(prompt))


def file_digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the digest of each file, or one of all under `ALL_FILES` when they are too many.

    Args:
        files: Content by path.
    """
    return short_digests({path: hashlib.sha256(data).hexdigest() for path, data in files.items()})


def short_digests(files: Mapping[str, str]) -> dict[str, str]:
    """Return the same for files whose digests are known.

    Args:
        files: SHA-256 of the content by path, hexadecimal.
    """
    each = {path: digest[:_DIGEST_CHARS] for path, digest in sorted(files.items())}
    if len(each) <= MAX_FILES:
        return each
    whole = "\n".join(f"{digest} {path}" for path, digest in each.items())
    return {ALL_FILES: hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:_DIGEST_CHARS]}


def changed_files(recorded: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the paths that differ, sorted; `ALL_FILES` where it cannot be told which.

    Args:
        recorded: By `file_digests`.
        now: The same of today.
    """
    if (ALL_FILES in recorded) is not (ALL_FILES in now):
        return [ALL_FILES]
    return sorted(path for path in recorded.keys() | now.keys() if recorded.get(path) != now.get(path))
