"""Pictures are known by their first bytes, never by their name."""

from __future__ import annotations

_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def image_type(data: bytes) -> str | None:
    """Return the media type of a png, jpeg, gif or webp picture; None for everything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _STARTS.items() if data.startswith(start)), None)
