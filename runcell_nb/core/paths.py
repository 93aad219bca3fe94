"""Workspace paths: relative, POSIX, inside (FACTS 1)."""

from __future__ import annotations

import re

from .errors import InvalidOptionError

STATE_FOLDER = ".runcell"
"""Folder of the package's own state inside a workspace; hidden from listings, snapshots and changes."""

_DRIVE = re.compile(r"[A-Za-z]:")


def assert_safe_workspace_path(path: object) -> str:
    """Check a path of the workspace and return it normalised.

    Args:
        path: A relative POSIX path. Blanks, newlines, `~` and non-ASCII are ordinary characters.

    Returns:
        The path without leading `./`, doubled `/`, inner `.` segments and trailing `/`.

    Raises:
        InvalidOptionError: Not a string, empty, absolute, with a backslash, a drive letter, a NUL
            or a `..` segment, or with nothing left after normalising.
    """
    if not isinstance(path, str):
        raise InvalidOptionError(f"Workspace path must be a string, got {path!r}.")
    problem = _problem(path)
    if problem:
        raise InvalidOptionError(
            f"Unsafe workspace path {path!r}: {problem}. Use a relative path like 'notes/a.txt'."
        )
    clean = "/".join(part for part in path.split("/") if part not in ("", "."))
    if not clean:
        raise InvalidOptionError(
            f"Workspace path {path!r} names the workspace itself; name a file or folder in it."
        )
    if _DRIVE.match(clean):
        raise InvalidOptionError(f"Unsafe workspace path {path!r}: it starts with a drive letter.")
    return clean


def _problem(path: str) -> str | None:
    if not path:
        return "it is empty"
    if "\0" in path:
        return "it has a NUL byte"
    if "\\" in path:
        return "it has a backslash"
    if path.startswith("/"):
        return "it is absolute"
    if _DRIVE.match(path):
        return "it starts with a drive letter"
    if ".." in path.split("/"):
        return "it has a '..' segment"
    return None


def is_state_path(path: str) -> bool:
    """Tell whether a normalised path lies in the package's own state folder."""
    return path == STATE_FOLDER or path.startswith(STATE_FOLDER + "/")
