"""The static copy of a run as HTML: no script, no style sheet, readable with every style removed.

Inline styles are those that JupyterLab's sanitiser keeps; colours are half-transparent or medium, so
that they can be read on light and on dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from .blocks import Block, CallBlock, DiffView, FileTotal, NoticeBlock, TextBlock, counts_text
from .markdown import markdown_html
from .shown_text import Clip, count_text
from .static_text import call_outcome, error_sentence, header_parts
from .transcript import Transcript

MAX_DETAIL_CHARS = 150_000
"""Characters of tool texts and differences in one copy; beyond them only the lines of the calls are kept."""

MAX_ANSWER_CHARS = 100_000
"""Characters of the answer in one copy."""

MAX_STEPS = 400
"""Steps that are listed: the first and the last of them, half of each."""

MAX_FILES = 100
"""Changed files that are listed."""

_RESULT_LINES = (30, 10)
_RESULT_CHARS = 3_000
_DIFF_LINES = 80

_FRAME = (
    "border:1px solid rgba(128,128,128,0.4); border-radius:4px; max-width:900px; "
    "font-size:13px; line-height:1.5; overflow-wrap:anywhere"
)
_HEAD = "padding:6px 10px; border-bottom:1px solid rgba(128,128,128,0.3); font-size:12px"
_PAD = "padding:4px 10px 8px"
_FOOT = "padding:6px 10px; border-top:1px solid rgba(128,128,128,0.3); font-size:12px"
_STEP = "margin:3px 0; padding-left:9px; border-left:2px solid rgba(128,128,128,0.4)"
_SUMMARY = "cursor:pointer; font-size:12px"
_FAINT = "opacity:0.75"
_PRE = (
    "margin:4px 0 6px; padding:5px 8px; background-color:rgba(128,128,128,0.1); "
    "font-size:12px; overflow:auto; max-height:260px"
)
_GOOD, _WRONG, _WAIT = "color:#2b8a4a", "color:#d9534f", "color:#c07a12"
_ADDED, _REMOVED = "background-color:rgba(46,160,67,0.2)", "background-color:rgba(240,82,79,0.2)"
_DOTS = {"done": _GOOD, "failed": _WRONG, "stopped": _WAIT, "running": "color:#1976d2"}


def answer_html(transcript: Transcript) -> str:
    """Return the answer alone, with the line of figures, as one HTML fragment."""
    return _Page(transcript).answer()


def static_html(transcript: Transcript) -> str:
    """Return the whole run as one HTML fragment; everything that came from outside is escaped."""
    return _Page(transcript).html()


class _Page:
    """One copy being written, with what is left of its budget."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._room = MAX_DETAIL_CHARS

    def answer(self) -> str:
        parts = [self._head(), f'<div style="{_PAD}">', self._error(), self._answer(), self._data(), "</div>"]
        return f'<div style="{_FRAME}">{"".join(parts)}</div>'

    def html(self) -> str:
        parts = [
            self._head(),
            f'<div style="{_PAD}">',
            self._error(),
            self._answer(),
            self._data(),
            self._steps(),
            "</div>",
        ]
        return f'<div style="{_FRAME}">{"".join(parts)}{self._files()}</div>'

    def _head(self) -> str:
        name, *rest, cost = header_parts(self._transcript)
        dot = f'<span style="{_DOTS[self._transcript.state]}">\u25cf</span>'
        pieces = [f"{dot} <b>{escape(name)}</b>", *(escape(part) for part in rest if part)]
        if cost:
            pieces.append(f"<b>{escape(cost)}</b>")
        note = self._transcript.note
        below = f'<div style="{_FAINT}">{escape(note)}</div>' if note else ""
        return f'<div style="{_HEAD}">{" · ".join(pieces)}{below}</div>'

    def _error(self) -> str:
        sentence = error_sentence(self._transcript)
        if not sentence:
            return ""
        edge = "#c07a12" if self._transcript.state == "stopped" else "#d9534f"
        style = f"margin:6px 0; padding-left:9px; border-left:3px solid {edge}; white-space:pre-wrap"
        return f'<p style="{style}">{escape(sentence)}</p>'

    def _answer(self) -> str:
        text = "\n\n".join(block.text() for block in self._transcript.answer())
        cut = len(text) - MAX_ANSWER_CHARS
        note = f"<p><i>… {cut:,} more characters left out …</i></p>" if cut > 0 else ""
        return f"<div>{markdown_html(text[:MAX_ANSWER_CHARS])}{note}</div>" if text else ""

    def _data(self) -> str:
        data = self._transcript.data
        return f'<pre style="{_PRE}; white-space:pre-wrap">{escape(data)}</pre>' if data else ""

    def _steps(self) -> str:
        answer = {id(block) for block in self._transcript.answer()}
        steps = [block for block in self._transcript.blocks if id(block) not in answer]
        if not steps:
            return ""
        calls = self._transcript.call_count
        title = count_text(calls, "tool call") if calls else count_text(len(steps), "step")
        half, missing = MAX_STEPS // 2, len(steps) - MAX_STEPS
        first, last = (steps[:half], steps[-half:]) if missing > 0 else (steps, [])
        gap = f"<p>… {count_text(missing, 'step')} left out …</p>" if missing > 0 else ""
        inner = "".join([*map(self._step, first), gap, *map(self._step, last)])
        return f'<details style="{_STEP}"><summary style="{_SUMMARY}">{title}</summary>{inner}</details>'

    def _step(self, block: Block) -> str:
        if isinstance(block, CallBlock):
            return self._call(block)
        if isinstance(block, NoticeBlock):
            return f'<p style="{_WAIT}; font-size:12px">{escape(block.text)}</p>'
        return self._aside(block)

    def _aside(self, block: TextBlock) -> str:
        text = self._spend(block.text()[:MAX_ANSWER_CHARS])
        if block.kind == "text":
            return f"<div>{markdown_html(text)}</div>"
        inner = f'<div style="{_FAINT}">{markdown_html(text)}</div>'
        return (
            f'<details style="{_STEP}"><summary style="{_SUMMARY}"><i>thinking</i></summary>{inner}</details>'
        )

    def _call(self, block: CallBlock) -> str:
        outcome = f'<span style="{_outcome_style(block)}">{escape(call_outcome(block))}</span>'
        line = f"<b>{escape(block.name)}</b> <code>{escape(block.summary)}</code> · {outcome}"
        body = self._clip(block.input) + self._clip(block.result)
        opened = " open" if block.status == "failed" else ""
        if not body:
            return f'<div style="{_STEP}; font-size:12px">{line}</div>'
        return (
            f'<details style="{_STEP}"{opened}><summary style="{_SUMMARY}">{line}</summary>{body}</details>'
        )

    def _clip(self, clip: Clip) -> str:
        text = self._spend(clip.narrowed(*_RESULT_LINES, _RESULT_CHARS).text())
        return f'<pre style="{_PRE}">{escape(text)}</pre>' if text else ""

    def _files(self) -> str:
        totals = list(self._transcript.files.values())
        if not totals:
            return ""
        more = f"<div>and {len(totals) - MAX_FILES:,} more</div>" if len(totals) > MAX_FILES else ""
        inner = "".join(self._file(total) for total in totals[:MAX_FILES])
        return f'<div style="{_FOOT}">{count_text(len(totals), "file")} changed{inner}{more}</div>'

    def _file(self, total: FileTotal) -> str:
        added, removed = total.counts
        counts = " ".join(
            f'<span style="{style}">{text}</span>'
            for style, text in ((_GOOD, counts_text(added, None)), (_WRONG, counts_text(None, removed)))
            if text
        )
        word = {"create": "new", "modify": "changed", "delete": "deleted"}.get(total.change, total.change)
        line = f"<code>{escape(total.path)}</code> {escape(word)} {counts}"
        lines = "".join(self._diff(total.diffs))
        if not lines:
            return f'<div style="{_STEP}">{line}</div>'
        body = f'<pre style="{_PRE}">{lines}</pre>'
        return f'<details style="{_STEP}"><summary style="{_SUMMARY}">{line}</summary>{body}</details>'

    def _diff(self, diffs: Iterable[DiffView]) -> Iterable[str]:
        for diff in diffs:
            shown = diff.lines[:_DIFF_LINES]
            if not self._spend("".join(shown)):
                continue
            yield from (_diff_line(line) for line in shown)
            omitted = diff.omitted + len(diff.lines) - len(shown)
            if omitted:
                yield f"… {count_text(omitted, 'line')} left out …\n"

    def _spend(self, text: str) -> str:
        """Return the text while there is room for it, else a sentence or nothing."""
        if self._room <= 0 or not text:
            return ""
        self._room -= len(text)
        return text if self._room > 0 else "… left out: this run's texts are long …"


def _diff_line(line: str) -> str:
    style = {"+": _ADDED, "-": _REMOVED, "@": _FAINT}.get(line[:1], "")
    attribute = f"display:block; {style}" if style else "display:block"
    return f'<span style="{attribute}">{escape(line)}\n</span>'


def _outcome_style(block: CallBlock) -> str:
    return _WRONG if block.status == "failed" or block.exit_code else _FAINT
