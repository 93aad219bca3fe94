"""What a gateway that records keeps, and what not."""

from __future__ import annotations

import asyncio
import json

import pytest
from pydantic import BaseModel

from runcell_nb import (
    ContextOverflowError,
    ErrorDelta,
    FinishDelta,
    InvalidOptionError,
    ModelInfo,
    ReasoningDelta,
    RecordingGateway,
    RetryDelta,
    RunLimits,
    ScriptedModel,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallDelta,
    TurnError,
    UsageDelta,
    create_agent,
    create_thread,
)
from runcell_nb.core.usage import RequestUsage
from runcell_nb.models.recorded_response import CallPart, ErrorPart, SaidPart
from runcell_nb.models.recording import Recording
from tests.models.recordings import READ_THEN_ANSWER, call, file, recorded, through_json


def only_response(recording: Recording):
    (step,) = recording.steps
    return step.response


async def test_a_response_is_kept_delta_by_delta() -> None:
    usage = RequestUsage(10, 5, 2, 1, cost_usd=0.5, priced=True)
    script = [
        [
            RetryDelta(1, 0.0, "busy"),
            ReasoningDelta("I th"),
            ReasoningDelta("ink", {"signature": "abc"}),
            UsageDelta(RequestUsage(1)),
            TextDelta("One\nt"),
            TextDelta("wo"),
            ToolArgumentsDelta("c1", "ls", '{"pa'),
            ToolCallDelta("c1", "ls", '{"path":   "."}'),
            FinishDelta("tool-calls", usage),
        ],
        "Done.",
    ]
    recording = await recorded(script)
    first = recording.steps[0].response
    thought, said, called = first.parts
    assert (thought.text, thought.reasoning, thought.provider) == ("I think", True, {"signature": "abc"})
    assert [size for size, _ in thought.pieces] == [4, 3]
    assert (said.text, [size for size, _ in said.pieces]) == ("One\ntwo", [5, 2])
    assert called == CallPart("ls", '{"path":   "."}', called.gap)
    assert (first.finish, first.usage) == ("tool-calls", RequestUsage(10, 5, 2, 1))
    stored = recording.to_dict()["requests"][0]["responses"][0]
    assert stored["parts"][1]["text"] == ["One", "two"]
    assert stored["usage"] == {"input": 10, "output": 5, "cacheRead": 2, "cacheWrite": 1}


async def test_a_request_stores_only_what_it_adds() -> None:
    script = [*[[f"Step {number}.", call("ls")] for number in range(20)], "Done."]
    value = (await recorded(script)).to_dict()
    first, *others = value["requests"]
    assert first["after"] is None and len(first["messages"]) == 1
    for before, request in zip(value["requests"], others, strict=False):
        assert request["after"] == before["key"]
        assert request["messages"][0] == {"role": "assistant", "response": 0}
        assert [message["role"] for message in request["messages"]] == ["assistant", "tool"]
    assert len(value["heads"]) == 1


async def test_the_size_grows_with_the_conversation_only() -> None:
    def size(recording: Recording) -> int:
        return len(json.dumps(recording.to_dict()))

    short, long = [
        size(await recorded([*[["x", call("ls")] for _ in range(count)], "Done."])) for count in (20, 80)
    ]
    assert long < 4.5 * short


async def test_runs_of_one_thread_go_on_from_each_other() -> None:
    recorder = RecordingGateway(ScriptedModel(["One.", "Two.", "Three."]))
    agent, thread = create_agent(recorder), create_thread()
    for prompt in ("a", "b", "c"):
        await agent.run(prompt, thread=thread)
    requests = recorder.recording.to_dict()["requests"]
    assert [request["after"] for request in requests] == [None, requests[0]["key"], requests[1]["key"]]
    assert [len(request["messages"]) for request in requests] == [1, 2, 2]


async def test_the_same_thing_asked_again_is_kept_in_order() -> None:
    recorder = RecordingGateway(ScriptedModel(["One.", "Two."]))
    for _ in range(2):
        await create_agent(recorder).run("Go.")
    (request,) = recorder.recording.requests.values()
    assert [response.parts[0].text for response in request.responses] == ["One.", "Two."]
    assert len(recorder.recording) == len(recorder.steps) == 2


@pytest.mark.parametrize("wrong", [RuntimeError("no network"), asyncio.CancelledError()])
async def test_a_request_that_failed_is_not_recorded(wrong: BaseException) -> None:
    recorder = RecordingGateway(ScriptedModel([["Begin", wrong]]))
    with pytest.raises(TurnError):
        await create_agent(recorder).run("Go.")
    assert len(recorder.recording) == 0 == len(recorder.steps)


async def test_a_stream_without_an_end_is_not_recorded() -> None:
    class Cut:
        name = "cut/model"

        async def stream(self, request):
            yield TextDelta("Begin")

        async def describe(self, name):
            return ModelInfo(name, local=True)

    recorder = RecordingGateway(Cut())
    with pytest.raises(TurnError, match="was cut"):
        await create_agent(recorder).run("Go.")
    assert len(recorder.recording) == 0


class Hanging:
    """Says something and then nothing more."""

    name = "hanging/model"

    def __init__(self, *deltas) -> None:
        self.deltas = deltas
        self.closed = False

    async def stream(self, request):
        try:
            for delta in self.deltas:
                yield delta
            await asyncio.Event().wait()
        finally:
            self.closed = True

    async def describe(self, name):
        return ModelInfo(name, local=True)


@pytest.mark.parametrize("how", ["cancel", "stall", "deadline"])
async def test_a_run_that_was_stopped_is_not_recorded_and_closes_the_stream_behind(how: str) -> None:
    limits = {"stall": RunLimits(stall_seconds=0.05), "deadline": RunLimits(max_seconds=0.3)}.get(how)
    model = Hanging(TextDelta("Begin"), ToolCallDelta("c", "submitResult", "{}"), TextDelta("more"))
    recorder = RecordingGateway(model)
    run = create_agent(recorder).stream("Go.", limits=limits)
    async for _ in run.text_stream:
        if how == "cancel":
            run.cancel()
    with pytest.raises(TurnError):
        await run.result()
    assert model.closed
    assert len(recorder.recording) == 0


async def test_an_error_within_a_stream_is_recorded() -> None:
    recorder = RecordingGateway(ScriptedModel([["Begin", ErrorDelta(ValueError("overloaded"))]]))
    with pytest.raises(TurnError, match="overloaded"):
        await create_agent(recorder).run("Go.")
    said, failed = only_response(through_json(recorder.recording)).parts
    assert isinstance(said, SaidPart) and failed == ErrorPart("overloaded", failed.gap)


class Answer(BaseModel):
    """A result."""

    value: int


async def test_a_response_that_was_closed_after_its_result_is_recorded_as_cut() -> None:
    submit = ToolCallDelta("c", "submitResult", '{"value": 3}')
    model = Hanging(UsageDelta(RequestUsage(7, 2)), TextDelta("Here: "), submit)
    recorder = RecordingGateway(model)
    result = await create_agent(recorder).run("Go.", schema=Answer)
    assert result.data == Answer(value=3)
    response = only_response(through_json(recorder.recording))
    assert (response.cut, response.finish, response.usage) == (True, None, RequestUsage(7, 2))
    assert model.closed


async def test_that_a_conversation_did_not_fit_is_recorded() -> None:
    long = "\n".join(f"line {number} of many" for number in range(3000))
    script = [[call("read", file_path="notes.txt")], ContextOverflowError("too long"), "Done."]
    recording = await recorded(script, files=[file(long)])
    assert [step.response.overflow for step in recording.steps] == [None, "too long", None]


async def test_the_model_is_described_as_the_one_behind() -> None:
    class Described(ScriptedModel):
        async def describe(self, name):
            return ModelInfo("a/b", context_window=1000, input_price=0.1, output_price=0.2, note="old")

    recorder = RecordingGateway(Described(["Hi."]))
    await create_agent(recorder).run("Go.")
    info = ModelInfo("a/b", context_window=1000, input_price=0.1, output_price=0.2, note="old")
    assert through_json(recorder.recording).infos == {recorder.name: info}
    assert recorder.recording.models == [recorder.name]


async def test_a_model_by_its_name() -> None:
    recorder = RecordingGateway("local/demo")
    await create_agent(recorder).run("Count the lines of notes.txt.", files=[file("a\nb\n")])
    assert recorder.name == "local/demo" and len(recorder.recording) > 1


@pytest.mark.parametrize("wrong", [None, 3, "", ScriptedModel])
def test_what_is_no_gateway(wrong: object) -> None:
    with pytest.raises(InvalidOptionError, match="gateway must be a name"):
        RecordingGateway(wrong)


async def test_a_gateway_that_does_not_stream_is_told() -> None:
    class Wrong(ScriptedModel):
        async def stream(self, request):
            return 3

    with pytest.raises(TurnError, match="must return an async iterator of deltas, got 3"):
        await create_agent(RecordingGateway(Wrong([]))).run("Go.")


async def test_recording_changes_nothing_that_the_engine_sees() -> None:
    plain, behind = ScriptedModel(READ_THEN_ANSWER), ScriptedModel(READ_THEN_ANSWER)
    for gateway in (plain, RecordingGateway(behind)):
        result = await create_agent(gateway).run("Go.", files=[file("one\ntwo\n")])
        assert result.text == "Let me look. Two lines.\nThat is all."
    assert [request.messages for request in plain.requests] == [
        request.messages for request in behind.requests
    ]
