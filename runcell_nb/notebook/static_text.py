"""The static copy of a run as Markdown and plain text, and the words that all copies share."""

from __future__ import annotations

from .blocks import CallBlock, FileTotal, counts_text
from .markdown import inert_markdown
from .shown_text import count_text
from .transcript import Transcript
from .updates import tokens_text

MAX_CALLS = 100
"""Tool calls that are listed."""

MAX_FILES = 60
"""Changed files that are listed."""

MAX_ANSWER_CHARS = 100_000
"""Characters of the answer."""

_MAX_DIFF_LINES = 40
_MAX_DIFFS = 20
_WORDS = {"done": "done in", "failed": "failed after", "stopped": "stopped after", "running": "running for"}


def answer_plain(transcript: Transcript) -> str:
    """Return figures, error, answer and structured result as plain text."""
    parts = [
        " · ".join(part for part in header_parts(transcript) if part),
        error_sentence(transcript),
        _answer(transcript),
        transcript.data,
    ]
    return "\n\n".join(part for part in parts if part)


def static_plain(transcript: Transcript) -> str:
    """Return the run as plain text: figures, error, answer, one line for each call and file."""
    parts = [
        " · ".join(part for part in header_parts(transcript) if part),
        transcript.note,
        error_sentence(transcript),
        _answer(transcript),
        transcript.data,
        "\n".join(_calls(transcript)),
        "\n".join(_files(transcript)),
    ]
    return "\n\n".join(part for part in parts if part)


def static_markdown(transcript: Transcript) -> str:
    """Return the run as Markdown without raw HTML or images."""
    name, *rest = header_parts(transcript)
    calls = [f"- {_code(line)}" for line in _calls(transcript)]
    files = [f"- {_code(line)}" for line in _files(transcript)]
    error = error_sentence(transcript)
    parts = [
        " · ".join([f"**{inert_markdown(name)}**", *(inert_markdown(part) for part in rest if part)]),
        f"*{inert_markdown(transcript.note)}*" if transcript.note else "",
        f"**{inert_markdown(' '.join(error.split()))}**" if error else "",
        inert_markdown(_answer(transcript)),
        _code(transcript.data) if transcript.data else "",
        "\n".join(calls),
        "\n".join(files),
        *(_diff(total) for total in list(transcript.files.values())[:_MAX_DIFFS]),
    ]
    return "\n\n".join(part for part in parts if part)


def header_parts(transcript: Transcript) -> list[str]:
    """Return model, thread and turn, state and time, tokens, cost; empty where unknown."""
    thread = f"thread {transcript.thread}" if transcript.thread else ""
    turn = f"turn {transcript.turn}" if transcript.turn else ""
    time = f"{_WORDS[transcript.state]} {seconds_text(transcript.elapsed)}"
    return [transcript.model or "model", thread, turn, time, tokens_text(transcript), transcript.cost]


def error_sentence(transcript: Transcript) -> str:
    """Return why the run failed or that it was stopped; empty when it was neither."""
    if transcript.error is not None and transcript.error[1]:
        return transcript.error[1]
    return "Stopped." if transcript.state == "stopped" else ""


def call_outcome(block: CallBlock) -> str:
    """Return status or exit code, lines added and removed, size and time of a call."""
    status = "" if block.status == "done" else block.status
    parts = [
        status if block.exit_code is None else f"exit {block.exit_code}",
        counts_text(*block.counts),
        block.note,
        "" if block.duration is None else seconds_text(block.duration),
    ]
    return " · ".join(part for part in parts if part)


def seconds_text(seconds: float) -> str:
    """Return `0.3 s`, `12.4 s`, `2 min 05 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02} s"


def _answer(transcript: Transcript) -> str:
    text = "\n\n".join(block.text() for block in transcript.answer())
    if len(text) <= MAX_ANSWER_CHARS:
        return text
    return f"{text[:MAX_ANSWER_CHARS]}\n\n… {len(text) - MAX_ANSWER_CHARS:,} more characters left out …"


def _calls(transcript: Transcript) -> list[str]:
    calls = [block for block in transcript.blocks if isinstance(block, CallBlock)]
    lines = [f"{block.name} {block.summary} ({call_outcome(block)})" for block in calls[:MAX_CALLS]]
    return lines + (
        [f"and {count_text(len(calls) - MAX_CALLS, 'more call')}"] if len(calls) > MAX_CALLS else []
    )


def _files(transcript: Transcript) -> list[str]:
    totals = list(transcript.files.values())
    words = {"create": "new file", "modify": "changed", "delete": "deleted"}
    lines = [
        f"{words.get(total.change, total.change)} {total.path} {counts_text(*total.counts)}".strip()
        for total in totals[:MAX_FILES]
    ]
    return lines + (
        [f"and {count_text(len(totals) - MAX_FILES, 'more file')}"] if len(totals) > MAX_FILES else []
    )


def _diff(total: FileTotal) -> str:
    lines = [line for diff in total.diffs for line in diff.lines]
    if not lines:
        return ""
    kept = lines[:_MAX_DIFF_LINES]
    if len(lines) > len(kept):
        kept.append(f"… {count_text(len(lines) - len(kept), 'line')} left out …")
    fence = "`" * max(3, 1 + max(_longest_run(line) for line in kept))
    return "\n".join([_code(total.path), "", fence + "diff", *kept, fence])


def _code(text: str) -> str:
    """Return an inline code span, whatever backticks the text has."""
    flat = " ".join(text.split())
    marks = "`" * (1 + _longest_run(flat))
    return f"{marks} {flat} {marks}" if "`" in flat else f"{marks}{flat}{marks}"


def _longest_run(text: str) -> int:
    longest = run = 0
    for sign in text:
        run = run + 1 if sign == "`" else 0
        longest = max(longest, run)
    return longest
