"""What of a transcript crosses to the browser: the header, changed blocks, text only as it grows."""

from __future__ import annotations

from typing import Any

from .blocks import CallBlock, DiffView, FileTotal, NoticeBlock, TextBlock, counts_text
from .shown_text import Clip
from .transcript import Transcript

MAX_LISTED_FILES = 60
"""Changed files that are listed; the others are counted."""


class UpdateFeed:
    """Turns a transcript into messages for one widget model: small ones as it grows, or all of it."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._pieces_sent: dict[int, int] = {}
        self._files_sent: dict[str, Any] = {}
        self.seq = 0

    def changes(self) -> dict[str, Any]:
        """Return what is new since the last call, under the next number."""
        self.seq += 1
        blocks = [self._patch(index) for index in self._transcript.take_touched()]
        files = files_of(self._transcript)
        news = {} if files == self._files_sent else {"files": files}
        self._files_sent = files
        return self._message("changes", blocks) | news

    def everything(self) -> dict[str, Any]:
        """Return the whole display under the number of the last update, for whoever missed some.

        What has changed since the last update is part of it, so that is sent first: `changes`
        must have been called without an event in between.
        """
        blocks = [self._whole(index) for index in range(len(self._transcript.blocks))]
        return self._message("whole", blocks) | {"files": files_of(self._transcript)}

    def _message(self, kind: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "type": kind,
            "seq": self.seq,
            "header": header_of(self._transcript),
            "blocks": blocks,
        }

    def _patch(self, index: int) -> dict[str, Any]:
        block = self._transcript.blocks[index]
        if not isinstance(block, TextBlock):
            return self._whole(index)
        pieces = block.pieces[self._pieces_sent.get(index, 0) :]
        self._pieces_sent[index] = len(block.pieces)
        return {"i": index, "kind": block.kind, "append": "".join(pieces), "omitted": block.omitted}

    def _whole(self, index: int) -> dict[str, Any]:
        block = self._transcript.blocks[index]
        if isinstance(block, TextBlock):
            text = "".join(block.pieces)
            return {"i": index, "kind": block.kind, "append": text, "omitted": block.omitted}
        if isinstance(block, NoticeBlock):
            return {"i": index, "kind": "notice", "text": block.text}
        return {"i": index} | _call(block)


def header_of(transcript: Transcript) -> dict[str, Any]:
    """Return the figures and the state of a run as plain JSON; `elapsed` in seconds."""
    error = transcript.error
    return {
        "model": transcript.model,
        "note": transcript.note,
        "thread": transcript.thread,
        "turn": transcript.turn,
        "step": transcript.step,
        "state": transcript.state,
        "activity": transcript.activity,
        "elapsed": round(transcript.elapsed, 2),
        "tokens": tokens_text(transcript),
        "cost": transcript.cost,
        "error": None if error is None else {"kind": error[0], "message": error[1]},
    }


def tokens_text(transcript: Transcript) -> str:
    """Return `8.2k in · 640 out`; empty while no request is finished."""
    if not transcript.input_tokens and not transcript.output_tokens:
        return ""
    return f"{_thousands(transcript.input_tokens)} in · {_thousands(transcript.output_tokens)} out"


def files_of(transcript: Transcript) -> dict[str, Any]:
    """Return the changed files as plain JSON, bounded."""
    totals = list(transcript.files.values())
    return {"count": len(totals), "listed": [_file(total) for total in totals[:MAX_LISTED_FILES]]}


def _file(total: FileTotal) -> dict[str, Any]:
    added, removed = total.counts
    return {
        "path": total.path,
        "change": total.change,
        "added": counts_text(added, None),
        "removed": counts_text(None, removed),
        "block": total.block,
    }


def _call(block: CallBlock) -> dict[str, Any]:
    added, removed = block.counts
    return {
        "kind": "call",
        "name": block.name,
        "status": block.status,
        "written": block.written,
        "summary": block.summary,
        "input": _clip(block.input),
        "result": _clip(block.result),
        "note": block.note,
        "duration": block.duration,
        "exit": block.exit_code,
        "added": counts_text(added, None),
        "removed": counts_text(None, removed),
        "diffs": [_diff(diff) for diff in block.diffs],
        "open": block.opened,
        "trimmed": block.trimmed,
    }


def _clip(clip: Clip) -> dict[str, str] | None:
    return {"head": clip.head, "tail": clip.tail, "omitted": clip.omitted} if clip.head else None


def _diff(diff: DiffView) -> dict[str, Any]:
    return {"path": diff.path, "change": diff.change, "lines": list(diff.lines), "omitted": diff.omitted}


def _thousands(count: int) -> str:
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}k" if count < 999_950 else f"{count / 1_000_000:.2f}M"
