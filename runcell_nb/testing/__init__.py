"""For people who test agents and notebooks: replays, assertions and a pytest plug-in.

The plug-in is loaded by pytest itself; `docs/testing.md` takes a notebook from its first run to CI.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runcell_nb.models.recording import Recording
    from runcell_nb.models.recording_reading import RecordingError
    from runcell_nb.models.replay_gateway import ReplayError

    from .assertions import (
        assert_cost_below,
        assert_data,
        assert_files_changed,
        assert_requests_below,
        assert_text,
        assert_tools_called,
    )
    from .normal_outputs import normal_output
    from .observing import Observed, observe, observe_sync
    from .promotion import promote

_PLACES = {
    "Observed": ".observing",
    "Recording": "runcell_nb.models.recording",
    "RecordingError": "runcell_nb.models.recording_reading",
    "ReplayError": "runcell_nb.models.replay_gateway",
    "assert_cost_below": ".assertions",
    "assert_data": ".assertions",
    "assert_files_changed": ".assertions",
    "assert_requests_below": ".assertions",
    "assert_text": ".assertions",
    "assert_tools_called": ".assertions",
    "normal_output": ".normal_outputs",
    "observe": ".observing",
    "observe_sync": ".observing",
    "promote": ".promotion",
}

__all__ = [
    "Observed",
    "Recording",
    "RecordingError",
    "ReplayError",
    "assert_cost_below",
    "assert_data",
    "assert_files_changed",
    "assert_requests_below",
    "assert_text",
    "assert_tools_called",
    "normal_output",
    "observe",
    "observe_sync",
    "promote",
]


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: the plug-in is part of every pytest run."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name], __name__), name)
