"""`%%runcell` and `%runcell`."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand

from runcell_nb.core.errors import TurnError
from runcell_nb.core.sync_bridge import run_blocking

from .settings import Runcell
from .short_error import shortened

if TYPE_CHECKING:
    from runcell_nb.core.result import RunResult

    from .session import NotebookSession


@magics_class
class RuncellMagics(Magics):
    """The magics of one shell."""

    def __init__(self, shell: Any, settings: Runcell) -> None:
        super().__init__(shell)
        self.settings = settings

    @cached_property
    def session(self) -> NotebookSession:
        """The notebook session; made, and its modules imported, when first used."""
        from .session import NotebookSession

        return NotebookSession(self.shell, self.settings)

    def show_once(self, result: RunResult[Any]) -> None:
        """Show nothing for a result that its own cell has just shown; the second time is as ever."""
        if self.session.last_result is not result:
            raise NotImplementedError  # IPython goes on to the other representations
        self.session.last_result = None

    async def run_cell(self, line: str, body: str) -> RunResult[Any]:
        """Run a `%%runcell` cell; the awaited form of the magic."""
        try:
            return await self.session.run_cell(line, body)
        except BaseException as error:
            raise self._shown(error) from error.__cause__

    # Nothing in a prompt or an option line is expanded: IPython would execute `{expr}` there.
    @no_var_expand
    @cell_magic("runcell")  # type: ignore[arg-type]
    def cell(self, line: str, body: str) -> RunResult[Any]:
        r"""Give a prompt to an agent that works in the notebook's sandbox.

        %%runcell [-m MODEL] [--in NAME ...] [--out NAME] [--tools NAME ...] [--max-seconds S]
        the prompt, byte for byte

          -m, --model MODEL   who answers this cell: local/demo (offline, not a language model),
                              anthropic/claude-sonnet-5-5, openai/gpt-6.1-sol, ollama/llama3, ...
                              or a variable that holds a ModelGateway
          --in NAME ...       variables (text, bytes, a DataFrame, JSON values), files, folders or
                              globs to put into the sandbox; the model is told what they are
          --out NAME          bind the RunResult: .text .files .usage
          --tools NAME ...    functions of the notebook that the model may call
          --max-seconds S     stop the run after S seconds

        Nothing in the prompt or the options is expanded: braces, $ and ! arrive as typed. The
        conversation and the files stay for the next cell. The cell's value is the RunResult.
        Interrupting the kernel, or Stop in the view, stops the run; the conversation is then as
        before it. See %runcell for models, files and money.
        """
        try:
            return run_blocking(lambda: self.session.run_cell(line, body))
        except KeyboardInterrupt as error:
            from .run_end import STOPPED

            raise self._shown(TurnError(STOPPED, cause=error)) from None
        except BaseException as error:
            raise self._shown(error) from error.__cause__

    @no_var_expand
    @line_magic("runcell")  # type: ignore[arg-type]
    def line(self, line: str) -> Any:
        """Show where you are, or change it: %runcell [model [NAME] | files | usage]."""
        from .commands import run_command

        try:
            shown = run_command(self.session, line)
        except BaseException as error:
            raise self._shown(error) from error.__cause__
        if isinstance(shown, str):
            sys.stdout.write(shown + "\n")
            return None
        return shown

    def _shown(self, error: BaseException) -> BaseException:
        return error if self.settings.full_traceback else shortened(error)
