"""Settings of the notebook layer as traitlets: `c.Runcell.model = …` or `%config Runcell.model = …`."""

from __future__ import annotations

import os

from traitlets import Bool, Unicode
from traitlets.config import Configurable

from runcell_nb.models.defaults import DefaultModel, answering, default_model


class Runcell(Configurable):
    """What a person can set once for all cells."""

    model = Unicode("", help="Model of every cell; empty for RUNCELL_MODEL, a set key, or local/demo.").tag(
        config=True
    )
    replay = Unicode("", help="strict, auto or off; empty for RUNCELL_REPLAY, else off.").tag(config=True)
    full_traceback = Bool(False, help="Show whole tracebacks of failing %%runcell cells.").tag(config=True)

    @property
    def answering(self) -> DefaultModel:
        """The model that answers a cell without `--model`, and why."""
        if self.model:
            return answering(self.model)
        return default_model(os.environ)
