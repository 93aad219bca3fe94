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

    async def run_cell(self, line: str, body: str) -> RunResult[Any] | None:
        """Run a `%%runcell` cell; the awaited form of the magic."""
        try:
            return await self.session.run_cell(line, body)
        except BaseException as error:
            raise self._shown(error) from error.__cause__

    # Nothing in a prompt or an option line is expanded: IPython would execute `{expr}` there.
    @no_var_expand
    @cell_magic("runcell")  # type: ignore[arg-type]
    def cell(self, line: str, body: str) -> RunResult[Any] | None:
        r"""Give a prompt to an agent that works in the notebook's sandbox.

        %%runcell [-m MODEL] [-t THREAD] [-s SANDBOX] [--schema NAME] [--in NAME ...] [--out NAME]
                  [--tools NAME ...] [--thinking LEVEL] [--max-repairs N] [--max-cost USD] [--max-tokens N]
                  [--max-requests N] [--max-seconds S] [--replay MODE] [--fresh] [--background] [--quiet]
        the prompt, byte for byte

        Who answers, and where
          -m, --model MODEL     local/demo (offline, not a language model), anthropic/claude-sonnet-5-5,
                                openai/gpt-6.1-sol, ollama/llama3, ... or a variable that holds a
                                ModelGateway; for this cell only, see %runcell model
          -t, --thread THREAD   the conversation that the cell continues; see %runcell thread
          -s, --sandbox SANDBOX the files and commands that it works with; see %runcell sandbox
          --replay MODE         answer from the recording: strict, auto or off; see %runcell replay
          --fresh               start from an empty thread and sandbox
          --thinking LEVEL      off, minimal, low, medium, high or xhigh

        What goes in
          --in NAME ...         files for the sandbox; the model is told what they are:
              df                a variable: text (.txt), bytes (.bin), a DataFrame (.csv), a matplotlib
                                figure or a PIL image (.png), JSON values, pydantic models (.json)
              top=df.head(3)    the value of a Python expression, evaluated as in a cell; quote all of
                                it when it has blanks or quotes: 'big=df[df.n > 3]'
              df.parquet        a DataFrame as Parquet (needs pyarrow), also top.parquet=df.head(3); a
                                file on disk of that name comes first
              data/ *.csv       files, folders and globs on disk; ./a=b.csv for a name with =
          --tools NAME ...      functions of the notebook that the model may call

        What comes out
          --out NAME            bind the RunResult: .text .data .files .usage
          --schema NAME         a pydantic model or type of the notebook; the result's .data is one
          --max-repairs N       how often an answer that does not fit the schema may be mended
          --background          return at once; the run goes on in the cell's view
          --quiet               show only the answer, when the run is over

        Limits, at which the run stops
          --max-cost USD  --max-tokens N  --max-requests N  --max-seconds S

        Nothing in the prompt or the options is expanded: braces, $ and ! arrive as typed. The
        conversation and the files stay for the next cell. The cell's value is the RunResult.
        Interrupting the kernel, or Stop in the view, stops the run; the conversation is then as
        before it. Tab completes the options and their values. See %runcell for the commands.
        """
        try:
            return run_blocking(lambda: self.session.run_cell(line, body, nested=True))
        except KeyboardInterrupt as error:
            from .run_end import STOPPED

            raise self._shown(TurnError(STOPPED, cause=error)) from None
        except BaseException as error:
            raise self._shown(error) from error.__cause__

    @no_var_expand
    @line_magic("runcell")  # type: ignore[arg-type]
    def line(self, line: str) -> Any:
        """Show where you are, or change it.

        %runcell                    model, thread, sandbox and what was spent
        %runcell model [NAME]       the models that are ready, or choose one for all cells
        %runcell thread [list | new NAME | switch NAME | fork [NAME] | rename [OLD] NEW |
                         delete NAME | show [NAME]]
                                    the conversations; show is the thread browser: read them, fork them,
                                    go back to an earlier turn
        %runcell sandbox [list | new NAME [TYPE] [--root DIR] [--network] | switch NAME |
                          reset [NAME] | snapshot [NAME] | restore [NAME] [--force] | delete NAME]
                                    the files and commands that cells work with
        %runcell files              the file browser
        %runcell diff               what has changed in the sandbox
        %runcell usage              tokens and money, by cell and thread
        %runcell history            the prompts, as a table
        %runcell record [on | off | notebook | file | clear]
                                    record what the model answers, in the notebook or beside it
        %runcell replay [strict | auto | off] [--timing]
                                    answer cells from the recording: no network, no key, no cost
        %runcell export FILE.py     the notebook's runs as a plain script

        %%runcell? explains the cells.
        """
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
