"""The notebook session: one thread, one sandbox and the money spent, for all cells of a kernel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from runcell_nb.core.agent import create_agent
from runcell_nb.core.agent_options import checked_prompt
from runcell_nb.core.backends import load_gateway
from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.gateway import ModelGateway
from runcell_nb.core.limits import RunLimits
from runcell_nb.core.result import RunResult
from runcell_nb.core.run import AgentRun
from runcell_nb.core.sandbox import FileInfo, Sandbox
from runcell_nb.core.sandbox_options import create_sandbox
from runcell_nb.core.sync_bridge import run_blocking
from runcell_nb.core.thread import Thread

from .cell_inputs import CellInput, note_of, read_cell_inputs
from .cell_options import CellOptions, parse_cell_options
from .cell_view import GuardedView, LiveCellView, TextCellView
from .cost import CostTally
from .file_browser import FileBrowser
from .interrupt import Stopper, interrupt_stops
from .run_end import STOPPED, end_of
from .settings import Runcell
from .spending import CellUsage, RunMeter
from .transcript import RunState

THREAD_NAME = "main"

SETTLE_SECONDS = 5.0
"""The longest wait for the last events of a run that is over, or was left behind because it hangs."""


class NotebookSession:
    """State that the cells of one kernel share.

    Attributes:
        settings: Traitlets of the user.
        thread: The conversation.
        spent: One entry a run, oldest first.
        costs: Money of all runs.
        last_result: Of the last successful run; already shown in its own cell.
    """

    def __init__(self, shell: Any, settings: Runcell) -> None:
        self._shell = shell
        self._sandbox: Sandbox | None = None
        self._browser: FileBrowser | None = None
        self.settings = settings
        self.thread = Thread()
        self.spent: list[CellUsage] = []
        self.costs = CostTally()
        self.last_result: RunResult[Any] | None = None

    @property
    def in_kernel(self) -> bool:
        """Whether a kernel shows displays; a plain terminal shows text."""
        return getattr(self._shell, "kernel", None) is not None

    async def choose_model(self, name: str) -> None:
        """Let a model answer from now on.

        Raises:
            InvalidOptionError: It is unknown; the model stays what it was.
            CredentialError: Its key is missing; likewise.
        """
        await load_gateway(name).describe(name)
        self.settings.model = name

    async def sandbox(self) -> Sandbox:
        """Return the notebook's sandbox, made on first use."""
        if self._sandbox is None:
            self._sandbox = await create_sandbox("virtual")
        return self._sandbox

    async def list_files(self) -> list[FileInfo]:
        """Return the files of the sandbox; none before it is made."""
        return [] if self._sandbox is None else await self._sandbox.list_files()

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

    async def _opened(self) -> tuple[Sandbox, list[FileInfo]]:
        sandbox = await self.sandbox()
        return sandbox, await sandbox.list_files()

    async def run_cell(self, line: str, body: str) -> RunResult[Any]:
        """Run one `%%runcell` cell.

        Args:
            line: The options, literally.
            body: The prompt, literally.

        Raises:
            RuncellError: What went wrong, in one sentence; the thread is as before.
        """
        options = parse_cell_options(line)
        prompt = checked_prompt(body)
        agent = create_agent(self._model(options.model), tools=self._tools(options.tools))
        stop = Stopper()
        with interrupt_stops(stop, asyncio.get_running_loop()):
            inputs, sandbox = await stop.during(self._prepared(options))
            note = note_of(inputs)
            # The view comes first: a run without one could not be stopped.
            view = self._view(stop, options.model or self.settings.answering.model)
            run = agent.stream(
                f"{prompt}\n\n{note}" if note else prompt,
                files=[entry.file for entry in inputs],
                sandbox=sandbox,
                thread=self.thread,
                limits=RunLimits(max_seconds=options.max_seconds),
            )
            stop.stops(lambda: run.cancel(STOPPED))
            return await self._watch(run, view, options.out)

    async def close(self) -> None:
        """Give the sandbox back."""
        if self._sandbox is not None:
            await self._sandbox.destroy()

    async def _prepared(self, options: CellOptions) -> tuple[list[CellInput], Sandbox]:
        return await read_cell_inputs(options.inputs, self._shell.user_ns), await self.sandbox()

    def _model(self, name: str | None) -> str | ModelGateway:
        """Return what answers a cell: a model's name, or a gateway that a variable of that name holds."""
        if name is None:
            return self.settings.answering.model
        held = self._shell.user_ns.get(name)
        return held if isinstance(held, ModelGateway) else name

    def _tools(self, names: tuple[str, ...]) -> dict[str, Any]:
        held = self._shell.user_ns
        for name in names:
            if name not in held:
                raise InvalidOptionError(
                    f"--tools {name!r}: no function of that name; define it in a cell first."
                )
        return {name: held[name] for name in names}

    async def _watch(self, run: AgentRun[Any], view: GuardedView, out: str | None) -> RunResult[Any]:
        """Show a run to its end and keep what it used; nothing of that touches its result."""
        meter = RunMeter(self.costs)
        telling = asyncio.ensure_future(_tell(run, view, meter))
        try:
            result = await run.result()
        except BaseException as error:
            await self._end(telling, view, meter, *end_of(error))
            raise
        if out is not None:
            self._shell.user_ns[out] = result
        await self._end(telling, view, meter, "done")
        self.last_result = result if self.in_kernel and not view.failed else None
        return result

    async def _end(
        self,
        telling: asyncio.Task[None],
        view: GuardedView,
        meter: RunMeter,
        state: RunState,
        message: str | None = None,
    ) -> None:
        """Let the last events be shown, a bounded time: a run that hangs has no end."""
        try:
            await asyncio.wait({telling}, timeout=SETTLE_SECONDS)
        finally:
            telling.cancel()
            view.end(state, message)
            if meter.started:
                self.spent.append(meter.entry(len(self.spent) + 1, state))

    def _view(self, stop: Callable[[], object], model: str) -> GuardedView:
        titles = {"model": model, "thread": THREAD_NAME, "turn": len(self.thread.messages) // 2 + 1}
        if not self.in_kernel:
            return GuardedView(TextCellView(**titles))
        return GuardedView(LiveCellView(self._shell, stop, **titles), self._feed_browser)

    def _feed_browser(self, event: Mapping[str, Any]) -> None:
        if self._browser is not None:
            self._browser.feed(event)


async def _tell(run: AgentRun[Any], view: GuardedView, meter: RunMeter) -> None:
    """Count and show the events of a run."""
    async for event in run.events():
        meter.take(event)
        view.show(event)
