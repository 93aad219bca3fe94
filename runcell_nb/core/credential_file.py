"""Keys in the file `auth.json` of a folder, which pi writes (API 7)."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import CredentialError

_DEFAULT_FOLDER = "~/.pi/agent"
_NAME = "auth.json"
_MAX_BYTES = 1_000_000
_FORM = '{"openai": {"type": "api_key", "key": "…"}}'


def auth_file(folder: str | None) -> Path:
    """Return the path of the file.

    Args:
        folder: Where it is, `~` included; None for pi's own folder.

    Raises:
        CredentialError: There is no such home folder.
    """
    try:
        return Path(folder or _DEFAULT_FOLDER).expanduser() / _NAME
    except RuntimeError as error:
        raise CredentialError(
            f"{folder!r} has no home folder; give an absolute path.", cause=error
        ) from error


async def read_auth_file(path: Path) -> Mapping[str, Any] | None:
    """Return the entries of the file, provider -> entry; None when there is no such file.

    Args:
        path: The file. It is read in a thread, anew each time.

    Raises:
        CredentialError: It cannot be read or is not what pi writes. It names the file, never its content.
    """
    text = await asyncio.to_thread(_text, path)
    if text is None:
        return None
    entries = _parsed(text)
    if not isinstance(entries, dict):
        raise CredentialError(f"{path} is not a JSON object of the form {_FORM}; mend it or sign in again.")
    return entries


def _text(path: Path) -> bytes | None:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block, a device never end
            raise OSError("it is no file")
        with path.open("rb") as opened:
            text = opened.read(_MAX_BYTES + 1)
        if len(text) > _MAX_BYTES:
            raise OSError(f"it has more than {_MAX_BYTES:,} bytes")
        return text
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CredentialError(
            f"{path} cannot be read ({why}); let it be a file that you may read, or use other credentials.",
            cause=error,
        ) from error


def _parsed(text: bytes) -> Any:
    """Return the value, or None for broken JSON, whose error would hold the whole text."""
    try:
        return json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
