"""`%load_ext runcell_nb` and `%unload_ext runcell_nb`.

Loading returns in a blink: what a run needs is imported by a thread meanwhile.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from typing import Any

from .cell_transform import MAGICS_CLASS, rewrite_runcell_cell
from .completion import register_completion, unregister_completion
from .magics import RuncellMagics
from .settings import Runcell

_RESULT = ("runcell_nb.core.result", "RunResult")


def load_ipython_extension(shell: Any) -> None:
    """Register the magics in a shell and say in one line which model will answer.

    Args:
        shell: The IPython shell. Loading twice is harmless.
    """
    if MAGICS_CLASS in shell.magics_manager.registry:
        return
    settings = Runcell(parent=shell)
    magics = RuncellMagics(shell, settings)
    shell.configurables.append(settings)
    shell.register_magics(magics)
    shell.input_transformers_cleanup.insert(0, rewrite_runcell_cell)
    register_completion(shell, lambda: magics.__dict__.get("session"))  # never makes one
    shell.display_formatter.ipython_display_formatter.for_type_by_name(*_RESULT, magics.show_once)
    sys.stdout.write(f"runcell: {settings.answering.sentence}\n")
    threading.Thread(
        target=_warm_up, args=[settings.answering.model], name="runcell-warm-up", daemon=True
    ).start()


def unload_ipython_extension(shell: Any) -> None:
    """Undo `load_ipython_extension` and give the sandboxes back, after runs in the background are stopped.

    Args:
        shell: The IPython shell.
    """
    magics = shell.magics_manager.registry.pop(MAGICS_CLASS, None)
    if magics is None:
        return
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("runcell", None)
    shell.input_transformers_cleanup.remove(rewrite_runcell_cell)
    unregister_completion(shell)
    for configurable in (magics, magics.settings):
        shell.configurables.remove(configurable)
    formatter = shell.display_formatter.ipython_display_formatter
    formatter.deferred_printers.pop(_RESULT, None)
    formatter.pop(".".join(_RESULT), None)
    session = magics.__dict__.get("session")
    if session is not None:
        session.close_soon()


def _warm_up(model: str) -> None:
    """Import what the first cell will need, so that it need not wait for it."""
    from runcell_nb.core.backends import load_gateway

    import_module("runcell_nb.notebook.session")
    import_module("runcell_nb.notebook.completion_choices")
    preload = getattr(load_gateway(model), "preload", None)
    if preload is not None:
        preload()
