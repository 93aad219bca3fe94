"""A key as it may stand in a header."""

from __future__ import annotations

import re

from runcell_nb.core.errors import CredentialError

_IN_A_HEADER = re.compile(r"[!-~]*")


def clean_key(key: str, where: str) -> str:
    """Return a key without the blanks and line breaks around it, which copying from a file brings along.

    Args:
        key: As it was given; it may turn out empty.
        where: It stands, for the message.

    Raises:
        CredentialError: A blank, a control character or a letter beyond ASCII is in it. The key is not shown.
    """
    key = key.strip()
    if not _IN_A_HEADER.fullmatch(key):
        raise CredentialError(
            f"{where} has a blank, a line break or a letter beyond ASCII inside its key; copy it again."
        )
    return key
