"""Damaged and hostile recordings: each fault is one sentence, and none does anything else."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from runcell_nb import (
    ContextOverflowError,
    ErrorDelta,
    FinishDelta,
    ModelRequest,
    ReasoningDelta,
    RecordingGateway,
    ReplayGateway,
    ScriptedModel,
    TextDelta,
    create_agent,
    tool,
    tool_content,
)
from runcell_nb.core.messages import user_text
from runcell_nb.core.usage import RequestUsage
from runcell_nb.models import recording_reading
from runcell_nb.models.recorded_cell import recorded_cell
from runcell_nb.models.recording import Recording
from runcell_nb.models.recording_reading import RecordingError
from runcell_nb.models.replay_gateway import ReplayError
from tests.models.recordings import call, file

PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(32)


async def sample() -> dict[str, Any]:
    """A recording with everything in it that there is."""

    @tool(record=True)
    def picture(of: str) -> Any:
        """Draw."""
        return tool_content(
            [{"type": "text", "text": of}, {"type": "image", "data": PIXEL, "media_type": "image/png"}]
        )

    script = [
        [
            ReasoningDelta("Hm\nhm", {"signature": "s"}),
            TextDelta("Look.\n"),
            TextDelta("So."),
            call("picture", of="x"),
        ],
        ContextOverflowError("too long"),
        [call("read", file_path="notes.txt"), FinishDelta("tool-calls", RequestUsage(1, 2, 3, 4))],
        ["Begin", ErrorDelta("overloaded")],
    ]
    recorder = RecordingGateway(ScriptedModel(script))
    agent = create_agent(recorder, tools=[picture], thinking_level="low")
    with pytest.raises(Exception, match="overloaded"):
        await agent.run("Go.\nOn.", files=[file("long line\n" * 3000)])
    cell = recorded_cell(
        "c1",
        "Go.\nOn.",
        recorder.name,
        tools=["picture"],
        files={"a": "1"},
        steps=recorder.steps,
        results=recorder.results,
    )
    recorder.recording.record_cell(cell)
    return recorder.recording.to_dict()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value within a recording, but for what may be anything: schemas, long texts."""
    yield path
    if isinstance(value, dict | list) and not (path[:1] == ("tools",) and len(path) > 2):
        for key in value if isinstance(value, dict) else range(min(len(value), 6)):
            yield from places(value[key], (*path, key))


def without(value: Any, path: tuple[Any, ...]) -> Any:
    """Return a copy without what is at a path."""
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return value


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a copy with another value at a path."""
    if not path:
        return new
    copied = value.copy()
    copied[path[0]] = changed(value[path[0]], path[1:], new)
    return copied


WRONG = [None, True, -1, 1.5, 10**30, float("nan"), "x", [[]], {"x": {}}, "\ud800"]


async def exercise(recording: Recording) -> None:
    """Do with a recording what anyone does; whatever it holds, it is answered or refused in a sentence."""
    again = Recording.from_dict(recording.to_dict())
    assert len(again) == len(recording)
    for call_ in recording.calls:
        assert isinstance(call_.name, str)
    gateway = ReplayGateway(recording, name="a/b")
    with pytest.raises(ReplayError):
        async for _ in gateway.stream(ModelRequest("a/b", "Be brief.", (user_text("Go."),))):
            pass
    if gateway.unused:
        with pytest.raises(ReplayError, match="never asked"):
            gateway.check_all_used()
    for step in recording.steps:
        list(step.response.deltas(step.key))


async def test_every_value_replaced_by_every_wrong_one() -> None:
    value = await sample()
    good, bad = 0, 0
    for path, wrong in itertools.product(list(places(value)), WRONG):
        try:
            recording = Recording.from_dict(changed(value, path, wrong))
        except RecordingError as error:
            bad += 1
            said = str(error)
            assert said.startswith("The recording ") and said.endswith(".") and len(said) < 600
        else:
            good += 1
            await exercise(recording)
    assert bad > 1000 and good > 100


async def test_every_value_left_out() -> None:
    value = await sample()
    for path in list(places(value))[1:]:
        try:
            recording = Recording.from_dict(without(value, path))
        except RecordingError as error:
            assert str(error).startswith("The recording ")
        else:
            await exercise(recording)


@pytest.mark.parametrize(
    ("path", "wrong", "said"),
    [
        (("version",), 0, "version must be the number 1, got 0; record it anew"),
        (("version",), True, "version must be the number 1, got True"),
        (("requests",), {}, r"requests must be a list, got \{\}"),
        (("requests", 0, "head"), "gone", r"requests\[0\].head must be the key of something that the rec"),
        (("requests", 0, "after"), "later", r"requests\[0\].after must be the key of something"),
        (("requests", 0, "responses"), [], r"requests\[0\].responses must be a list with something in it"),
        (
            ("requests", 0, "messages", 0, "role"),
            "system",
            r"messages\[0\].role must be 'user', 'assistant' or",
        ),
        (("requests", 0, "responses", 0, "parts", 0, "pieces"), "a+b", r"pieces must be lengths with gaps"),
        (("requests", 0, "responses", 0), {"parts": []}, r"requests\[0\].responses\[0\] has no end; record"),
        (("cells", 0, "steps", 0, 1), 9, r"cells\[0\].steps\[0\] must be the number of one of 1, got 9"),
        (
            ("results", 0, "content", 1, "image"),
            "no base64",
            r"content\[1\].image is no image of type 'image/png'",
        ),
        (("cells", 0, "files"), {"a": 1}, r"cells\[0\].files must be text, got 1"),
    ],
)
async def test_what_is_said(path: tuple[Any, ...], wrong: Any, said: str) -> None:
    with pytest.raises(RecordingError, match=said):
        Recording.from_dict(changed(await sample(), path, wrong))


async def test_a_key_that_is_there_twice() -> None:
    value = await sample()
    value["requests"].append(copy.deepcopy(value["requests"][0]))
    with pytest.raises(RecordingError, match="has the key of an earlier one"):
        Recording.from_dict(value)


async def test_two_names_for_one_request_are_one() -> None:
    value = await sample()
    value["requests"].append(copy.deepcopy(value["requests"][0]) | {"key": "other"})
    recording = Recording.from_dict(value)
    assert len(recording.requests) == len(value["requests"]) - 1


async def test_more_than_anyone_records(monkeypatch: pytest.MonkeyPatch) -> None:
    value = await sample()
    deep: Any = {}
    for _ in range(100_000):
        deep = {"x": deep}
    for path in (
        ("tools", next(key for key, spec in value["tools"].items() if "parameters" in spec), "parameters"),
        ("requests", 0, "messages", 0, "content"),
    ):
        inner: Any = value
        for key in path[:-1]:
            inner = inner[key]
        kept, inner[path[-1]] = inner[path[-1]], deep
        with pytest.raises(RecordingError, match="nested more than 200 deep"):
            Recording.from_dict(value)
        inner[path[-1]] = kept
    monkeypatch.setattr(recording_reading, "MAX_REQUESTS", 1)
    with pytest.raises(RecordingError, match="requests must be at most 1 requests, got"):
        Recording.from_dict(value)
    while deep:  # taken apart from the outside: freeing it at once is a recursion of its own
        deep = deep.pop("x")


async def test_a_long_chain_is_no_recursion_and_a_request_that_differs_is_told() -> None:
    value = await sample()
    first = value["requests"][0]
    value["cells"], value["requests"] = [], [first]
    for number in range(3000):
        message = {"role": "user", "content": [{"text": str(number)}]}
        before = value["requests"][-1]["key"]
        value["requests"].append(first | {"key": f"k{number}", "after": before, "messages": [message]})
    recording = Recording.from_dict(value)
    await exercise(recording)
    recording.record_cell(recorded_cell("c", "p", "m", steps=recording.steps[-1:]))
    assert len(recording) == 1 and len(recording.to_dict()["requests"][0]["messages"]) == 3001
