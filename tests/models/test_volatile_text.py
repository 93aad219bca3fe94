"""What varies in the result of a tool, and what does not."""

from __future__ import annotations

import pytest

from runcell_nb.models.volatile_text import without_volatile


@pytest.mark.parametrize(
    ("today", "yesterday"),
    [
        ("done at 2026-11-30T22:32:24.123Z", "done at 2025-01-02T03:04:05+02:00"),
        ("Mon Nov 30 22:32:24 UTC 2026", "Tue Jan  6 01:02:03 UTC 2026"),
        ("Mon, 30 Nov 2026 22:32:24 GMT", "Tue, 06 Jan 2026 01:02:03 GMT"),
        ("on 2026-11-30", "on 2025-12-01"),
        ("November 30, 2026", "May 1, 2025"),
        ("at 22:32", "at 9:01"),
        ("epoch 1796077944.25", "epoch 1796077945.5"),
        ("took 1.25s", "took 0.5s"),
        ("3 passed in 0.12 seconds", "3 passed in 14.7 seconds"),
        ("real\t0m0.003s", "real\t1m2.1s"),
        ("12 ms", "9 ms"),
        ("id 4f9a1b2c-1111-2222-3333-444455556666", "id 00000000-1111-2222-3333-abcdefabcdef"),
        ("<object at 0x7f8aabcdef01>", "<object at 0x7f8aabcd1234>"),
        ("/tmp/tmpab12cd_3/x.csv", "/tmp/tmpzz99yy_1/x.csv"),
        ("/tmp/runcell-Ab3dE9/x.csv", "/private/var/folders/ab/c9d8e7/T/runcell-x8Yz12/x.csv"),
        (r"C:\Users\ann\AppData\Local\Temp\tmpq1w2e3\x", r"C:\Users\bob\AppData\Local\Temp\tmpz9y8x7\x"),
        (
            "total 8\ndrwxr-xr-x 2 ann staff 4096 Nov 30 22:32 src\n-rw-r--r-- 1 ann staff 12 Nov 30 2026 a",
            "total 16\ndrwxr-xr-x 9 bob users  64 Jan  1 10:00 src\n-rw-r--r--@ 3 bob users 12 Dec 9 2025 a",
        ),
    ],
)
def test_what_varies_is_one_text(today: str, yesterday: str) -> None:
    assert without_volatile(today) == without_volatile(yesterday)
    assert without_volatile(without_volatile(today)) == without_volatile(today)


@pytest.mark.parametrize(
    "text",
    [
        "7 sheep, 12-14 of 30, v3.11.2, ratio 16:9, 1.5",
        "notes.txt:10:42 a hit",
        "total 8 apples",
        "in 3 minutes, for 2 hours",
        "2026 was a year; 2026-13-45 is no date",
        "id 4f9a1b2c",
        "",
        "no digit at all",
    ],
)
def test_what_means_something_stays(text: str) -> None:
    assert without_volatile(text) == text


def test_of_a_listing_mode_name_and_size_of_a_file_stay() -> None:
    listing = "-rw-r--r-- 1 ann staff 12 Nov 30 22:32 a b.txt"
    assert without_volatile(listing) == "-rw-r--r-- 12 a b.txt"
    assert without_volatile(listing.replace(" 12 ", " 13 ")) != without_volatile(listing)
    assert without_volatile(listing.replace("-rw-r", "-rwxr")) != without_volatile(listing)


def test_of_a_temporary_path_what_a_person_named_stays() -> None:
    assert without_volatile("/tmp/report.txt") == "<tmp>/report.txt"
    assert without_volatile("/tmp/tmpab12cd_3/report.txt") == "<tmp>/<name>/report.txt"


@pytest.mark.parametrize(
    "piece", ["1", "-", "1.", "a-", "Jan ", "0x", "/tmp", "-rw-r--r-- 1 ", "22:", "Mon, 1 Jan "]
)
def test_a_hostile_text_is_read_in_one_pass(piece: str) -> None:
    text = piece * (100_000 // len(piece))  # takes minutes where time grows with the square of the length
    assert without_volatile(without_volatile(text)) == without_volatile(text)
