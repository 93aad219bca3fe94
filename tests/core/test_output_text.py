"""Long outputs: cut for the model, the newest kept whole."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from runcell_nb.core.output_text import MAX_OUTPUT_CHARS, MAX_OUTPUTS, OUTPUT_FOLDER, OutputStore
from runcell_nb.core.sandbox import Capabilities, FileInfo, Sandbox
from runcell_nb.core.sandbox_options import create_sandbox


@pytest.fixture
async def sandbox():
    async with create_sandbox() as made:
        yield made


async def test_outputs_of_runs_that_share_a_sandbox_are_all_kept(sandbox):
    stores = [OutputStore(sandbox) for _ in range(3)]
    await asyncio.gather(*(store.fitted(f"{n}" * 40_000) for n, store in enumerate(stores)))
    kept = [await sandbox.read_text_file(f".runcell/outputs/{n}.txt") for n in (1, 2, 3)]
    assert sorted(text[0] for text in kept) == ["0", "1", "2"]


class Plain:
    """A session with the required members only; it knows what was asked of it."""

    def __init__(self, session):
        self.id, self.working_directory = session.id, session.working_directory
        self.asked, self._session = [], session

    async def run(self, command, **options):
        return await self._session.run(command, **options)

    async def read_file(self, path):
        self.asked.append(("read", path))
        return await self._session.read_file(path)

    async def write_file(self, path, data):
        self.asked.append(("write", path))
        await self._session.write_file(path, data)

    async def remove(self, path):
        await self._session.remove(path)

    async def list_files(self):
        self.asked.append(("list", ""))
        kept = await self._session.list_directory(OUTPUT_FOLDER) or []
        listed = [FileInfo(f"{OUTPUT_FOLDER}/{name}", 1, datetime.now(UTC)) for name in kept]
        return [*await self._session.list_files(), *listed]

    async def stop(self):
        await self._session.stop()


class Listing(Plain):
    """The same with a way to list one folder."""

    async def list_directory(self, path):
        self.asked.append(("list", path))
        return await self._session.list_directory(path)


@pytest.mark.parametrize("kind", [Plain, Listing])
async def test_keeping_an_output_reads_none_and_only_the_newest_stay(sandbox, kind):
    session = kind(sandbox._session)
    custom = Sandbox(session, kind="custom", capabilities=Capabilities())
    runs = MAX_OUTPUTS + 7
    for number in range(1, runs + 1):  # each in a run of its own
        said = await OutputStore(custom).fitted(f"{number} " + "x" * MAX_OUTPUT_CHARS)
        assert f"{OUTPUT_FOLDER}/{number}.txt" in said
    assert [what for what, _ in session.asked] == ["list", "write"] * runs
    kept = {int(name.removesuffix(".txt")) for name in await sandbox.list_directory(OUTPUT_FOLDER)}
    assert kept == set(range(runs - MAX_OUTPUTS + 1, runs + 1))
    for number in (min(kept), runs):
        text = await custom.read_text_file(f"{OUTPUT_FOLDER}/{number}.txt")
        assert text.startswith(f"{number} ")
    assert await custom.list_directory() == [] and await custom.list_files() == []


async def test_what_others_put_beside_the_outputs_is_left_alone(sandbox):
    others = ["notes.md", "07.txt", "x3.txt", "4.txt.bak", "٣.txt"]
    for name in [*others, "60.txt", "3.txt/below"]:
        await sandbox.write_file(f"{OUTPUT_FOLDER}/{name}", "mine")
    for number in range(61, 61 + MAX_OUTPUTS):
        assert f"/{number}.txt" in await OutputStore(sandbox).fitted("x" * (MAX_OUTPUT_CHARS + 1))
    for name in [*others, "3.txt/below"]:
        assert await sandbox.read_text_file(f"{OUTPUT_FOLDER}/{name}") == "mine"
    assert await sandbox.read_file(f"{OUTPUT_FOLDER}/60.txt") is None


async def test_output_that_just_fits_is_untouched(sandbox):
    fits = "x" * MAX_OUTPUT_CHARS
    assert await OutputStore(sandbox).fitted(fits) == fits
    assert len(await OutputStore(sandbox).fitted(fits + "y")) < MAX_OUTPUT_CHARS + 300
