"""Running a cell again: conversation and files go back to before its turn (NOTEBOOK.md, section 1)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from runcell_nb import (
    IncompleteResultError,
    InvalidOptionError,
    LimitExceededError,
    RequestUsage,
    RuncellNotImplementedError,
    ScriptedModel,
    TurnError,
    UsageDelta,
)
from runcell_nb.notebook.cell_view import GuardedView
from runcell_nb.notebook.commands import run_command
from runcell_nb.notebook.interrupt import Stopper
from runcell_nb.notebook.notebook_state import state_from_metadata, state_to_metadata
from runcell_nb.notebook.session import NotebookSession
from runcell_nb.notebook.settings import Runcell

from .test_sandbox_shelf import DiskProvider


class Notebook:
    """A session whose cells have ids, as in a front end, and a scripted model for each run."""

    def __init__(self) -> None:
        self.session = NotebookSession(SimpleNamespace(user_ns={}), Runcell())
        self.requests: list[Any] = []

    async def run(self, cell: str, *responses: Any, options: str = "", prompt: str = "") -> Any:
        model = self.session.namespace["model"] = ScriptedModel(responses or [f"answer of {cell}"])
        self.session._cells.next = lambda: cell  # type: ignore[method-assign]
        try:
            return await self.session.run_cell(f"-m model {options}", prompt or f"prompt of {cell}")
        finally:
            self.requests.append(
                [texts(message) for message in model.requests[0].messages] if model.requests else []
            )

    def told(self, thread: str | None = None) -> list[str]:
        book = self.session.book
        held = book.active if thread is None else book.get(thread)
        return [message.content for message in held.thread.messages]

    async def files(self) -> dict[str, str]:
        sandbox = await self.session.sandbox()
        return {
            info.path: (await sandbox.read_text_file(info.path)) or "" for info in await sandbox.list_files()
        }


def texts(message: Any) -> str:
    return "".join(getattr(block, "text", "") for block in message.content)


def write(path: str, content: str) -> dict[str, Any]:
    return {"tool": "write", "input": {"file_path": path, "content": content}}


@pytest.fixture
async def notebook() -> AsyncIterator[Notebook]:
    notebook = Notebook()
    yield notebook
    await notebook.session.close()


async def three_cells(notebook: Notebook) -> None:
    await notebook.run("a", [write("a.txt", "1")], "done a")
    await notebook.run("b", [write("a.txt", "2"), write("b.txt", "1")], "done b")
    await notebook.run("c", [{"tool": "bash", "input": {"command": "rm a.txt"}}], "done c")


async def test_a_cell_that_runs_again_asks_the_same_and_the_later_turns_stay_as_a_fork(
    notebook: Notebook,
) -> None:
    await three_cells(notebook)
    await notebook.run("b", [write("b.txt", "again")], "done again")
    assert notebook.told() == ["prompt of a", "done a", "prompt of b", "done again"]
    assert await notebook.files() == {"a.txt": "1", "b.txt": "again"}
    assert notebook.requests[3] == notebook.requests[1]
    fork = next(name for name in notebook.session.book.names if name != "main")
    assert notebook.told(fork)[-1] == "done c"


async def test_the_last_cell_again_forks_nothing(notebook: Notebook) -> None:
    await three_cells(notebook)
    for _ in range(20):
        await notebook.run("c", "done c, again")
    assert notebook.session.book.names == ["main"]
    assert notebook.told()[-1] == "done c, again"
    assert await notebook.files() == {"a.txt": "2", "b.txt": "1"}
    assert len(notebook.session.book.active.turns) == 3


async def test_run_all_twice_leaves_the_same_thread_and_the_same_files(notebook: Notebook) -> None:
    await three_cells(notebook)
    told, files = notebook.told(), await notebook.files()
    for _ in range(2):
        await three_cells(notebook)
        assert notebook.told() == told
        assert await notebook.files() == files
    assert notebook.session.book.names == ["main"]
    assert notebook.requests[:3] == notebook.requests[3:6] == notebook.requests[6:]


@pytest.mark.parametrize("error", [OSError("broken"), asyncio.CancelledError()])
async def test_a_run_that_fails_leaves_turn_thread_and_files_as_they_were(
    notebook: Notebook, error: Any
) -> None:
    await three_cells(notebook)
    told, files = notebook.told(), await notebook.files()
    with pytest.raises(TurnError):
        await notebook.run("b", [write("b.txt", "half")], [error])
    assert (notebook.told(), await notebook.files()) == (told, files)
    assert notebook.session.book.names == ["main"]
    with pytest.raises(InvalidOptionError):
        await notebook.run("b", options="--in nothing_like_it")
    assert (notebook.told(), await notebook.files()) == (told, files)


async def test_fresh_starts_from_nothing(notebook: Notebook) -> None:
    await three_cells(notebook)
    await notebook.run("d", [write("d.txt", "1")], "done d", options="--fresh")
    assert notebook.told() == ["prompt of d", "done d"]
    assert await notebook.files() == {"d.txt": "1"}
    assert len(notebook.session.book.names) == 2


async def test_threads_and_sandboxes_by_name(notebook: Notebook) -> None:
    await notebook.run("a", [write("a.txt", "1")], "done a")
    with pytest.raises(InvalidOptionError, match="no thread 'side'"):
        await notebook.run("b", options="-t side")
    assert "'side' is new" in run_command(notebook.session, "thread new side")
    assert "made when a cell" in run_command(notebook.session, "sandbox new box") + run_command(
        notebook.session, "sandbox"
    )
    await notebook.run("b", "done b", options="-t side -s box")
    assert notebook.told("side") == ["prompt of b", "done b"]
    assert await notebook.files() == {}
    run_command(notebook.session, "thread switch main")
    run_command(notebook.session, "sandbox switch main")
    assert await notebook.files() == {"a.txt": "1"}
    await notebook.run("c", "done c")
    assert notebook.told() == ["prompt of a", "done a", "prompt of c", "done c"]
    listed = run_command(notebook.session, "thread")
    assert "* main" in listed
    assert "side" in listed
    assert "prompt of c" in run_command(notebook.session, "history")
    assert "done b" in run_command(notebook.session, "thread show side")
    for command in ("thread delete main", "thread new side", "thread swich x", "sandbox delete main"):
        with pytest.raises(InvalidOptionError):
            run_command(notebook.session, command)


async def test_snapshots_by_hand(notebook: Notebook) -> None:
    await notebook.run("a", [write("a.txt", "1")], "done")
    run_command(notebook.session, "sandbox snapshot before")
    await notebook.run("b", [write("a.txt", "2"), write("b.txt", "")], "done")
    run_command(notebook.session, "sandbox restore before")
    assert await notebook.files() == {"a.txt": "1"}
    assert "2 files" not in run_command(notebook.session, "sandbox reset")
    assert await notebook.files() == {}


class Invoice(BaseModel):
    total: int


async def test_the_options_of_a_run_reach_it(notebook: Notebook) -> None:
    notebook.session.namespace["Invoice"] = Invoice
    submitted = {"tool": "submitResult", "input": {"total": 3}}
    result = await notebook.run("a", [submitted], options="--schema Invoice --out r")
    assert result.data == Invoice(total=3)
    assert notebook.session.namespace["r"] is result
    with pytest.raises(IncompleteResultError, match="max_repairs=0"):
        await notebook.run("b", "no", options="--schema Invoice --max-repairs 0")
    with pytest.raises(LimitExceededError, match="max_requests"):
        await notebook.run("c", [{"tool": "ls"}], "x", options="--max-requests 1")
    with pytest.raises(InvalidOptionError, match="did you mean Invoice"):
        await notebook.run("d", options="--schema Invoic")
    await notebook.run("e", options="--thinking high --max-tokens 1000 --max-cost 1")


async def test_what_is_kept_comes_back_in_another_kernel(notebook: Notebook) -> None:
    await three_cells(notebook)
    session = notebook.session
    kept = state_to_metadata(session.book, session.files, session.shelf.kept())
    loaded = state_from_metadata(json.loads(json.dumps(kept)))
    other = Notebook()
    other.session.book, other.session.files = loaded.book, loaded.files
    try:
        assert other.told() == notebook.told()
        await other.run("a", [write("a.txt", "1")], "done a")
        assert other.requests[0] == notebook.requests[0]
        await other.run("b", [write("a.txt", "2"), write("b.txt", "1")], "done b")
        await other.run("c", [{"tool": "bash", "input": {"command": "rm a.txt"}}], "done c")
        assert other.told() == notebook.told()
        assert await other.files() == await notebook.files()
        assert other.session.book.names == ["main"]
    finally:
        await other.session.close()


async def test_what_a_turn_changed_as_text(notebook: Notebook) -> None:
    assert "no turns" in run_command(notebook.session, "diff")
    await three_cells(notebook)
    shown = run_command(notebook.session, "diff 2")
    assert shown.splitlines() == [
        "changed a.txt",
        "  @@ -1 +1 @@",
        "  -1",
        "  +2",
        "new b.txt",
        "  @@ -0,0 +1 @@",
        "  +1",
    ]
    assert run_command(notebook.session, "diff").startswith("deleted a.txt")
    for wrong in ("diff 9", "diff x", "diff 1 2"):
        with pytest.raises(InvalidOptionError):
            run_command(notebook.session, wrong)


async def test_the_runs_as_a_script(notebook: Notebook, tmp_path: Any) -> None:
    with pytest.raises(InvalidOptionError):
        run_command(notebook.session, f"export {tmp_path}/a.py")
    notebook.session.settings.model = "local/demo"
    notebook.session._cells.next = lambda: "x"  # type: ignore[method-assign]
    await notebook.session.run_cell("", "Create a.txt with the text: hi")
    run_command(notebook.session, f"export {tmp_path}/a.py")
    script = (tmp_path / "a.py").read_text()
    compile(script, "a.py", "exec")
    assert "local/demo" in script
    assert "Create a.txt" in script


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What views tell."""
    told: list[str] = []
    monkeypatch.setattr(GuardedView, "tell", lambda _, note: told.append(note))
    return told


async def test_another_sandbox_than_before_keeps_its_files(notebook: Notebook, notes: list[str]) -> None:
    await three_cells(notebook)
    run_command(notebook.session, "sandbox new box")
    await (await notebook.session.sandbox()).write_file("mine.txt", "1")
    await notebook.run("b", [write("b.txt", "in box")], "done b", options="-s box")
    assert notebook.told() == ["prompt of a", "done a", "prompt of b", "done b"]
    assert await notebook.files() == {"mine.txt": "1", "b.txt": "in box"}
    assert notes == [
        "Run again: 1 later turn stays as thread 'main fork 1'.",
        "This turn ran in sandbox 'main' before; "
        "the files of sandbox 'box', in which it runs now, stay as they are.",
    ]
    assert [turn.sandbox for turn in notebook.session.book.active.turns] == ["main", "box"]
    await notebook.run("b", "done b", options="-s box")
    assert await notebook.files() == {"mine.txt": "1"}, "now it ran there"
    run_command(notebook.session, "sandbox switch main")
    assert await notebook.files() == {"b.txt": "1"}
    await notebook.run("a", "done a")
    assert await notebook.files() == {}


async def test_a_failed_run_in_another_sandbox_changes_no_files_back(notebook: Notebook) -> None:
    await three_cells(notebook)
    told = notebook.told()
    run_command(notebook.session, "sandbox new box")
    with pytest.raises(TurnError):
        await notebook.run("b", [write("b.txt", "half")], [OSError("broken")])
    assert notebook.told() == told
    assert await notebook.files() == {"b.txt": "half"}


@pytest.fixture
async def disk(notebook: Notebook) -> dict[str, bytes]:
    """Files of a sandbox that is not the notebook's, in which cells work."""
    provider = DiskProvider()
    notebook.session.shelf.new("disk", {"type": "custom", "provider": provider})
    notebook.session.shelf.switch("disk")
    provider.files["mine.txt"] = b"1"
    return provider.files


STAY = "Sandbox 'disk' is one of your own making; its files stay as they are."


async def test_running_again_takes_no_files_of_a_disk_back(
    notebook: Notebook, disk: dict[str, bytes], notes: list[str]
) -> None:
    await notebook.run("a", [write("a.txt", "1")], "done a")
    await notebook.run("b", [write("a.txt", "2")], "done b")
    await notebook.run("a", "done again")
    assert notebook.told() == ["prompt of a", "done again"]
    assert disk == {"mine.txt": b"1", "a.txt": b"2"}
    assert notes[-1] == STAY
    await notebook.run("c", "done c", options="--fresh")
    assert notebook.told() == ["prompt of c", "done c"]
    assert disk == {"mine.txt": b"1", "a.txt": b"2"}
    assert notes[-1] == STAY


@pytest.mark.parametrize("options", ["", "--fresh"])
async def test_a_failed_run_puts_nothing_back_on_a_disk(
    notebook: Notebook, disk: dict[str, bytes], options: str
) -> None:
    await notebook.run("a", [write("a.txt", "1")], "done a")
    told = notebook.told()
    with pytest.raises(TurnError):
        await notebook.run("a", [write("a.txt", "half")], [OSError("broken")], options=options)
    assert notebook.told() == told
    assert disk == {"mine.txt": b"1", "a.txt": b"half"}


async def test_commands_remove_nothing_of_a_disk(notebook: Notebook, disk: dict[str, bytes]) -> None:
    run_command(notebook.session, "sandbox snapshot one")
    disk["later.txt"] = b"2"
    was = dict(disk)
    with pytest.raises(InvalidOptionError, match="of your own making: restore would remove") as refused:
        run_command(notebook.session, "sandbox restore one")
    assert disk == was and "--force" in str(refused.value)
    told = run_command(notebook.session, "sandbox reset")
    assert disk == was and "removed none" in told and "gone" not in told
    for word in ("force", "--force"):
        disk["later.txt"] = b"2"
        assert "those of snapshot 'one'" in run_command(notebook.session, f"sandbox restore one {word}")
        assert disk == {"mine.txt": b"1"}
    run_command(notebook.session, "sandbox switch main")
    assert "removed none" in run_command(notebook.session, "sandbox delete disk")
    assert disk == {"mine.txt": b"1"}
    kept = state_to_metadata(notebook.session.book, notebook.session.files, notebook.session.shelf.kept())
    assert kept["files"]["states"] == {}


async def test_files_that_could_not_be_kept_are_restored_over_only_when_told_so(notebook: Notebook) -> None:
    sandbox = await notebook.session.sandbox()
    run_command(notebook.session, "sandbox snapshot empty")
    for number in range(20):
        await sandbox.write_file(f"{number}.bin", b"x" * 1_000_000)
    with pytest.raises(InvalidOptionError, match="would be lost; nothing was changed"):
        run_command(notebook.session, "sandbox restore")
    assert len(await sandbox.list_files()) == 20
    run_command(notebook.session, "sandbox restore --force")
    assert await sandbox.list_files() == []


async def test_a_snapshot_may_be_called_force(notebook: Notebook) -> None:
    await (await notebook.session.sandbox()).write_file("a.txt", b"1")
    run_command(notebook.session, "sandbox snapshot force")
    run_command(notebook.session, "sandbox reset")
    assert "'force' again" in run_command(notebook.session, "sandbox restore force")
    assert await notebook.files() == {"a.txt": "1"}


async def test_named_sandboxes_come_back_in_another_kernel(notebook: Notebook, notes: list[str]) -> None:
    await notebook.run("a", [write("a.txt", "main")], "done a")
    run_command(notebook.session, "sandbox new box")
    await notebook.run("b", [write("a.txt", "box")], "done b")
    session = notebook.session
    kept = state_to_metadata(session.book, session.files, session.shelf.kept())
    loaded = state_from_metadata(json.loads(json.dumps(kept)))
    other = Notebook()
    other.session.book, other.session.files = loaded.book, loaded.files
    await other.session.shelf.take_up(loaded.shelf)
    try:
        await other.run("c", [{"tool": "bash", "input": {"command": "cat a.txt"}}], "done c")
        assert "Sandbox 'box' is a new one since the kernel restarted; 1 file" in notes[-1]
        assert await other.files() == {"a.txt": "box"}
        assert "Note on the sandbox: Sandbox 'box'" in str(other.requests[-1])
        await other.run("d", "done d", options="-s main")
        assert notes[-1].startswith("The sandbox is a new one")
        run_command(other.session, "sandbox switch main")
        assert await other.files() == {"a.txt": "main"}
    finally:
        await other.session.close()


async def test_a_fresh_run_that_fails_leaves_the_files(notebook: Notebook) -> None:
    await notebook.run("a", [write("a.txt", "1")], "done")
    run_command(notebook.session, "thread new side")
    with pytest.raises(TurnError):
        await notebook.run("b", [OSError("broken")], options="--fresh")
    assert await notebook.files() == {"a.txt": "1"}


@pytest.mark.parametrize("sizes", [[1_200_000], [1_000_000] * 20], ids=["one big", "many"])
async def test_what_could_not_be_put_back_is_never_removed(notebook: Notebook, sizes: list[int]) -> None:
    await notebook.run("a", "done")
    sandbox = await notebook.session.sandbox()
    for number, size in enumerate(sizes):
        await sandbox.write_file(f"{number}.bin", b"x" * size)
    await sandbox.write_file("small.txt", "1")
    before = [info.path for info in await sandbox.list_files()]
    with pytest.raises(TurnError):
        await notebook.run("a", [OSError("broken")])
    assert [info.path for info in await sandbox.list_files()] == before
    await notebook.run("a", "done again")
    left = {info.path for info in await sandbox.list_files()}
    assert {f"{number}.bin" for number in range(len(sizes))} <= left


async def test_a_sandbox_that_is_gone_behind_a_run_takes_no_turn_away(notebook: Notebook) -> None:
    async def capture(_sandbox: object) -> str | None:
        raise OSError("gone")

    await notebook.run("a", "one")
    kept = notebook.session.files.capture
    calls = 0

    async def second_fails(sandbox: Any) -> str | None:
        nonlocal calls
        calls += 1
        return await (capture(sandbox) if calls == 2 else kept(sandbox))

    notebook.session.files.capture = second_fails  # type: ignore[method-assign]
    await notebook.run("b", "two")
    assert [turn.cell for turn in notebook.session.book.active.turns] == ["a", "b"]
    await notebook.run("b", "two again")
    assert notebook.told() == ["prompt of a", "one", "prompt of b", "two again"]


async def test_a_second_interrupt_does_not_disturb_the_first() -> None:
    stopped = []
    stop = Stopper()
    stop.stops(lambda: stopped.append(1))
    stop()
    stop()
    assert stopped == [1]


async def test_the_script_has_what_the_threads_have(notebook: Notebook) -> None:
    for _ in range(3):
        await three_cells(notebook)
    assert [prompt for prompt, _ in notebook.session.ran] == ["prompt of a", "prompt of b", "prompt of c"]
    await notebook.run("b", "done b")
    assert [prompt for prompt, _ in notebook.session.ran][-1] == "prompt of b"


async def test_a_sandbox_that_cannot_be_made_is_refused_when_it_is_named(notebook: Notebook) -> None:
    with pytest.raises(RuncellNotImplementedError):
        run_command(notebook.session, "sandbox new box vercel")
    assert notebook.session.shelf.names == ["main"]


class Unshowable(BaseModel):
    total: int

    def __repr__(self) -> str:
        raise RuntimeError("no text")


async def test_a_result_that_cannot_be_shown_is_a_result_all_the_same(notebook: Notebook) -> None:
    notebook.session.namespace["Unshowable"] = Unshowable
    usage = RequestUsage(input_tokens=7, output_tokens=3, source="local")
    submitted = [UsageDelta(usage), {"tool": "submitResult", "input": {"total": 3}}]
    result = await notebook.run("a", submitted, options="--schema Unshowable")
    assert result.data.total == 3
    (turn,) = notebook.session.book.active.turns
    assert (turn.tokens, turn.model) == (10, "scripted/model")
