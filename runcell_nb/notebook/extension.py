"""`%load_ext runcell_nb` and `%unload_ext runcell_nb`."""

from __future__ import annotations

import sys
from typing import Any

from runcell_nb.core.result import RunResult
from runcell_nb.core.sync_bridge import run_blocking

from .cell_transform import MAGICS_CLASS, rewrite_runcell_cell
from .magics import RuncellMagics
from .session import NotebookSession
from .settings import Runcell


def load_ipython_extension(shell: Any) -> None:
    """Register the magics in a shell and say in one line which model will answer.

    Args:
        shell: The IPython shell. Loading twice is harmless.
    """
    if MAGICS_CLASS in shell.magics_manager.registry:
        return
    settings = Runcell(parent=shell)
    session = NotebookSession(shell, settings)
    shell.configurables.append(settings)
    shell.register_magics(RuncellMagics(shell, session))
    shell.input_transformers_cleanup.insert(0, rewrite_runcell_cell)
    shell.display_formatter.ipython_display_formatter.for_type(RunResult, _show_once(session))
    sys.stdout.write(f"runcell: {session.model.sentence}\n")


def unload_ipython_extension(shell: Any) -> None:
    """Undo `load_ipython_extension` and give the sandbox back.

    Args:
        shell: The IPython shell.
    """
    magics = shell.magics_manager.registry.pop(MAGICS_CLASS, None)
    if magics is None:
        return
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("runcell", None)
    shell.input_transformers_cleanup.remove(rewrite_runcell_cell)
    shell.configurables.remove(magics.session.settings)
    shell.display_formatter.ipython_display_formatter.pop(RunResult, None)
    run_blocking(magics.session.close)


def _show_once(session: NotebookSession) -> Any:
    """A cell's own view has shown its result: the display hook need not show it again, this once."""

    def show(result: RunResult[Any]) -> None:
        if session.last_result is not result:
            raise NotImplementedError  # IPython goes on to the other representations
        session.last_result = None

    return show
