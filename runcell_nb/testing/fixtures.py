"""Fixtures for tests of agents; the plug-in brings them into every test."""

from __future__ import annotations

import hashlib
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

PASSED = pytest.StashKey[bool]()
"""Of an item whose test has passed."""

FOLDER = "recordings"
"""Beside the test's file."""

_LONGEST = 120
_NO = frozenset(("", "0", "false", "no", "off"))


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
    `RUNCELL_REPLAY` says, strictly by default, and strict means that nothing is asked, whatever else is set;
    with `--runcell-record` the model is asked, and the recording is written when the test passes. A strict
    replay that was not asked everything fails the test. Gateways for one model share what is recorded of it.
    """
    tape = _Tape(_path(request.node), _mode())
    yield tape.gateway
    if request.node.stash.get(PASSED, False):
        tape.finish()


class _Tape:
    """The recording of one test.

    Args:
        path: Of its file.
        mode: 'record', or how it is replayed.
    """

    def __init__(self, path: Path, mode: str) -> None:
        self._path, self._mode = path, mode
        self._recording: Recording | None = None
        self._replays: dict[str, ReplayGateway] = {}

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

        if self._mode == "record":
            if self._recording is None:  # an empty one is false
                self._recording = Recording()
            return RecordingGateway(model, self._recording)
        if self._mode == "off" or (self._mode == "auto" and not self._path.exists()):
            return RecordingGateway(model)
        name = model if isinstance(model, str) else str(getattr(model, "name", type(model).__name__))
        if self._recording is None:
            self._recording = Recording.read(self._path)
        if self._mode == "auto":
            return ReplayGateway(self._recording, mode="auto", gateway=model, name=name)
        if name not in self._replays:
            self._replays[name] = ReplayGateway(self._recording, name=name)
        return self._replays[name]

    def finish(self) -> None:
        """Write what was recorded, or check that all was asked.

        Raises:
            ReplayError: Something recorded was never asked.
        """
        if self._recording is None:
            return
        if self._mode == "record":
            self._recording.write(self._path)
        elif self._replays:
            from runcell_nb.models.replay_gateway import check_used

            asked = [step for replay in self._replays.values() for step in replay.steps]
            check_used(self._recording, asked)


def _mode() -> str:
    """Return 'record', or how recordings are replayed: strict comes before everything.

    Raises:
        InvalidOptionError: The variable holds what is no mode.
    """
    from runcell_nb.core.errors import InvalidOptionError

    mode = os.environ.get("RUNCELL_REPLAY", "").strip() or "strict"
    if mode not in ("strict", "auto", "off"):
        raise InvalidOptionError(f"RUNCELL_REPLAY is strict, auto or off, got {mode[:80]!r}.")
    records = os.environ.get("RUNCELL_RECORD", "").strip().lower() not in _NO
    return "record" if records and mode != "strict" else mode


def _path(item: pytest.Item) -> Path:
    """Return the file of a test: no other test has the same, whatever its class or parameters."""
    names = [node.name for node in item.listchain() if isinstance(node, (pytest.Class, pytest.Item))]
    whole = ".".join([item.path.stem, *names])
    plain = re.sub(r"\[(.*)\]$", r"-\1", whole)
    name = re.sub(r"[^\w.-]+", "-", plain)[:_LONGEST]
    if name != plain:  # something was lost, and with it the difference from another test
        name += "-" + hashlib.sha256(whole.encode()).hexdigest()[:8]
    return item.path.parent / FOLDER / f"{name}.runcell.json"
