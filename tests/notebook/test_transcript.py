"""Events folded to what is shown."""

from __future__ import annotations

import pytest

from runcell_nb.core.events import RequestFinishedEvent, event_to_dict
from runcell_nb.core.usage import RequestUsage, RunUsage
from runcell_nb.notebook import transcript as transcript_module
from runcell_nb.notebook.blocks import CallBlock, NoticeBlock, TextBlock
from runcell_nb.notebook.transcript import Transcript

from . import samples as s


def fold(*events: s.Event) -> Transcript:
    transcript = Transcript()
    for event in events:
        transcript.apply(event)
    return transcript


def calls(transcript: Transcript) -> list[CallBlock]:
    return [block for block in transcript.blocks if isinstance(block, CallBlock)]


def test_a_whole_run() -> None:
    clock = iter([0.0, 10.0, 28.5])
    transcript = Transcript(thread="triage", turn=3, clock=lambda: next(clock))
    for event in s.report_run() + s.report_end():
        transcript.apply(event)
    transcript.finish("done")
    assert (transcript.model, transcript.state, transcript.step) == ("anthropic/claude-sonnet-4-5", "done", 5)
    assert transcript.elapsed == 18.5
    assert (transcript.input_tokens, transcript.output_tokens, transcript.cost) == (12_500, 1_050, "$0.0520")
    kinds = [block.kind for block in transcript.blocks]
    assert kinds == ["reasoning", "text", "call", "call", "call", "call", "text"]
    assert [block.text() for block in transcript.answer()] == [s.ANSWER]
    files = {total.path: (total.change, *total.counts) for total in transcript.files.values()}
    assert files == {"report.md": ("create", 7, 0), "feedback.csv": ("modify", 1, 1)}


def test_a_call_goes_through_its_states() -> None:
    transcript = fold(s.writing("a", "write", '{"file'), s.writing("a", "write", '_path"'))
    [block] = calls(transcript)
    assert (block.status, block.written) == ("writing", 12)
    transcript.apply(s.call("a", "write", file_path="x.txt", content="hi"))
    assert (block.status, block.summary) == ("running", "x.txt")
    transcript.apply(s.result("a", "write", "Wrote x.txt."))
    assert (block.status, block.duration, block.result.head) == ("done", 0.2, "Wrote x.txt.")
    assert calls(transcript) == [block]


def test_parallel_calls_keep_their_own_results() -> None:
    transcript = fold(
        s.call("a", "read", file_path="a"),
        s.call("b", "read", file_path="b"),
        s.result("b", "read", "B"),
        s.result("a", "read", "A"),
    )
    assert [(block.summary, block.result.head) for block in calls(transcript)] == [("a", "A"), ("b", "B")]


def test_a_million_lines_leave_a_small_block() -> None:
    output = "\n".join(map(str, range(1_000_000)))
    [block] = calls(fold(s.call("a", "bash", command="seq"), s.result("a", "bash", output, exit_code=0)))
    assert block.result.lines == 1_000_000
    assert "lines left out" in block.result.omitted
    assert len(block.result.text()) < 15_000


def test_an_endless_answer_is_bounded_and_says_so() -> None:
    transcript = fold(*[s.text("x" * 1_000)] * 300)
    [block] = transcript.answer()
    assert block.length == 200_000
    assert "100,000 more characters left out" in block.text()


def test_very_many_calls_keep_their_lines_but_not_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_module, "MAX_FULL_CALLS", 3)
    transcript = fold(
        *(
            event
            for n in range(5)
            for event in (s.call(str(n), "bash", command=f"echo {n}"), s.result(str(n), "bash", f"out {n}"))
        )
    )
    assert [block.trimmed for block in calls(transcript)] == [True, True, False, False, False]
    assert [block.summary for block in calls(transcript)] == [f"echo {n}" for n in range(5)]


@pytest.mark.parametrize("line", ["line of a file\n", "\u3042\n", "x" * 300 + "\n"], ids=len)
@pytest.mark.parametrize("call_each", [True, False])
def test_all_differences_of_a_run_share_one_budget(line: str, call_each: bool) -> None:
    transcript = Transcript()
    text = (line * 150).encode()
    for n in range(1_000):
        call_id = f"c{n}" if call_each else "c"
        transcript.apply(s.call(call_id, "write", file_path=f"f{n}"))
        transcript.apply(s.change(f"f{n}", None, text, call_id))
        transcript.apply(s.result(call_id, "write", "ok"))
    diffs = [diff for total in transcript.files.values() for diff in total.diffs]
    diffs += [diff for block in calls(transcript) for diff in block.diffs]
    kept = {id(diff): sum(map(len, diff.lines)) for diff in diffs}
    assert 0 < sum(kept.values()) <= transcript_module.MAX_DIFF_CHARS
    assert [total.counts for total in transcript.files.values()] == [(150, 0)] * 1_000


def test_beyond_the_budget_a_small_difference_still_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_module, "MAX_DIFF_CHARS", 20)
    transcript = fold(
        s.call("a", "bash", command="x"),
        s.change("big", None, b"long enough to be too much\n", "a"),
        s.change("small", None, b"1\n", "a"),
    )
    assert [bool(total.diffs) for total in transcript.files.values()] == [False, True]
    assert calls(transcript)[0].counts == (2, 0)


def test_a_long_error_is_bounded_from_wherever_it_comes() -> None:
    transcript = fold(s.failed("x" * 100_000))
    assert transcript.error is not None
    assert len(transcript.error[1]) == 4_000
    transcript.finish("failed", "y" * 100_000)
    assert len(transcript.error[1]) == 4_000


def test_too_many_steps_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_module, "MAX_BLOCKS", 4)
    transcript = fold(
        *(
            e
            for n in range(9)
            for e in (s.call(str(n), "ls", path="."), s.result(str(n), "ls", "x"), s.text("t"))
        )
    )
    assert len(transcript.blocks) == 4
    assert isinstance(transcript.blocks[-1], NoticeBlock)


def test_a_created_file_that_is_deleted_again_is_not_listed() -> None:
    gone = {
        "type": "file-change",
        "path": "a",
        "change": "delete",
        "file": None,
        "diff": None,
        "call_id": None,
    }
    assert fold(s.change("a", None, b"1\n"), gone).files == {}
    assert fold(s.change("a", b"1\n", b"2\n"), gone).files["a"].change == "delete"


def test_counts_of_a_new_file_are_the_lines_it_has() -> None:
    transcript = fold(
        s.change("a", None, b"1\n2\n"), {**s.change("a", b"1\n2\n", b"1\n3\n4\n"), "change": "create"}
    )
    assert transcript.files["a"].counts == (3, 0)


def test_a_file_too_big_to_compare_has_no_counts() -> None:
    big = b"x\n" * 200_000
    transcript = fold(s.change("a", big, big + b"y\n"))
    assert transcript.files["a"].counts == (None, None)


def test_what_is_open_at_the_end_is_interrupted() -> None:
    transcript = fold(s.call("a", "bash", command="sleep 30"), s.failed("cancelled"))
    transcript.finish("stopped", "Stopped by you.")
    assert calls(transcript)[0].status == "interrupted"
    assert (transcript.state, transcript.error) == ("stopped", ("TurnError", "Stopped by you."))


def test_done_after_an_error_is_failed() -> None:
    transcript = fold(s.failed("no key", "CredentialError"))
    transcript.finish("done")
    assert (transcript.state, transcript.error) == ("failed", ("CredentialError", "no key"))


@pytest.mark.parametrize(
    ("reason", "word"), [("length", "length limit"), ("content-filter", "content filter")]
)
def test_a_cut_answer_is_told(reason: str, word: str) -> None:
    notices = [b.text for b in fold(s.text("a"), s.answered(1, reason)).blocks if isinstance(b, NoticeBlock)]
    assert len(notices) == 1
    assert word in notices[0]


def test_retries_compactions_and_repairs_are_told() -> None:
    transcript = fold(
        {"type": "compaction", "shortened": 2, "removed": 1, "reason": "too long"},
        {"type": "compaction", "shortened": 1, "removed": 0, "reason": "too long"},
        {"type": "retry", "attempt": 2, "delay": 1.5, "reason": "429"},
        {"type": "repair", "attempt": 1, "reason": "total: missing"},
    )
    assert [block.text for block in transcript.blocks if isinstance(block, NoticeBlock)] == [
        "The conversation did not fit the model: 2 messages shortened and 1 message left out, "
        "then sent again.",
        "The conversation did not fit the model: 1 message shortened, then sent again.",
        "Trying again in 1.5 s (attempt 2): 429",
        "Asked again for a valid result (attempt 1): total: missing",
    ]


@pytest.mark.parametrize(
    ("source", "shown"), [("local", "local"), ("replayed", "$0 (replayed)"), ("provider", "")]
)
def test_the_cost_of_requests_without_tokens(source: str, shown: str) -> None:
    usage = RequestUsage(source=source)  # type: ignore[arg-type]
    event = event_to_dict(RequestFinishedEvent(1, "stop", usage, RunUsage().plus(usage)))
    assert fold(s.started(), event).cost == shown


def test_unknown_events_are_ignored() -> None:
    assert fold({"type": "from-the-future"}).blocks == []


@pytest.mark.parametrize(
    ("name", "arguments", "summary", "has_body"),
    [
        ("bash", {"command": "ls -l"}, "ls -l", False),
        ("bash", {"command": "for i in 1 2\ndo echo $i\ndone"}, "for i in 1 2 …", True),
        ("grep", {"pattern": "x", "path": "src"}, "x in src", False),
        ("write", {"file_path": "a", "content": "long\ntext"}, "a", False),
        ("lookup", {"id": 3}, "id=3", False),
        ("lookup", {"text": "line\n" * 100}, None, True),
        ("lookup", "{not json", "{not json", False),
    ],
)
def test_arguments_on_one_line(name: str, arguments: object, summary: str | None, has_body: bool) -> None:
    [block] = calls(fold({"type": "tool-call", "id": "a", "name": name, "input": arguments}))
    assert summary is None or block.summary == summary
    assert "\n" not in block.summary
    assert bool(block.input.head) == has_body


def test_images_are_named_not_shown() -> None:
    parts = [
        {"type": "text", "text": "a plot"},
        {"type": "image", "data": "QUJD" * 1_000, "mediaType": "image/png"},
    ]
    [block] = calls(fold(s.call("a", "plot"), s.result("a", "plot", parts)))
    assert block.result.head == "a plot\n[image/png, 3.0 kB]"


def test_pieces_of_text_come_together() -> None:
    transcript = fold(s.text("a"), s.reasoning("b"), s.reasoning("c"), s.text(""), s.text("d"))
    texts = [(b.kind, b.text()) for b in transcript.blocks if isinstance(b, TextBlock)]
    assert texts == [("text", "a"), ("reasoning", "bc"), ("text", "d")]
