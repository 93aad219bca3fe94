"""One `%%runcell` cell: back to before its turn if it had one, then its run, then what is kept of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from runcell_nb.core.agent import Agent
from runcell_nb.core.events import RunStartedEvent
from runcell_nb.core.gateway import ModelGateway
from runcell_nb.core.result import RunResult
from runcell_nb.core.run import AgentRun
from runcell_nb.core.sandbox import Sandbox
from runcell_nb.models.recorded_cell import short_digests

from .cell_inputs import CellInput, note_of, read_cell_inputs
from .cell_options import CellOptions
from .cell_setup import limits_of
from .cell_view import GuardedView
from .cost import CostTally
from .file_digests import digest_of
from .file_history import FileHistory
from .interrupt import Stopper
from .notebook_thread import NotebookThread, ThreadMark
from .playback import Playback
from .run_end import STOPPED, end_of
from .sandbox_shelf import SandboxShelf
from .shown_text import count_text
from .spending import RunMeter
from .turns import Rewind, ThreadBook, Turn

SETTLE_SECONDS = 5.0
"""The longest wait for the last events of a run that is over, or was left behind because it hangs."""


class Notebook(Protocol):
    """What a run needs of the notebook it is in; `NotebookSession` documents each."""

    book: ThreadBook
    shelf: SandboxShelf
    files: FileHistory
    costs: CostTally
    last_result: RunResult[Any] | None

    @property
    def namespace(self) -> dict[str, Any]: ...  # noqa: D102
    @property
    def in_kernel(self) -> bool: ...  # noqa: D102
    async def rebuilt(self, name: str) -> str | None: ...  # noqa: D102
    def view(  # noqa: D102
        self, stop: Callable[[], object], options: CellOptions, thread: NotebookThread
    ) -> GuardedView: ...
    async def keep(  # noqa: D102
        self, thread: NotebookThread, view: GuardedView, place: str, files: str | None
    ) -> None: ...
    def remember(  # noqa: D102
        self, thread: NotebookThread, cell: str, prompt: str, options: CellOptions, model: str
    ) -> None: ...
    async def record(self, playback: Playback, *, failed: bool) -> str | None: ...  # noqa: D102
    def spend(self, meter: RunMeter, state: str, thread: str, cell: str) -> None: ...  # noqa: D102
    def files_changed(self) -> None: ...  # noqa: D102


@dataclass(slots=True)
class _Ground:
    """What a run stands on, made ready.

    Attributes:
        thread: The conversation.
        sandbox: Where the files are.
        inputs: What `--in` puts there.
        start: State of the files when the cell began, to go back to when its run fails.
        left_out: Files whose content that state has not, because they are too big.
        before: State of the files before the run.
        mark: Where the conversation stands before the run.
        rewind: What was taken back of the conversation for the run.
        took_files: Whether the files were taken back for it.
        notes: Sentences for the person.
        told: Sentences for the model.
    """

    thread: NotebookThread
    sandbox: Sandbox
    inputs: list[CellInput]
    start: str | None = None
    left_out: tuple[str, ...] = ()
    before: str | None = None
    mark: ThreadMark | None = None
    rewind: Rewind | None = None
    took_files: bool = False
    notes: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def _unsay(ground: _Ground) -> None:
    """Take a run out of its conversation that had told it before it turned out to be none."""
    thread, mark = ground.thread, ground.mark
    if mark is not None and thread.thread.message_count > mark.messages:
        log = None if mark.log is None else len(mark.log)
        thread.put(thread.thread.rewound(mark.messages, log), thread.turns)


class CellRun:
    """The run of one cell.

    Args:
        session: Of the notebook.
        options: Of the cell.
        prompt: As typed.
        agents: Makes the agent that answers it, from a model id or a gateway.
        schema: Of the result's data; None for text.
        cell: To which the turn will belong.
        model: What answers: a model id or a gateway.
        playback: Of the recording; None where the cell is neither replayed nor recorded.
    """

    def __init__(
        self,
        session: Notebook,
        options: CellOptions,
        prompt: str,
        agents: Callable[[str | ModelGateway], Agent],
        schema: Any,
        cell: str,
        model: str | ModelGateway,
        playback: Playback | None = None,
    ) -> None:
        self._session = session
        self._options = options
        self._prompt = prompt
        self._agents = agents
        self._model = model
        self._playback = playback
        self._schema = schema
        self._cell = cell
        self._place = ""
        self._started: Callable[[AgentRun[Any]], object] = lambda _: None

    async def go(
        self, stop: Stopper, started: Callable[[AgentRun[Any]], object] = lambda _: None
    ) -> RunResult[Any]:
        """Run the cell to its end.

        Args:
            stop: Stops whatever it is at.
            started: Is told the run once its session has started.

        Returns:
            The `RunResult`.

        Raises:
            RuncellError: What went wrong; conversation and cell's turn are as before.
        """
        self._started = started
        ground = await stop.during(self._prepared())
        try:
            agent = self._agents(self._answering(ground))
            # The view comes first: a run without one could not be stopped.
            view = self._session.view(stop, self._options, ground.thread)
            for note in ground.notes:
                view.tell(note)
            run = agent.stream(
                "\n\n".join([self._prompt, *filter(None, [note_of(ground.inputs), *ground.told])]),
                schema=self._schema,
                files=[entry.file for entry in ground.inputs],
                sandbox=ground.sandbox,
                thread=ground.thread.thread,
                limits=limits_of(self._options),
            )
            stop.stops(lambda: run.cancel(STOPPED))
            return await self._watched(run, view, ground)
        except BaseException:
            await self._taken_back(ground)
            raise

    def _answering(self, ground: _Ground) -> str | ModelGateway:
        """Return what answers: the model, or the recording."""
        if self._playback is None:
            return self._model
        digests = self._session.files.digests(ground.before)
        given = {entry.file.path: digest_of(entry.file.bytes or b"") for entry in ground.inputs}
        known = None if digests is None else short_digests({**digests, **given})
        model, note = self._playback.begin(known)
        if note is not None:
            ground.notes.append(note)
        return model

    async def _prepared(self) -> _Ground:
        """Make everything ready; whatever goes wrong here has changed nothing."""
        session, options = self._session, self._options
        thread = session.book.get(options.thread) if options.thread else session.book.active
        name = self._place = session.shelf.check(options.sandbox)
        thread.adopt(self._cell, self._prompt)
        inputs = await read_cell_inputs(options.inputs, session.namespace)
        sandbox = await session.shelf.get(name)
        ground = _Ground(thread, sandbox, inputs)
        rebuilt = await session.rebuilt(name)
        ground.start = await session.files.capture(sandbox)
        ground.left_out = session.files.left_out
        try:
            await self._take_back(ground)
            if rebuilt is not None and ground.rewind is None:
                ground.notes.append(rebuilt)
                if thread.thread.message_count:
                    ground.told.append(f"Note on the sandbox: {rebuilt}")
            took = ground.took_files
            ground.before = await session.files.capture(sandbox) if took else ground.start
            ground.mark = thread.mark()
        except BaseException:
            await self._taken_back(ground)
            raise
        return ground

    async def _take_back(self, ground: _Ground) -> None:
        """Take conversation and files back to before the turn of this cell, or to nothing with `--fresh`."""
        session, thread = self._session, ground.thread
        index = thread.turn_of(self._cell)
        if not self._options.fresh and index is None:
            return
        turn = None if index is None else thread.turns[index]
        later = 0 if index is None else len(thread.turns) - index - 1
        if self._options.fresh:
            ground.rewind = session.book.start_over(thread, self._cell)
        else:
            ground.rewind = session.book.run_again(thread, self._cell)
        if ground.rewind is not None and ground.rewind.fork is not None:
            what = "what was there" if self._options.fresh else f"{count_text(later, 'later turn')}"
            ground.notes.append(f"Run again: {what} stays as thread {ground.rewind.fork!r}.")
        problem = self._files_stay(ground, turn) or await self._take_files_back(ground, turn)
        if problem:
            ground.notes.append(problem)

    def _files_stay(self, ground: _Ground, turn: Turn | None) -> str | None:
        """Tell why the files stay as they are; None when they are to be taken back."""
        foreign = self._session.shelf.foreign(self._place)
        if foreign is not None:
            return f"{foreign}; its files stay as they are."
        if ground.start is None:
            return "The files are too big to be taken back; they stay as they are."
        if self._options.fresh or turn is None:
            return None
        if turn.sandbox != self._place:
            return (
                f"This turn ran in sandbox {turn.sandbox!r} before; "
                f"the files of sandbox {self._place!r}, in which it runs now, stay as they are."
            )
        if turn.files_before is None:
            return "The files of before this turn were not kept; they stay as they are."
        return None

    async def _take_files_back(self, ground: _Ground, turn: Turn | None) -> str | None:
        """Make the files those of before the turn, or none; return what could not be brought back."""
        files, state = self._session.files, None if turn is None else turn.files_before
        ground.took_files = True
        try:
            if self._options.fresh or state is None:
                return await files.clear(ground.sandbox, ground.left_out)
            return await files.restore(ground.sandbox, state, ground.left_out)
        finally:
            self._session.files_changed()

    async def _taken_back(self, ground: _Ground) -> None:
        """Put back what was taken back for a run that failed, so that the cell's turn is as before."""
        rewind, ground.rewind = ground.rewind, None
        took, ground.took_files = ground.took_files, False
        if rewind is not None:
            self._session.book.undo(rewind)
        if took and ground.start is not None:
            with suppress(Exception):  # the run's own failure is what is told
                await self._session.files.restore(ground.sandbox, ground.start)
            self._session.files_changed()

    async def _watched(self, run: AgentRun[Any], view: GuardedView, ground: _Ground) -> RunResult[Any]:
        """Show a run to its end and keep what it used; nothing of that touches its result."""
        session = self._session
        meter = RunMeter(session.costs)
        telling = asyncio.ensure_future(self._tell(run, view, meter))
        try:
            result = await run.result()
            if self._playback is not None:
                self._playback.check()
        except BaseException as error:
            state, message = end_of(error)
            if state == "failed":
                await self._recorded(view, failed=True)
            _unsay(ground)
            await self._end(telling, view, meter, ground, state, message)
            raise
        await asyncio.wait({telling}, timeout=SETTLE_SECONDS)  # the turn has what the last events tell
        session.remember(ground.thread, self._cell, self._prompt, self._options, meter.model)
        if self._options.out is not None:
            session.namespace[self._options.out] = result
        if self._schema is not None:
            view.show_data(result.data)
        await self._recorded(view, failed=False)
        await self._keep(ground, meter, view)
        await self._end(telling, view, meter, ground, "done")
        shown = session.in_kernel and not view.failed and not self._options.background
        session.last_result = result if shown else None
        return result

    async def _recorded(self, view: GuardedView, *, failed: bool) -> None:
        """Let the notebook take what was recorded, and say what was replayed; a fault there is one line."""
        if self._playback is None:
            return
        told = None if failed else self._playback.told()
        try:
            notes = [told, await self._session.record(self._playback, failed=failed)]
        except Exception as error:
            view.complain("what was recorded", error)
            notes = [told]
        for note in filter(None, notes):
            view.tell(note)

    async def _keep(self, ground: _Ground, meter: RunMeter, view: GuardedView) -> None:
        """Make the run a turn of its thread, and let the notebook keep it; a fault there is one line."""
        session = self._session
        ground.rewind, ground.took_files, after = None, False, None
        try:
            after = await session.files.capture(ground.sandbox)
        except Exception as error:  # the sandbox is gone, say; the turn is one all the same
            view.complain("what the notebook keeps", error)
        try:
            assert ground.mark is not None
            session.book.add_turn(
                ground.thread,
                ground.mark,
                cell=self._cell,
                prompt=self._prompt,
                model=meter.model,
                files_before=ground.before,
                files_after=after,
                tokens=meter.tokens,
                cost=meter.cost,
                sandbox=self._place,
            )
            await session.keep(ground.thread, view, self._place, after)
        except Exception as error:
            view.complain("what the notebook keeps", error)

    async def _end(
        self,
        telling: asyncio.Task[None],
        view: GuardedView,
        meter: RunMeter,
        ground: _Ground,
        state: Any,
        message: str | None = None,
    ) -> None:
        """Let the last events be shown, a bounded time: a run that hangs has no end."""
        try:
            await asyncio.wait({telling}, timeout=SETTLE_SECONDS)
        finally:
            telling.cancel()
            view.end(state, message)
            if meter.started:
                self._session.spend(meter, state, ground.thread.name, self._cell)

    async def _tell(self, run: AgentRun[Any], view: GuardedView, meter: RunMeter) -> None:
        """Count and show the events of a run."""
        async for event in run.events():
            meter.take(event)
            view.show(event)
            if isinstance(event, RunStartedEvent):
                self._started(run)
