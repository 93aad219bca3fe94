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
from runcell_nb.notebook.commands import run_command
from runcell_nb.notebook.interrupt import Stopper
from runcell_nb.notebook.notebook_state import state_from_metadata, state_to_metadata
from runcell_nb.notebook.session import NotebookSession
from runcell_nb.notebook.settings import Runcell


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
    kept = state_to_metadata(session.book, session.files, session.book.active.turns[-1].files_after)
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
