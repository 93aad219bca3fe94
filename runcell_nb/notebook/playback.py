"""One cell and the recording: what it is answered from, and what it leaves there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runcell_nb.core.gateway import ModelGateway
from runcell_nb.models.recorded_cell import (
    ALL_FILES,
    RecordedCell,
    changed_files,
    prompt_digest,
    recorded_cell,
)
from runcell_nb.models.recording import Recording
from runcell_nb.models.recording_gateway import RecordingGateway
from runcell_nb.models.replay_gateway import HOW_TO_RENEW, ReplayError, ReplayGateway

from .file_restore import named
from .replay_mode import Mode


@dataclass(frozen=True, slots=True)
class AskedCell:
    """What a cell asks, before its run.

    Attributes:
        cell: Its id.
        prompt: As typed.
        model: Name of what answers.
        tools: Names of the notebook's functions that the model may call.
        kept_tools: Those of them whose results are recorded.
        on_disk: Whether its sandbox is somebody's folder or machine, and not one of the notebook's own.
    """

    cell: str
    prompt: str
    model: str
    tools: tuple[str, ...]
    kept_tools: frozenset[str] = frozenset()
    on_disk: bool = False


class Playback:
    """One run of one cell.

    Args:
        asked: What the cell asks.
        live: What answers when the recording does not: a model id or a gateway.
        mode: Of the replay.
        recording: Of the notebook; None where it has none.
        known: What is recorded of this cell; None for nothing.
        is_recorded: Whether what is asked live is recorded.
        timing: Whether a replay takes the time that the model took.

    Attributes:
        asked: What the cell asks.
        known: What is recorded of this cell; None for nothing.
    """

    def __init__(
        self,
        asked: AskedCell,
        live: str | ModelGateway,
        mode: Mode,
        recording: Recording | None,
        known: RecordedCell | None,
        *,
        is_recorded: bool,
        timing: bool,
    ) -> None:
        self.asked, self.known = asked, known
        self._live, self._mode, self._recording = live, mode, recording
        self._is_recorded, self._timing = is_recorded, timing
        self._files: Mapping[str, str] | None = None
        self._recorder: RecordingGateway | None = None
        self._replay: ReplayGateway | None = None

    @property
    def source(self) -> Recording | RecordedCell | None:
        """What this run may be answered from; None where it is asked in any case."""
        if self._mode == "strict":
            return self.known or self._recording
        return self.known if self._mode == "auto" and self._question() is None else None

    def begin(self, files: Mapping[str, str] | None) -> tuple[str | ModelGateway, str | None]:
        """Return what answers this run.

        Args:
            files: Digests of the files of its sandbox, path -> digest; None when they are not known.

        Returns:
            A model id or a gateway, and a sentence for the person when a cell that was recorded runs live.

        Raises:
            ReplayError: In strict, when nothing is recorded of the notebook.
        """
        self._files = files
        if self._mode == "strict":
            return self._strictly(), None
        if self._mode == "auto" and self.known is not None and self._recording is not None:
            why = self._change()
            if why is None:
                self._replay = ReplayGateway(
                    self._recording,
                    mode="auto",
                    gateway=self._answering(),
                    timing=self._timing,
                    name=self.asked.model,
                    expected=self.known,
                )
                return self._replay, None
            return self._answering(), f"Live: {why} since it was recorded."
        return self._answering(), None

    def _answering(self) -> str | ModelGateway:
        if not self._is_recorded:
            return self._live
        self._recorder = RecordingGateway(self._live, Recording())
        return self._recorder

    def _strictly(self) -> ReplayGateway:
        if self._recording is None:
            raise ReplayError(
                f"Nothing is recorded of this notebook, and the replay is strict. {HOW_TO_RENEW}"
            )
        changed = self._changed_files()
        self._replay = ReplayGateway(
            self._recording,
            timing=self._timing,
            name=self.asked.model,
            expected=self.known,
            note=f"files: {_named(changed)} changed since it was recorded" if changed else None,
        )
        return self._replay

    def _change(self) -> str | None:
        """Return what is not as it was recorded, None for nothing."""
        changed = self._changed_files()
        return self._question() or (f"{_named(changed)} changed" if changed else None)

    def _question(self) -> str | None:
        """Return what of the question is not as it was recorded, None for nothing."""
        known, asked = self.known, self.asked
        if known is None:
            return "nothing is recorded"
        if known.prompt_digest != prompt_digest(asked.prompt):
            return "the prompt changed"
        if known.model != asked.model:
            return f"the model changed from {known.model}"
        if tuple(known.tools) != asked.tools:
            return "the tools changed"
        return None

    def _changed_files(self) -> list[str]:
        if self.known is None or self.known.files is None or self._files is None:
            return []
        return changed_files(self.known.files, self._files)

    @property
    def replayed(self) -> int:
        """Requests that were answered from the recording."""
        return 0 if self._replay is None else self._replay.replayed

    def told(self) -> str | None:
        """Return a sentence on a run that was replayed in part; of others the cost says all."""
        replay = self._replay
        if replay is None or not replay.replayed or not replay.live:
            return None
        return f"Replayed {replay.replayed} of {replay.replayed + replay.live} requests; the rest was asked."

    def check(self) -> None:
        """Check that a strict replay has asked everything that was recorded of the cell.

        Raises:
            ReplayError: Names what it has not.
        """
        if self._mode == "strict" and self._replay is not None and self.known is not None:
            self._replay.check_all_used()

    def recorded(self, *, failed: bool) -> tuple[Recording, RecordedCell] | None:
        """Return what this run has recorded, and how its cell is recorded from now on; None for nothing new.

        Args:
            failed: The run failed by itself: then only a cell of which nothing was recorded is.
        """
        recorder, replay = self._recorder, self._replay
        if recorder is None or not recorder.steps or (failed and self.known is not None):
            return None
        asked = self.asked
        cell = recorded_cell(
            asked.cell,
            asked.prompt,
            asked.model,
            tools=asked.tools,
            files=self._files,
            steps=[*(replay.steps if replay else ()), *recorder.steps],
            results=[*(replay.results if replay else ()), *recorder.results],
        )
        return recorder.recording, cell


def _named(paths: Sequence[str]) -> str:
    return "the files" if list(paths) == [ALL_FILES] else named(paths)
