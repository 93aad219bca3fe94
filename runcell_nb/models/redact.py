"""Keys out of texts that a person will see."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

_MASK = "[key]"
_SECRET_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
_SHORTEST_SECRET = 6
"""Shorter values would mask ordinary words; no provider's key is that short."""

_PATTERNS = (
    (re.compile(r"//[^/@\s]+@"), f"//{_MASK}@"),  # user and password in a URL
    (re.compile(r"(?i)([?&](?:api[_-]?key|key|token|access_token)=)[^&\s'\"]+"), rf"\1{_MASK}"),
    (re.compile(r"(?i)\b(bearer\s+)[\w.~+/*=-]{6,}"), rf"\1{_MASK}"),
    (
        re.compile(r"\b(?:sk|pk|gsk|xai|hf|AIza)[-_][\w*-]{6,}"),
        _MASK,
    ),  # also the half-masked ones of 401 texts
)


def redact(text: str, secrets: Iterable[str] = (), environ: Mapping[str, str] | None = None) -> str:
    """Return the text with every known or likely key replaced by `[key]`.

    Args:
        text: Any text, such as that of a provider's error.
        secrets: Keys in use.
        environ: Where further keys may stand; `os.environ` by default.
    """
    for secret in sorted({*secrets, *_secrets_of(environ)}, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            for form in {secret, quote(secret, safe=""), repr(secret)[1:-1]}:
                text = text.replace(form, _MASK)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def _secrets_of(environ: Mapping[str, str] | None) -> list[str]:
    source = os.environ if environ is None else environ
    return [value for name, value in source.items() if _SECRET_VARIABLE.search(name.upper())]
