"""Events of runs that never happened, in the form of `event_to_dict`; for tests of what a person sees."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from runcell_nb.core.diffs import diff_of
from runcell_nb.core.events import FileChangeEvent, event_to_dict
from runcell_nb.core.files import ChangedFile
from runcell_nb.core.sandbox import Capabilities, ExecResult, FileInfo, Sandbox

Event = dict[str, Any]

PNG = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x02\x08\x02\0\0\0\xfd\xd4\x9as"
    b"\0\0\0\x0eIDATx\x9cc\xf8\xcf\xc0\x00B\x00\x0c\x02\x01\x01\xc1\xcf~,\0\0\0\0IEND\xaeB`\x82"
)


def started(name: str = "anthropic/claude-sonnet-4-5", note: str | None = None) -> Event:
    model = {"name": name, "note": note, "local": False}
    return {"type": "run-started", "run_id": "r1", "session_id": "s1", "model": model, "prompt": "do it"}


def asks(number: int) -> Event:
    return {"type": "request-started", "number": number}


def answered(number: int, reason: str = "stop", cost: float = 0.0104, source: str = "provider") -> Event:
    tokens = {"input_tokens": 2500, "output_tokens": 210, "cache_read_tokens": 0, "cache_write_tokens": 0}
    usage = tokens | {"cost_usd": cost, "priced": cost > 0, "source": source}
    total = {name: count * number for name, count in tokens.items()}
    return {"type": "request-finished", "number": number, "reason": reason, "usage": usage, "total": total}


def text(piece: str) -> Event:
    return {"type": "text", "text": piece}


def reasoning(piece: str) -> Event:
    return {"type": "reasoning", "text": piece}


def writing(call_id: str, name: str, piece: str) -> Event:
    return {"type": "tool-input", "id": call_id, "name": name, "text": piece}


def call(call_id: str, name: str, **arguments: Any) -> Event:
    return {"type": "tool-call", "id": call_id, "name": name, "input": arguments}


def result(
    call_id: str,
    name: str,
    output: Any,
    *,
    error: bool = False,
    exit_code: int | None = None,
    duration: float = 0.2,
) -> Event:
    return {
        "type": "tool-result",
        "id": call_id,
        "name": name,
        "output": output,
        "is_error": error,
        "duration": duration,
        "exit_code": exit_code,
    }


def change(path: str, before: bytes | None, after: bytes, call_id: str | None = None) -> Event:
    kind: Any = "create" if before is None else "modify"
    file = ChangedFile(path, kind, after)
    return event_to_dict(FileChangeEvent(path, kind, file, diff_of(before, after), call_id))


def failed(message: str, kind: str = "TurnError") -> Event:
    return {"type": "error", "error": {"kind": kind, "message": message}}


def finished(reason: str = "stop") -> Event:
    return {"type": "finish", "session_id": "s1", "finish_reason": reason}


REPORT = (
    "# Complaints, March\n\n| topic | complaints |\n|---|---:|\n"
    "| shipping | 512 |\n| returns | 301 |\n| app | 122 |\n"
)

ANSWER = (
    "Shipping causes **512 of 1,204** complaints. The table is in `report.md`.\n\n"
    "| topic | complaints |\n|---|---:|\n| shipping | 512 |\n| returns | 301 |\n| app | 122 |\n\n"
    "Next I would:\n\n1. ask the carrier about *March*,\n2. put a label in every box,\n"
    "3. read the [return policy](https://example.org/returns).\n"
)


def report_run() -> list[Event]:
    """A run as in the design's picture: reads, counts, writes a report, mends a file."""
    before = b"id,topic\n1,shiping\n2,returns\n3,app\n"
    after = b"id,topic\n1,shipping\n2,returns\n3,app\n"
    rows = "\n".join(f"{n},shipping,Parcel {n} came late" for n in range(1204))
    counts = "topic      n\nshipping   512\nreturns    301\napp        122\n"
    command = (
        "sqlite3 :memory: '.mode csv' '.import feedback.csv f' 'select topic, count(*) n from f group by 1'"
    )
    return [
        started(),
        asks(1),
        reasoning("The person wants a report. First look at the file, then count by topic."),
        text("I'll read the feedback first, then count the complaints by topic."),
        call("c1", "read", file_path="feedback.csv"),
        answered(1, "tool-calls"),
        result("c1", "read", rows, duration=0.1),
        asks(2),
        call("c2", "bash", command=command),
        answered(2, "tool-calls"),
        result("c2", "bash", counts, exit_code=0),
        asks(3),
        call("c3", "write", file_path="report.md", content=REPORT),
        answered(3, "tool-calls"),
        change("report.md", None, REPORT.encode(), "c3"),
        result("c3", "write", "Wrote report.md (7 lines).", duration=0.02),
        asks(4),
        call("c4", "edit", file_path="feedback.csv", old_string="shiping", new_string="shipping"),
        answered(4, "tool-calls"),
        change("feedback.csv", before, after, "c4"),
        result("c4", "edit", "Replaced 1 occurrence.", duration=0.02),
    ]


def report_end() -> list[Event]:
    pieces = [ANSWER[at : at + 7] for at in range(0, len(ANSWER), 7)]
    return [asks(5), *map(text, pieces), answered(5), finished()]


HOSTILE = (
    "<script>window.hit = 1</script>\n\n<img src=x onerror='window.hit = 1'>\n\n"
    "[click](javascript:window.hit=1) [data](data:text/html,<script>window.hit=1</script>)\n\n"
    "![pixel](http://127.0.0.1:9/pixel.png) ![x](x onerror=alert)\n\n"
    '[a](https://example.org/"onmouseover="window.hit=1) <https://example.org/<script>>\n\n'
    "`<svg onload=window.hit=1>` <svg/onload=window.hit=1>\n\n"
    "```html\n</pre><script>window.hit=1</script>\n```\n\n"
    "| <b onclick=window.hit=1>x</b> | y |\n|---|---|\n| </table><script>window.hit=1</script> | z |\n\n"
    "<style>body{display:none}</style>\n\n\x1b[31mred\x1b[0m \u202egnp.exe\u202c\n"
)


def hostile_run() -> list[Event]:
    """Everything that came from outside tries to get out of its place."""
    name = "<img src=x onerror=window.hit=1>"
    path = "<img src=x onerror='window.hit=1'>.md"
    return [
        started(name, note="<script>window.hit = 1</script>"),
        asks(1),
        reasoning(HOSTILE),
        text(HOSTILE),
        call("h1", name, file_path=HOSTILE, html=HOSTILE),
        change(path, b"a\n", HOSTILE.encode(), "h1"),
        result("h1", name, HOSTILE),
        call("h2", "bash", command="echo '" + HOSTILE + "'"),
        result("h2", "bash", {"<b>": [HOSTILE]}, error=True, exit_code=1),
        answered(1),
        {"type": "retry", "attempt": 1, "delay": 2.0, "reason": HOSTILE},
        text(HOSTILE),
        failed(HOSTILE),
    ]


class DictSession:
    """A workspace that is a dict: enough of a backend to look at files."""

    id = "dict"
    working_directory = "/"

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.times: dict[str, datetime] = {}
        self.listings = 0

    async def run(self, command: str, **_: Any) -> ExecResult:
        return ExecResult(127, "", "no shell here")

    async def read_file(self, path: str) -> bytes | None:
        return self.files.get(path)

    async def write_file(self, path: str, data: bytes) -> None:
        self.files[path] = data
        self.times[path] = datetime.now(UTC)

    async def remove(self, path: str) -> None:
        self.files.pop(path, None)

    async def list_files(self) -> Sequence[FileInfo]:
        self.listings += 1
        epoch = datetime(2024, 1, 1, tzinfo=UTC)
        return [FileInfo(path, len(data), self.times.get(path, epoch)) for path, data in self.files.items()]

    async def stop(self) -> None:
        self.files.clear()


def dict_sandbox(files: dict[str, bytes]) -> Sandbox:
    return Sandbox(DictSession(files), kind="virtual", capabilities=Capabilities())
