from __future__ import annotations

import pytest

from runcell_nb.core.image_type import image_type


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0...", "image/jpeg"),
        (b"GIF87a...", "image/gif"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\0\0\0WAVEfmt ", None),
        (b"\x89PN", None),
        (b"<svg/>", None),
        (b"", None),
    ],
)
def test_pictures_are_known_by_their_first_bytes(data: bytes, kind: str | None) -> None:
    assert image_type(data) == kind
