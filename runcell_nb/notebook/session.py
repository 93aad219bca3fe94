"""The notebook session: threads, sandboxes and the money spent, for all cells of a kernel."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from runcell_nb.core.agent_options import checked_prompt
from runcell_nb.core.backends import load_gateway
from runcell_nb.core.gateway import ModelGateway
from runcell_nb.core.result import RunResult
from runcell_nb.core.run import AgentRun
from runcell_nb.core.sandbox import FileInfo, Sandbox
from runcell_nb.core.sync_bridge import run_blocking
from runcell_nb.core.thread import Thread
from runcell_nb.models.defaults import MODEL_VARIABLE
from runcell_nb.models.recorded_cell import prompt_digest

from .background import BackgroundRuns
from .cell_identity import CellCounter
from .cell_options import CellOptions, parse_cell_options
from .cell_run import CellRun
from .cell_setup import agent_of, kept_tools_of, limits_of, model_of, name_of, schema_of
from .cell_view import GuardedView, LiveCellView, QuietCellView, TextCellView
from .cost import CostTally
from .export import ExportedCell
from .file_browser import FileBrowser
from .file_history import FileHistory
from .front_end import replaces_outputs
from .home_loop import running_loop
from .interrupt import Stopper, interrupt_stops
from .keeping import Keeping
from .notebook_thread import NotebookThread
from .playback import AskedCell, Playback
from .recordings import FoundCell, NotebookRecordings
from .sandbox_shelf import SandboxShelf
from .settings import Runcell
from .spending import CellUsage, RunMeter
from .turns import ThreadBook

if TYPE_CHECKING:
    from .thread_browser import ThreadBrowser


class NotebookSession:
    """State that the cells of one kernel share.

    Attributes:
        settings: Traitlets of the user.
        book: The threads.
        shelf: The sandboxes.
        files: States of the files before and after each turn.
        snapshots: Ids of the states that somebody asked to keep, by name, oldest first.
        spent: One entry a run, oldest first.
        costs: Money of all runs.
        last_result: Of the last successful run; already shown in its own cell.
        recordings: What was recorded, and how cells are replayed.
    """

    _closing: ClassVar[set[asyncio.Task[None]]] = set()

    def __init__(self, shell: Any, settings: Runcell) -> None:
        self._shell = shell
        self._browser: FileBrowser | None = None
        self._thread_browser: ThreadBrowser | None = None
        self._cells = CellCounter(shell)
        self._background = BackgroundRuns()
        self.settings = settings
        self.book = ThreadBook()
        self.shelf = SandboxShelf()
        self.files = FileHistory()
        self.snapshots: dict[str, str] = {}
        self._ran: dict[tuple[NotebookThread, str], ExportedCell] = {}
        self.spent: list[CellUsage] = []
        self.costs = CostTally()
        self.last_result: RunResult[Any] | None = None
        self._keeping = Keeping(shell, self)
        self.recordings = NotebookRecordings(shell, settings, self._keeping.memory)

    @property
    def cell_id(self) -> str | None:
        """Id of the running cell, where the front end tells one."""
        return self._cells.cell_id

    @property
    def in_kernel(self) -> bool:
        """Whether a kernel shows displays; a plain terminal shows text."""
        return getattr(self._shell, "kernel", None) is not None

    @property
    def namespace(self) -> dict[str, Any]:
        """The user's variables."""
        found: dict[str, Any] = self._shell.user_ns
        return found

    @property
    def thread(self) -> Thread:
        """The conversation that cells go on with unless told otherwise."""
        return self.book.active.thread

    async def choose_model(self, name: str) -> None:
        """Let a model answer from now on.

        Raises:
            InvalidOptionError: It is unknown; the model stays what it was.
            CredentialError: Its key is missing; likewise.
        """
        await load_gateway(name).describe(name)
        self.settings.model = name

    async def load(self, *, awaiting: bool = False) -> None:
        """Take up, once, what the notebook has kept of its threads and files.

        Args:
            awaiting: Whether the cell awaits this, so that its front end can answer meanwhile.
        """
        await self._keeping.load(self.namespace, self.cell_id, awaiting=awaiting)

    async def keep_changes(self) -> None:
        """Let the notebook keep what a command has changed; does nothing where nothing is new."""
        if self.in_kernel:
            await self._keeping.changes()

    async def sandbox(self) -> Sandbox:
        """Return the active sandbox, made on first use."""
        sandbox = await self.shelf.get()
        await self.rebuilt(self.shelf.active)
        return sandbox

    async def rebuilt(self, name: str) -> str | None:
        """Bring the files that the notebook has kept into a new sandbox, once.

        Args:
            name: Of a sandbox that is made.

        Returns:
            A sentence on what is there again and what is gone; None where nothing had to be rebuilt.
        """
        return await self.shelf.bring_back(name, self.files)

    async def list_files(self) -> list[FileInfo]:
        """Return the files of the active sandbox; none before it is made."""
        sandbox = self.shelf.made()
        return [] if sandbox is None else await sandbox.list_files()

    def browse(self) -> FileBrowser:
        """Return a file browser that shows the file changed last and follows the agent's work.

        There is one at a time: the one before is closed.
        """
        sandbox, files = run_blocking(self._opened)
        browser = FileBrowser(sandbox, files)
        if files:
            browser.follow(max(files, key=lambda info: info.modified).path)
        if self._browser is not None:
            self._browser.close()
        self._browser = browser
        return browser

    def browse_threads(self, name: str) -> ThreadBrowser:
        """Return a thread browser that looks at a thread; the one before is closed.

        Raises:
            InvalidOptionError: There is none of that name.
        """
        from .thread_browser import ThreadBrowser

        # A function, because other threads may be taken up later.
        browser = ThreadBrowser(lambda: self.book, name, changed=self._keeping.soon)
        if self._thread_browser is not None:
            self._thread_browser.close()
        self._thread_browser = browser
        return browser

    async def _opened(self) -> tuple[Sandbox, list[FileInfo]]:
        await self.load()
        sandbox = await self.sandbox()
        return sandbox, await sandbox.list_files()

    async def run_cell(self, line: str, body: str, *, nested: bool = False) -> RunResult[Any] | None:
        """Run one `%%runcell` cell.

        Args:
            line: The options, literally.
            body: The prompt, literally.
            nested: Whether it is inside another magic, on a loop of its own: then it runs to its end.

        Returns:
            The `RunResult`; with `--background` nothing.

        Raises:
            RuncellError: What went wrong, in one sentence; the thread is as before.
        """
        cell = self._cells.next()
        options = parse_cell_options(line)
        if nested or not self._keeping.has_person() or not replaces_outputs(self._shell):
            options = replace(options, background=False)  # it runs in the foreground, and is shown like that
        prompt = checked_prompt(body)
        limits_of(options)
        schema = schema_of(options, self.namespace)
        model = model_of(options.model, self.namespace, self.settings.answering.model)
        agent_of(options, self.namespace, model)  # refuses what is wrong before anything happens
        stop = Stopper()
        with interrupt_stops(stop, asyncio.get_running_loop()):
            await stop.during(self.load(awaiting=True))
            found = await stop.during(self.recordings.find(cell, prompt, model, options.replay))
            playback = None
            if found is not None:
                options, model = self._recorded_model(options, model, found, prompt)
                on_disk = self.shelf.foreign(self.shelf.check(options.sandbox)) is not None
                kept_tools = kept_tools_of(options, self.namespace)
                asked = AskedCell(found.cell, prompt, name_of(model), options.tools, kept_tools, on_disk)
                playback = await stop.during(self.recordings.playback(found, asked, model))
                if found.choice.note is not None:  # not in the view, which is to look as it was recorded
                    sys.stderr.write(f"runcell: {found.choice.note}\n")
            agents = partial(agent_of, options, self.namespace)
            run = CellRun(self, options, prompt, agents, schema, cell, model, playback)
            with self._keeping.working():
                return await self._in_turn(run, options, stop)

    def _recorded_model(
        self, options: CellOptions, model: str | ModelGateway, found: FoundCell, prompt: str
    ) -> tuple[CellOptions, str | ModelGateway]:
        """Return the model that is recorded for a cell where nobody has chosen one: a test has no keys."""
        chosen = options.model or self.settings.model or os.environ.get(MODEL_VARIABLE, "").strip()
        if chosen or found.known is None or found.choice.mode == "off":
            return options, model
        if found.choice.mode == "auto" and found.known.prompt_digest != prompt_digest(prompt):
            return options, model  # it will be asked
        return replace(options, model=found.known.model), found.known.model

    async def record(self, playback: Playback, *, failed: bool) -> str | None:
        """Take what a run has recorded; return a sentence for the person, if there is one."""
        return await self.recordings.take(playback, failed=failed)

    async def _in_turn(self, run: CellRun, options: CellOptions, stop: Stopper) -> RunResult[Any] | None:
        """Wait for the run in the background that has the thread, then run, perhaps in the background too."""
        thread = self.book.get(options.thread) if options.thread else self.book.active
        await stop.during(self._background.free(thread))
        if not options.background:
            return await run.go(stop)

        async def go(started: Callable[[AgentRun[Any]], object]) -> RunResult[Any]:
            with self._keeping.working():
                return await run.go(Stopper(), started)

        await stop.during(self._background.start(thread, go, options.out, self.namespace))
        return None

    async def close(self) -> None:
        """Stop what runs in the background and give the sandboxes back."""
        await self._background.close()
        await self.shelf.close()

    def close_soon(self) -> None:
        """Close at once, or when the caller lets go of the event loop if runs in the background need it."""
        if running_loop() is None or not self._background.going_on:
            run_blocking(self.close)
            return
        task = asyncio.ensure_future(self.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def keep(self, thread: NotebookThread, view: GuardedView, place: str, files: str | None) -> None:
        """Let the notebook keep its threads and files, and the view the record of the last turn.

        Args:
            thread: With the new turn.
            view: Of its run.
            place: Name of the sandbox in which it ran.
            files: State of the files there; None when that was not kept.
        """
        self.shelf.note_files(place, files)
        view.record(await self._keeping.turn(thread))

    @property
    def ran(self) -> list[ExportedCell]:
        """Prompt and options of the runs of this kernel that are turns now, in order, for a script."""
        turns = {(thread, turn.cell) for thread in self.book for turn in thread.turns}
        return [entry for key, entry in self._ran.items() if key in turns]

    def remember(
        self, thread: NotebookThread, cell: str, prompt: str, options: CellOptions, model: str
    ) -> None:
        """Remember a run that succeeded, to write it as a script."""
        self._ran.pop((thread, cell), None)
        self._ran[thread, cell] = (prompt, {**asdict(options), "model": options.model or model})

    def spend(self, meter: RunMeter, state: str, thread: str, cell: str) -> None:
        """Add what a run used."""
        self.spent.append(meter.entry(len(self.spent) + 1, state, thread, cell))

    def view(self, stop: Callable[[], object], options: CellOptions, thread: NotebookThread) -> GuardedView:
        """Return the view of a run that is about to start."""
        titles = {
            "model": options.model or self.settings.answering.model,
            "thread": thread.name,
            "turn": len(thread.turns) + 1,
        }
        if not self.in_kernel or not replaces_outputs(self._shell):
            return GuardedView(TextCellView(**titles), self._feed_browser)
        kind = QuietCellView if options.quiet else LiveCellView
        return GuardedView(kind(self._shell, stop, **titles), self._feed_browser)

    def rebrowse(self) -> None:
        """Close the file browser: its sandbox is not the one that cells work in any more."""
        if self._browser is not None:
            self._browser.close()
            self._browser = None

    def files_changed(self) -> None:
        """Show files that changed otherwise than by a run."""
        self._feed_browser({"type": "tool-result"})

    def _feed_browser(self, event: Mapping[str, Any]) -> None:
        if self._browser is not None:
            self._browser.feed(event)
