"""Keys out of texts that a person will see."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable, Mapping

_MASK = "[key]"
_SECRET_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
_SHORTEST_SECRET = 6
"""Shorter values would mask ordinary words; no provider's key is that short."""

_SHORTEST_PART, _LONGEST_PART = 4, 200
_ELISION = re.compile(r"\*{3,}|\u2022{3,}|\u2026|\.{3,}|REDACTED")
"""Between the ends of a key that a provider shows. The word is litellm's, which may stop short of an end."""

_BACKSLASHES = r"(?:\\|%(?:25){0,2}5[cC]|&\#(?:92|x5[cC]);){0,16}"
"""Some of them, bounded. Not possessive: Python 3.11.2, which Debian ships, matches those wrongly."""

_PATTERNS = (
    (re.compile(r"//[^/@\s]+@"), f"//{_MASK}@"),  # user and password in a URL
    (re.compile(r"(?i)([?&](?:api[_-]?key|key|token|access_token)=)[^&\s'\"]+"), rf"\1{_MASK}"),
    (re.compile(r"(?i)\b(bearer\s+)[\w.~+/*=-]{6,}"), rf"\1{_MASK}"),
    (  # a header, also as Python prints it; a short value or one without a digit is likelier a word
        re.compile(
            r"(?i)((?:authorization|api-key)\b['\"]?\s*[:=,]\s*b?['\"]?(?:(?:basic|token)\s+)?)(?=[^\d\s]{0,200}\d)[\w.~+/*=-]{16,}"
        ),
        rf"\1{_MASK}",
    ),
    (
        re.compile(r"\b(?:sk|pk|gsk|xai|hf)[-_][\w*-]{6,}"),
        _MASK,
    ),  # also the half-masked ones of 401 texts
    (re.compile(r"\bAIza[\w-]{30,}"), _MASK),  # Google
    (re.compile(r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,})"), _MASK),  # GitHub, GitLab
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), _MASK),  # AWS
    (re.compile(r"\b(?:xox[abeprs]-[\w-]{10,}|r8_\w{20,})"), _MASK),  # Slack, Replicate
    (re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"), _MASK),  # a JWT
    (
        re.compile(r"-----BEGIN ([A-Z ]{0,30}PRIVATE KEY)-----[^-]{1,20000}(?:-----END \1-----)?"),
        _MASK,
    ),
)


def redact(text: str, secrets: Iterable[str] = (), environ: Mapping[str, str] | None = None) -> str:
    """Return the text with every known or likely key replaced by `[key]`.

    Args:
        text: Any text, such as that of a provider's error, and the whole of it: of a key that is cut
            short only the usual beginnings are recognised.
        secrets: Keys in use; they are found as they are and escaped for a URL, JSON, HTML or Python.
        environ: Where further keys may stand; `os.environ` by default.
    """
    known = sorted({*secrets, *_secrets_of(environ)}, key=len, reverse=True)
    known = [secret for secret in known if len(secret.replace("\\", "")) >= _SHORTEST_SECRET]
    for secret in known:
        text = _any_spelling(secret).sub(_MASK, text)
    text = _without_parts(text, known)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def _secrets_of(environ: Mapping[str, str] | None) -> list[str]:
    source = os.environ if environ is None else environ
    return [value.strip() for name, value in source.items() if _SECRET_VARIABLE.search(name.upper())]


def _without_parts(text: str, secrets: list[str]) -> str:
    """Return the text without the beginnings and ends of keys around an elision."""
    kept, end = [], 0
    for elision in _ELISION.finditer(text):
        if elision.start() < end:
            continue
        before = text[max(end, elision.start() - _LONGEST_PART) : elision.start()]
        after = text[elision.end() : elision.end() + _LONGEST_PART]
        head = max((_overlap(before, secret) for secret in secrets), default=0)
        tail = max((_overlap(secret, after) for secret in secrets), default=0)
        if head or tail:
            kept += [text[end : elision.start() - head], _MASK]
            end = elision.end() + tail
    return "".join([*kept, text[end:]])


def _overlap(left: str, right: str) -> int:
    """Return how many characters at the end of one text begin the other; 0 when too few to tell anything."""
    lengths = range(min(len(left), len(right)), _SHORTEST_PART - 1, -1)
    return next((length for length in lengths if left.endswith(right[:length])), 0)


def _any_spelling(secret: str) -> re.Pattern[str]:
    """Return a pattern for a key, plain or escaped, and escaped again by whoever passed it on.

    Every escape of a text in quotes is made with backslashes, and escaping it again doubles them, so
    their number says nothing: those of the key itself are not looked for.
    """
    parts = (re.escape(char) if _is_never_escaped(char) else _spellings(char) for char in secret)
    pattern = "".join(parts)
    while 2 * _BACKSLASHES in pattern:  # neighbours would share a row of them in every way there is
        pattern = pattern.replace(2 * _BACKSLASHES, _BACKSLASHES)
    return re.compile(pattern)


def _is_never_escaped(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char in "-_")


def _spellings(char: str) -> str:
    if char == "\\":
        return _BACKSLASHES
    utf8 = re.findall("..", char.encode("utf-8", "surrogatepass").hex())
    utf16 = re.findall("....", char.encode("utf-16-be", "surrogatepass").hex())
    forms = [
        re.escape(char),
        re.escape(html.escape(char)),
        rf"&\#(?:0*{ord(char)}|x0*{ord(char):x});",
        "".join(rf"%(?:25){{0,2}}{byte}" for byte in utf8),
        _BACKSLASHES.join(f"x{byte}" for byte in utf8),
        _BACKSLASHES.join(f"u{unit}" for unit in utf16),
    ]
    return rf"{_BACKSLASHES}(?i:{'|'.join(forms)})"
