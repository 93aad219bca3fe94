"""Single changes folded into the changed files of a run, over a real workspace."""

from __future__ import annotations

import pytest

from runcell_nb import create_sandbox
from runcell_nb.core.change_ledger import ChangeLedger
from runcell_nb.core.outcome import Change
from tests.conformance import cases

CANNOT_APPLY = {
    "file_changes.008": "changes are typed values from the file system: there is none without a path or kind",
}
CASES = cases("core_cases.json", "file_changes")


def case_of(parameter):
    return parameter.id.split()[0]


@pytest.fixture
async def sandbox():
    async with create_sandbox() as made:
        yield made


def shown(file):
    return {"path": file.path, "change": file.change, "text": file.text()}


@pytest.mark.parametrize(("given", "expect"), [case for case in CASES if case_of(case) not in CANNOT_APPLY])
async def test_file_changes_cases(sandbox, given, expect):
    for path, text in given["contents"].items():
        await sandbox.write_file(path, text)
    ledger = ChangeLedger(sandbox)
    events = [
        await ledger.record(Change(notice["path"], notice["event"]), "call") for notice in given["notices"]
    ]
    assert [shown(event.file) for event in events] == expect["ok"]["events"]
    assert [shown(file) for file in ledger.files] == expect["ok"]["files"]
    assert [(event.path, event.change) for event in events] == [
        (event.file.path, event.file.change) for event in events
    ]


def test_every_case_runs_or_says_why_it_cannot():
    known = {case_of(case) for case in CASES}
    assert CANNOT_APPLY.keys() < known
    assert len(known) == 5


async def test_a_delete_withdraws_the_file_and_a_later_write_stands_last(sandbox):
    ledger = ChangeLedger(sandbox)
    for path in ("a", "b"):
        await sandbox.write_file(path, "1")
        await ledger.record(Change(path, "create"), None)
    await sandbox.remove("a")
    gone = await ledger.record(Change("a", "delete"), None)
    assert (gone.change, gone.file) == ("delete", None)
    assert [file.path for file in ledger.files] == ["b"]
    await sandbox.write_file("a", "2")
    await ledger.record(Change("a", "modify"), None)
    assert [(file.path, file.change) for file in ledger.files] == [("b", "create"), ("a", "modify")]


async def test_a_file_that_is_gone_when_it_is_read_back_is_not_told(sandbox):
    ledger = ChangeLedger(sandbox)
    assert await ledger.record(Change("a", "create"), None) is None
    assert ledger.files == []


async def test_modify_then_create_is_a_create(sandbox):
    await sandbox.write_file("a", "1")
    ledger = ChangeLedger(sandbox)
    await ledger.record(Change("a", "modify"), None)
    await ledger.record(Change("a", "create"), None)
    assert [file.change for file in ledger.files] == ["create"]
