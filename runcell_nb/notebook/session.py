"""The notebook session: one thread, one sandbox and the money spent, for all cells of a kernel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runcell_nb.core.agent import create_agent
from runcell_nb.core.agent_options import checked_prompt
from runcell_nb.core.backends import load_gateway
from runcell_nb.core.errors import InvalidOptionError, message_of
from runcell_nb.core.events import RequestFinishedEvent, RunStartedEvent, event_to_dict
from runcell_nb.core.gateway import ModelGateway
from runcell_nb.core.limits import RunLimits
from runcell_nb.core.result import RunResult
from runcell_nb.core.run import AgentRun
from runcell_nb.core.sandbox import FileInfo, Sandbox
from runcell_nb.core.sandbox_options import create_sandbox
from runcell_nb.core.sync_bridge import run_blocking
from runcell_nb.core.thread import Thread
from runcell_nb.core.usage import RunUsage

from .cell_inputs import cell_inputs, note_of
from .cell_options import CellOptions, parse_cell_options
from .cell_view import CellView, LiveCellView, TextCellView
from .file_browser import FileBrowser
from .interrupt import interrupt_stops
from .settings import Runcell
from .transcript import RunState

STOPPED = "stopped by the user"
THREAD_NAME = "main"


@dataclass(frozen=True, slots=True)
class CellUsage:
    """What one cell used.

    Attributes:
        number: Of the run in this session, from 1.
        model: What answered.
        usage: Tokens and cost.
        cost: As shown to a person.
        state: 'done', 'failed' or 'stopped'.
    """

    number: int
    model: str
    usage: RunUsage
    cost: str
    state: str


class NotebookSession:
    """State that the cells of one kernel share.

    Attributes:
        settings: Traitlets of the user.
        thread: The conversation.
        spent: One entry a run, oldest first.
        last_result: Of the last successful run; already shown in its own cell.
    """

    def __init__(self, shell: Any, settings: Runcell) -> None:
        self._shell = shell
        self._sandbox: Sandbox | None = None
        self._browsers: list[FileBrowser] = []
        self.settings = settings
        self.thread = Thread()
        self.spent: list[CellUsage] = []
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
        """Return a file browser that shows the file changed last and follows the agent's work."""
        sandbox, files = run_blocking(self._opened)
        browser = FileBrowser(sandbox, files)
        if files:
            browser.follow(max(files, key=lambda info: info.modified).path)
        self._browsers.append(browser)
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
        inputs = cell_inputs(options.inputs, self._shell.user_ns)
        note = note_of(inputs)
        agent = create_agent(self._model(options.model), tools=self._tools(options.tools))
        run = agent.stream(
            f"{prompt}\n\n{note}" if note else prompt,
            files=[entry.file for entry in inputs],
            sandbox=await self.sandbox(),
            thread=self.thread,
            limits=RunLimits(max_seconds=options.max_seconds),
        )
        result = await self._watch(run, options)
        if options.out is not None:
            self._shell.user_ns[options.out] = result
        self.last_result = result if self.in_kernel else None
        return result

    async def close(self) -> None:
        """Give the sandbox back."""
        if self._sandbox is not None:
            await self._sandbox.destroy()

    def _model(self, name: str | None) -> str | ModelGateway:
        """Return what answers a cell: a model's name, or a gateway that a variable of that name holds."""
        if name is None:
            return self.settings.answering.model
        held = self._shell.user_ns.get(name)
        return held if isinstance(held, ModelGateway) else name

    def _tools(self, names: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
        missing = [name for name in names if not callable(self._shell.user_ns.get(name))]
        if missing:
            raise InvalidOptionError(
                f"--tools {missing[0]!r}: no function of that name; define it in a cell first."
            )
        return {name: self._shell.user_ns[name] for name in names}

    async def _watch(self, run: AgentRun[Any], options: CellOptions) -> RunResult[Any]:
        def stop() -> None:
            run.cancel(STOPPED)

        view = self._view(stop, options.model or self.settings.answering.model)
        telling = asyncio.ensure_future(self._tell(run, view))
        try:
            with interrupt_stops(stop, asyncio.get_running_loop()):
                result = await run.result()
        except BaseException as error:
            stopped = isinstance(error, asyncio.CancelledError) or getattr(error, "cause", None) == STOPPED
            self._end(view, "stopped" if stopped else "failed", await telling, message_of(error))
            raise
        self._end(view, "done", await telling)
        return result

    async def _tell(self, run: AgentRun[Any], view: CellView) -> RunUsage | None:
        """Show the events of a run; return what it used, None when it never started."""
        usage = None
        async for event in run.events():
            told = event_to_dict(event)
            view.show(told)
            for browser in self._browsers:
                browser.feed(told)
            if isinstance(event, RunStartedEvent):
                usage = RunUsage()
            elif isinstance(event, RequestFinishedEvent):
                usage = event.total
        return usage

    def _end(
        self, view: CellView, state: RunState, usage: RunUsage | None, message: str | None = None
    ) -> None:
        view.end(state, message)
        if usage is not None:
            shown = view.transcript
            self.spent.append(CellUsage(len(self.spent) + 1, shown.model, usage, shown.cost, state))

    def _view(self, stop: Callable[[], object], model: str) -> CellView:
        titles = {"model": model, "thread": THREAD_NAME, "turn": len(self.thread.messages) // 2 + 1}
        if not self.in_kernel:
            return TextCellView(**titles)
        return LiveCellView(self._shell, stop, **titles)
