"""Settings of the notebook layer as traitlets: `c.Runcell.model = …` or `%config Runcell.model = …`."""

from __future__ import annotations

from traitlets import Bool, Unicode
from traitlets.config import Configurable


class Runcell(Configurable):
    """What a person can set once for all cells."""

    model = Unicode("", help="Model of every cell; empty for RUNCELL_MODEL, a set key, or local/demo.").tag(
        config=True
    )
    full_traceback = Bool(False, help="Show whole tracebacks of failing %%runcell cells.").tag(config=True)
