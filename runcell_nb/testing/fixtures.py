"""Fixtures for tests of agents; the plug-in brings them into every test."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from runcell_nb.core.gateway import ModelGateway
    from runcell_nb.core.sandbox import Sandbox
    from runcell_nb.models.recording import Recording
    from runcell_nb.models.replay_gateway import ReplayGateway
    from runcell_nb.models.scripted import ScriptedModel

FAILED = pytest.StashKey[bool]()
"""Of an item whose test has failed."""

FOLDER = "recordings"
"""Beside the test's file."""


@pytest.fixture
def runcell_model() -> Callable[[Iterable[Any]], ScriptedModel]:
    """A function that returns a `ScriptedModel`: a model that says what it is told to say."""
    from runcell_nb.models.scripted import ScriptedModel

    return ScriptedModel


@pytest.fixture
def runcell_sandbox() -> Iterator[Sandbox]:
    """A virtual sandbox of this test's own; gone after it."""
    from runcell_nb.core.sandbox_options import create_virtual_sandbox
    from runcell_nb.core.sync_bridge import run_blocking

    async def made() -> Sandbox:
        return await create_virtual_sandbox()

    sandbox = run_blocking(made)
    yield sandbox
    run_blocking(sandbox.destroy)


@pytest.fixture
def runcell_recording(request: pytest.FixtureRequest) -> Iterator[Callable[..., ModelGateway]]:
    """A function that returns a gateway for a model: it replays this test's recording, or renews it.

    The recording is `recordings/FILE.TEST.runcell.json` beside the test's file. It is replayed as
    `RUNCELL_REPLAY` says, strictly by default; with `--runcell-record` the model is asked, and the recording
    is written when the test passes. A strict replay that was not asked everything fails the test.
    """
    tape = _Tape(_path(request.node))
    yield tape.gateway
    if not request.node.stash.get(FAILED, False):
        tape.finish()


class _Tape:
    """The recording of one test.

    Args:
        path: Of its file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._recording: Recording | None = None
        self._replays: list[ReplayGateway] = []

    def gateway(self, model: str | ModelGateway) -> ModelGateway:
        """Return what answers for a model.

        Args:
            model: A model id or a gateway; it is asked only while recording, or for what is new in `auto`.

        Raises:
            RecordingError: There is nothing to replay.
        """
        from runcell_nb.models.recording import Recording
        from runcell_nb.models.recording_gateway import RecordingGateway
        from runcell_nb.models.replay_gateway import ReplayGateway

        mode = os.environ.get("RUNCELL_REPLAY", "strict")
        if os.environ.get("RUNCELL_RECORD"):
            self._recording = self._recording or Recording()
            return RecordingGateway(model, self._recording)
        if mode == "off" or (mode == "auto" and not self._path.exists()):
            return RecordingGateway(model)
        name = model if isinstance(model, str) else str(getattr(model, "name", type(model).__name__))
        self._recording = self._recording or Recording.read(self._path)
        if mode == "auto":
            return ReplayGateway(self._recording, mode="auto", gateway=model, name=name)
        self._replays.append(ReplayGateway(self._recording, name=name))
        return self._replays[-1]

    def finish(self) -> None:
        """Write what was recorded, or check that all was asked.

        Raises:
            ReplayError: Something recorded was never asked.
        """
        if self._recording is None:
            return
        if os.environ.get("RUNCELL_RECORD"):
            self._recording.write(self._path)
        elif self._replays:
            from runcell_nb.models.replay_gateway import check_used

            check_used(self._recording, [step for replay in self._replays for step in replay.steps])


def _path(item: pytest.Item) -> Path:
    name = re.sub(r"[^\w.-]+", "-", f"{item.path.stem}.{item.name}").strip("-")[:120]
    return item.path.parent / FOLDER / f"{name}.runcell.json"
