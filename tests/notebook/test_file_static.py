"""The listing that stays in the notebook."""

from __future__ import annotations

from datetime import UTC, datetime

from runcell_nb.core.sandbox import FileInfo
from runcell_nb.notebook.file_listing import FileListing
from runcell_nb.notebook.file_static import static_listing


def listing_of(*takes: dict[str, int]) -> FileListing:
    listing = FileListing()
    for hour, sizes in enumerate(takes):
        time = datetime(2024, 1, 1, hour, tzinfo=UTC)
        listing.take([FileInfo(path, size, time) for path, size in sizes.items()])
    return listing


def test_long_listings_are_cut_and_what_changed_comes_first() -> None:
    sizes = {f"f{n:03}": 1 for n in range(250)}
    listing = listing_of(sizes, sizes)
    listing.mark()
    listing.take([*listing.below("")[:-1], FileInfo("f249", 2, datetime(2024, 1, 2, tzinfo=UTC))])
    bundle = static_listing("virtual", listing, "p")
    title, first, *_, last = bundle["text/plain"].splitlines()
    assert title == "virtual sandbox, 250 files · 251 B · 1 modified"
    assert (first, last) == ("M f249  2 B", "and 50 more")
    assert "and 50 more" in bundle["text/html"]


def test_deleted_files_are_listed() -> None:
    bundle = static_listing("virtual", listing_of({"a": 1, "b": 2}, {}), "p")
    assert bundle["text/plain"].splitlines()[1:] == ["D a  1 B", "D b  2 B"]


def test_it_is_one_line_a_file_whatever_the_name() -> None:
    names = ["a\nb", "\u202egnp.exe", "\x1b[31mred", "</code><script>", "n" * 5_000, "\ttab\r", "<b>.txt"]
    bundle = static_listing("virtual", listing_of(dict.fromkeys(names, 0)), "p")
    assert len(bundle["text/plain"].split("\n")) == 1 + len(names)
    assert len(bundle["text/html"]) < 6_000
    assert "<script" not in bundle["text/html"]
    assert "&lt;b&gt;.txt" in bundle["text/html"]
    assert not set(bundle["text/plain"] + bundle["text/html"]) & set("\x1b\u202e\t\r")
