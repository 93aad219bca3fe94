"""The copy that stays in the notebook."""

from __future__ import annotations

import re

import pytest

from runcell_nb.notebook.markdown import markdown_html
from runcell_nb.notebook.static_bundle import static_bundle
from runcell_nb.notebook.transcript import RunState, Transcript

from . import samples as s
from .test_markdown import ALLOWED, Audit


def copy_of(events: list[s.Event], state: RunState = "done", message: str | None = None) -> dict[str, str]:
    transcript = Transcript(thread="triage", turn=3)
    for event in events:
        transcript.apply(event)
    transcript.finish(state, message)
    return static_bundle(transcript)


def bare(html: str) -> str:
    """Return what is left when every tag is removed."""
    return re.sub(r"<[^>]*>", " ", html)


@pytest.fixture(scope="module")
def report() -> dict[str, str]:
    return copy_of(s.report_run() + s.report_end())


@pytest.mark.parametrize("kind", ["text/html", "text/markdown", "text/plain"])
@pytest.mark.parametrize(
    "fact",
    [
        "anthropic/claude-sonnet-4-5",
        "thread triage",
        "turn 3",
        "done in",
        "12.5k in · 1.1k out",
        "$0.0520",
        "ask the carrier about",
        "sqlite3 :memory:",
        "exit 0",
        "report.md",
        "+7",
        "+1",
    ],
)
def test_every_copy_tells_the_run(report: dict[str, str], kind: str, fact: str) -> None:
    assert fact in bare(report[kind])


@pytest.mark.parametrize("kind", ["text/html", "text/markdown"])
def test_differences_are_in_the_rich_copies(report: dict[str, str], kind: str) -> None:
    assert "+ # Complaints, March\n" in bare(report[kind]).replace(" \n", "\n")
    assert "- 1,shiping" in report[kind]


def test_the_html_has_no_script_style_class_or_unknown_tag(report: dict[str, str]) -> None:
    audit = Audit(report["text/html"])
    assert set(audit.tags) <= ALLOWED | {"div", "span", "b", "details", "summary"}
    assert {name for name, _ in audit.attributes} <= {"style", "href", "target", "rel", "open"}
    assert "var(" not in report["text/html"]


def test_hostile_content_adds_no_tag() -> None:
    bundle = copy_of(s.hostile_run(), "failed")
    audit = Audit(bundle["text/html"])
    assert set(audit.tags) <= ALLOWED | {"div", "span", "b", "details", "summary"}
    assert {name for name, _ in audit.attributes} <= {"style", "href", "target", "rel", "open"}
    assert "\x1b" not in "".join(bundle.values())
    outside = [
        line for line in bundle["text/markdown"].split("\n") if line[:1] not in "+-" and "`" not in line
    ]
    assert "<script>window.hit = 1</script>" not in outside


@pytest.mark.parametrize("backticks", ["`", "```", "`````"])
def test_backticks_do_not_end_the_code_of_the_markdown_copy(backticks: str) -> None:
    evil = f"{backticks}\n<img src=x>\n{backticks} ![x](http://a.org/x)"
    bundle = copy_of([s.call("a", "bash", command=evil), s.change(evil, None, evil.encode(), "a")])
    rendered = markdown_html(bundle["text/markdown"])
    assert "[image:" not in rendered


def test_a_stopped_and_a_failed_run_say_so() -> None:
    stopped = copy_of(s.report_run(), "stopped")
    failed = copy_of([s.started(), s.failed("The key was refused (401).")])
    for kind in ("text/html", "text/markdown", "text/plain"):
        assert "stopped after" in stopped[kind]
        assert "Stopped." in stopped[kind]
        assert "failed after" in failed[kind]
        assert "The key was refused (401)." in failed[kind]


def test_a_run_of_huge_outputs_leaves_a_small_copy() -> None:
    output = "\n".join(f"line {n} " + "x" * 80 for n in range(100_000))
    events = [s.started()]
    for n in range(200):
        events += [s.call(str(n), "bash", command=f"cat {n}"), s.result(str(n), "bash", output, exit_code=0)]
        events.append(s.change(f"f{n}.txt", None, b"line\n" * 5_000, str(n)))
    bundle = copy_of(events)
    assert sum(map(len, bundle.values())) < 500_000
    assert "200 tool calls" in bundle["text/html"]
    assert "lines left out" in bundle["text/html"]
    assert "cat 199" in bundle["text/html"]


def test_a_run_of_very_many_steps_lists_the_first_and_the_last() -> None:
    events = [
        event
        for n in range(3_000)
        for event in (s.call(str(n), "bash", command=f"echo {n};"), s.result(str(n), "bash", ""))
    ]
    html = copy_of(events)["text/html"]
    assert "3,000 tool calls" in html
    assert "2,600 steps left out" in html
    assert all(f"echo {n};" in html for n in (0, 199, 2_800, 2_999))
    assert "echo 200;" not in html
    assert len(html) < 150_000


def test_a_copy_made_while_the_run_goes_on_says_so() -> None:
    transcript = Transcript()
    transcript.apply(s.started())
    assert "running for" in static_bundle(transcript)["text/plain"]
