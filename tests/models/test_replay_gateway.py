"""Answers from a recording: all the same, nothing asked; and what happens when something differs."""

from __future__ import annotations

import asyncio
import itertools

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
    ReplayGateway,
    RunLimits,
    ScriptedModel,
    TextDelta,
    ToolCallDelta,
    ToolDefinition,
    TurnError,
    create_agent,
    create_thread,
    tool,
)
from runcell_nb.core.usage import RequestUsage
from runcell_nb.models.recorded_cell import recorded_cell
from runcell_nb.models.recording import Recording
from runcell_nb.models.recording_reading import RecordingError
from runcell_nb.models.replay_gateway import HOW_TO_RENEW, ReplayError
from tests.models.recordings import READ_THEN_ANSWER, call, file, recorded, replayed, through_json


async def mismatch(recording: Recording, prompt: str = "Go.", **options: object) -> str:
    """What a strict replay says of a run that differs."""
    with pytest.raises(TurnError) as caught:
        await replayed(recording, prompt, **options)
    assert isinstance(caught.value.cause, ReplayError)
    assert str(caught.value).endswith(HOW_TO_RENEW)
    return str(caught.value)


async def test_a_run_is_replayed_with_its_tools() -> None:
    recording = await recorded(READ_THEN_ANSWER, files=[file("one\ntwo\n")])
    gateway = ReplayGateway(recording)
    result = await replayed(recording, files=[file("one\ntwo\n")], gateway=gateway)
    assert result.text == "Let me look. Two lines.\nThat is all."
    assert (gateway.replayed, gateway.live, gateway.unused, gateway.name) == (2, 0, [], "ScriptedModel")


async def test_the_deltas_are_those_that_came() -> None:
    deltas = [
        ReasoningDelta("a", None),
        ReasoningDelta("b", {"signature": "s"}),
        TextDelta("One "),
        TextDelta("two."),
        ToolCallDelta("x", "ls", "{ }"),
        FinishDelta("tool-calls", RequestUsage(5, 3)),
    ]
    recording = await recorded([deltas, "Done."])
    seen = []

    class Seen(ReplayGateway):
        async def stream(self, request):
            async for delta in super().stream(request):
                seen.append(delta)
                yield delta

    await replayed(recording, gateway=Seen(recording))
    assert seen[:4] == deltas[:4]
    assert (seen[4].name, seen[4].arguments) == ("ls", "{ }")
    assert seen[5] == FinishDelta("tool-calls", RequestUsage(5, 3, source="replayed"))


async def test_tokens_are_as_recorded_and_nothing_costs() -> None:
    priced = FinishDelta("stop", RequestUsage(10, 5, cost_usd=2.0, priced=True))
    recording = await recorded([["Hi.", priced]])
    result = await replayed(recording)
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.cost_usd) == (10, 5, 0)


async def test_a_cost_limit_does_not_refuse_a_replay() -> None:
    class Unpriced(ScriptedModel):
        async def describe(self, name):
            return ModelInfo("a/b")

    recorder = RecordingGateway(Unpriced(["Hi."]))
    await create_agent(recorder).run("Go.")
    agent = create_agent(ReplayGateway(recorder.recording), limits=RunLimits(max_cost_usd=0.01))
    assert (await agent.run("Go.")).text == "Hi."


async def test_a_replay_can_be_replayed_again_and_recorded_again() -> None:
    recording = await recorded(READ_THEN_ANSWER, files=[file("one\ntwo\n")])
    again = RecordingGateway(ReplayGateway(recording))
    await create_agent(again).run("Go.", files=[file("one\ntwo\n")])
    assert list(again.recording.requests) == list(recording.requests)
    assert await replayed(recording, files=[file("one\ntwo\n")])


class Answer(BaseModel):
    """A result."""

    value: int


async def test_a_structured_run_with_a_refusal_and_a_repair() -> None:
    submit = [call("submitResult", value="many"), call("submitResult", value=3), "never read"]
    recording = await recorded(["Hm.", submit], schema=Answer)
    assert recording.steps[-1].response.cut
    assert (await replayed(recording, schema=Answer)).data == Answer(value=3)


async def test_a_result_that_is_refused_now_is_told() -> None:
    def judge(limit: int):
        def check(value: dict) -> int:
            if value["value"] > limit:
                raise ValueError("too big")
            return value["value"]

        return check

    def schema(limit: int):
        check = judge(limit)
        return check

    recording = await recorded([[call("submitResult", result={"value": 3})]], schema=schema(5))
    said = await mismatch(recording, schema=schema(2))
    assert "accepted then and is refused now" in said


async def test_a_conversation_that_did_not_fit_is_made_shorter_again() -> None:
    long = "\n".join(f"line {number} of many" for number in range(3000))
    script = [[call("read", file_path="notes.txt")], ContextOverflowError("too long"), "Done."]
    recording = await recorded(script, files=[file(long)])
    assert (await replayed(recording, files=[file(long)])).text == "Done."


async def test_an_error_within_a_stream_comes_again() -> None:
    recorder = RecordingGateway(ScriptedModel([["Begin", ErrorDelta(ValueError("overloaded"))]]))
    with pytest.raises(TurnError):
        await create_agent(recorder).run("Go.")
    with pytest.raises(TurnError, match="overloaded"):
        await replayed(through_json(recorder.recording))


async def test_a_failing_and_a_parallel_tool() -> None:
    calls = [
        call("read", file_path="none.txt"),
        call("ls"),
        call("nothing"),
        {"tool": "read", "input": "{broken"},
    ]
    recording = await recorded([calls, "Done."])
    assert (await replayed(recording)).text == "Done."


async def test_today_is_not_yesterday() -> None:
    days = itertools.count(10)

    def now() -> str:
        """Tell the time."""
        return f"2026-01-{next(days)} 10:00:00, took 0.{next(days)}s"

    recording = await recorded([[call("now")], "Done."], tools=[now])
    assert (await replayed(recording, tools=[now])).text == "Done."


async def test_a_changed_prompt() -> None:
    recording = await recorded(["Hi."], "First line\nGo left.\nLast line")
    said = await mismatch(recording, "First line\nGo right.\nLast line")
    assert "message 1, the prompt:" in said
    assert "-Go left." in said and "+Go right." in said


async def test_a_changed_file_shows_in_the_result_of_its_tool() -> None:
    recording = await recorded(READ_THEN_ANSWER, files=[file("one\ntwo\n")])
    said = await mismatch(recording, files=[file("one\nthree\n")])
    assert "message 3, the result of read:" in said
    assert "two" in said and "three" in said and "request 2 of 2" in said


async def test_changed_tools() -> None:
    def lookup(key: int) -> str:
        """Look up."""
        return "ok"

    recording = await recorded(["Hi."], tools=[lookup])
    assert "tool 'lookup': removed" in await mismatch(recording)

    def other(key: int) -> str:
        """Look up."""
        return "ok"

    assert "tool 'other': added" in await mismatch(recording, tools=[lookup, other])

    def wider(key: int, more: str = "") -> str:
        """Look it up."""
        return "ok"

    said = await mismatch(recording, tools={"lookup": wider})
    assert "tool 'lookup': description changed:" in said and "+Look it up." in said
    assert "tool 'lookup': schema changed:" in said and '"more"' in said


async def test_a_changed_system_prompt_model_and_thinking_level() -> None:
    recording = await recorded(["Hi."], system_prompt="Be brief.")
    said = await mismatch(recording, system_prompt="Be long.", thinking_level="low")
    assert "system prompt:" in said and "-Be brief." in said and "+Be long." in said
    assert "thinking level: recorded None, now 'low'" in said
    gateway = ReplayGateway(recording, name="a/b")
    with pytest.raises(
        InvalidOptionError, match="Nothing is recorded of model 'a/b'; recorded are 'Scripted"
    ):
        await create_agent(gateway).run("Go.")


async def test_the_same_thing_asked_once_more() -> None:
    recording = await recorded(["Hi."])
    gateway = ReplayGateway(recording)
    await create_agent(gateway).run("Go.")
    with pytest.raises(TurnError, match="was recorded once and asked once more"):
        await create_agent(gateway).run("Go.")


async def test_what_was_asked_twice_is_answered_in_order() -> None:
    recorder = RecordingGateway(ScriptedModel(["One.", "Two."]))
    for _ in range(2):
        await create_agent(recorder).run("Go.")
    gateway = ReplayGateway(through_json(recorder.recording))
    assert [(await create_agent(gateway).run("Go.")).text for _ in range(2)] == ["One.", "Two."]


async def test_steps_that_were_never_asked() -> None:
    recorder = RecordingGateway(ScriptedModel(["One.", "Two.", "Three."]))
    for prompt in ("a", "b", "c"):
        await create_agent(recorder).run(prompt)
    gateway = ReplayGateway(recorder.recording)
    await create_agent(gateway).run("b")
    with pytest.raises(ReplayError) as caught:
        gateway.check_all_used()
    assert "2 recorded requests were never asked" in str(caught.value)
    assert "after the prompt: 'a'" in str(caught.value) and "'c'" in str(caught.value)
    assert len(gateway.unused) == 2


async def test_nothing_recorded() -> None:
    gateway = ReplayGateway(Recording())
    gateway.check_all_used()
    with pytest.raises(InvalidOptionError, match="Nothing is recorded of model 'nothing/recorded'"):
        await create_agent(gateway).run("Go.")


async def test_auto_asks_the_gateway_what_is_not_recorded() -> None:
    recording = await recorded(READ_THEN_ANSWER, files=[file("one\ntwo\n")])
    live = RecordingGateway(ScriptedModel(["Changed."]), recording)
    gateway = ReplayGateway(recording, mode="auto", gateway=live)
    result = await create_agent(gateway).run("Go.", files=[file("one\nthree\n")])
    assert result.text == "Let me look. Changed."
    assert (gateway.replayed, gateway.live, len(live.steps), len(recording)) == (1, 1, 1, 3)
    again = ReplayGateway(recording)
    await create_agent(again).run("Go.", files=[file("one\nthree\n")])
    assert len(again.unused) == 1


async def test_auto_does_not_replay_what_it_has_just_recorded() -> None:
    recording = Recording()
    live = RecordingGateway(ScriptedModel(["One.", "Two."]), recording)
    gateway = ReplayGateway(recording, mode="auto", gateway=live)
    assert [(await create_agent(gateway).run("Go.")).text for _ in range(2)] == ["One.", "Two."]
    assert (gateway.replayed, gateway.live) == (0, 2)


async def test_runs_at_the_same_time_do_not_mix() -> None:
    prompts = [f"Prompt {number}." for number in range(20)]

    class Echo(ScriptedModel):
        async def stream(self, request):
            prompt = request.messages[0].content[0].text
            if len(request.messages) == 1:
                yield ToolCallDelta("c", "ls", "{}")
            yield TextDelta(f"Said {prompt}")
            yield FinishDelta("stop", RequestUsage(source="local"))

    recorder = RecordingGateway(Echo([]))
    await asyncio.gather(*(create_agent(recorder).run(prompt) for prompt in prompts))
    gateway = ReplayGateway(through_json(recorder.recording))
    results = await asyncio.gather(*(create_agent(gateway).run(prompt) for prompt in reversed(prompts)))
    assert [result.text for result in results] == [f"Said {prompt}" * 2 for prompt in reversed(prompts)]
    gateway.check_all_used()


async def test_a_thread_over_many_runs() -> None:
    async def talk(gateway):
        agent, thread = create_agent(gateway), create_thread()
        return [(await agent.run(prompt, thread=thread)).text for prompt in ("a", "b", "c")]

    recorder = RecordingGateway(ScriptedModel(["One.", [call("ls")], "Two.", "Three."]))
    live = await talk(recorder)
    gateway = ReplayGateway(through_json(recorder.recording))
    assert await talk(gateway) == live
    gateway.check_all_used()


async def test_a_replay_sleeps_only_when_told(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = await recorded([["One ", "two."]])
    value = recording.to_dict()
    value["requests"][0]["responses"][0]["parts"][0]["pieces"] = "4+70000 4+30000"
    slept = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("runcell_nb.models.replay_gateway.asyncio.sleep", sleep)
    await replayed(Recording.from_dict(value))
    assert 70 not in slept
    await replayed(recording, gateway=ReplayGateway(value, timing=True))
    assert [seconds for seconds in slept if seconds > 1] == [70, 30]


async def test_a_cell_is_replayed_by_its_own_steps() -> None:
    recording = Recording()
    for cell, text in (("a", "One."), ("b", "Two.")):
        recorder = RecordingGateway(ScriptedModel([text]))
        await create_agent(recorder).run("Go.")
        recording.renew(recorder.recording)
        recording.record_cell(recorded_cell(cell, "Go.", recorder.name, steps=recorder.steps))
    recording = through_json(recording)
    for cell, text in zip(recording.cells, ("One.", "Two."), strict=True):
        gateway = ReplayGateway(recording, expected=cell)
        assert (await replayed(recording, gateway=gateway)).text == text
        with pytest.raises(TurnError, match="asked once more"):
            await create_agent(gateway).run("Go.")


class Counted:
    """A tool of the world outside."""

    def __init__(self) -> None:
        self.runs = 0

    def definition(self, record: object = True) -> ToolDefinition:
        def execute(value: dict) -> object:
            self.runs += 1
            if value["x"] == 0:
                raise ValueError("no zero")
            return f"{value['x']} was asked {self.runs} times"

        schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
        return ToolDefinition("Ask.", schema, execute, record=record)


async def test_a_recorded_tool_does_not_run_in_a_replay() -> None:
    script = [[call("ask", x=1)], [call("ask", x=2), call("ask", x=0)], [call("ask", x=1)], "Done."]
    counted = Counted()
    recording = await recorded(script, tools={"ask": counted.definition()})
    assert counted.runs == 4
    assert all(one.kept for one in recording.calls)
    gateway = ReplayGateway(recording)
    await replayed(recording, tools={"ask": counted.definition()}, gateway=gateway)
    assert (counted.runs, len(gateway.results)) == (4, 4)
    first, _, failed, again = [kept.result for kept in gateway.results]
    assert (first.content[0].text, again.content[0].text) == ("1 was asked 1 times", "1 was asked 4 times")
    assert failed.is_error and "no zero" in failed.content[0].text


async def test_a_tool_that_is_not_recorded_runs_in_a_replay() -> None:
    counted = Counted()
    recording = await recorded([[call("ask", x=1)], "Done."], tools={"ask": counted.definition(False)})
    assert [(one.name, one.arguments, one.kept) for one in recording.calls] == [("ask", '{"x":1}', False)]
    said = await mismatch(recording, tools={"ask": counted.definition(False)})
    assert counted.runs == 2 and "-1 was asked 1 times" in said.replace("    ", "")


async def test_a_recorded_tool_without_a_kept_result_never_runs_in_strict() -> None:
    counted = Counted()
    recording = await recorded([[call("ask", x=1)], "Done."], tools={"ask": counted.definition(False)})
    said = await mismatch(recording, tools={"ask": counted.definition(True)})
    assert counted.runs == 1 and "does not run in a strict replay" in said


async def test_in_auto_a_recorded_tool_runs_where_nothing_is_kept_and_is_kept() -> None:
    counted = Counted()
    recording, fresh = Recording(), Recording()
    live = RecordingGateway(ScriptedModel([[call("ask", x=1)], "Done."]), fresh)
    gateway = ReplayGateway(recording, mode="auto", gateway=live)
    await create_agent(gateway, tools={"ask": counted.definition()}).run("Go.")
    assert (counted.runs, len(fresh.results)) == (1, 1)
    await replayed(through_json(fresh), tools={"ask": counted.definition()})
    assert counted.runs == 1


async def test_the_decorator_takes_record() -> None:
    runs = []

    class Shop:
        @tool(record=True)
        def buy(self, what: str) -> dict:
            """Buy something."""
            runs.append(what)
            return {"bought": what}

    recording = await recorded([[call("buy", what="tea")], "Done."], tools=[Shop().buy])
    await replayed(recording, tools=[Shop().buy])
    assert runs == ["tea"]
    assert tool(lambda: "x").record is False


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "off"}, "mode must be 'strict' or 'auto', got 'off'"),
        ({"mode": "auto"}, "mode 'auto' needs a gateway, got None"),
        ({"gateway": "local/demo"}, "mode 'strict' takes no gateway, got 'local/demo'"),
        ({"mode": "auto", "gateway": 3}, "gateway must be a name"),
    ],
)
def test_wrong_options(options: dict, said: str) -> None:
    with pytest.raises(InvalidOptionError, match=said):
        ReplayGateway(Recording(), **options)


def test_what_is_no_recording() -> None:
    with pytest.raises(InvalidOptionError, match="recording must be a Recording"):
        ReplayGateway(3)
    with pytest.raises(RecordingError, match="version must be"):
        ReplayGateway({})


async def test_a_recording_of_several_models_needs_a_name() -> None:
    recording = Recording()
    for name in ("a/b", "c/d"):

        class Named(ScriptedModel):
            name = "?"

        model = Named([f"I am {name}."])
        model.name = name
        recorder = RecordingGateway(model)
        await create_agent(recorder).run("Go.")
        recording.renew(recorder.recording)
    with pytest.raises(
        InvalidOptionError, match="name must say which model is replayed: recorded are 'a/b', 'c/d'"
    ):
        ReplayGateway(recording)
    assert (await create_agent(ReplayGateway(recording, name="c/d")).run("Go.")).text == "I am c/d."


def test_a_tool_that_is_to_be_recorded_or_not() -> None:
    with pytest.raises(InvalidOptionError, match="record must be True or False, got 'yes'"):
        create_agent("local/demo", tools={"ask": Counted().definition("yes")})
