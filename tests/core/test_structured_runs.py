"""Structured output: every kind of schema, submissions among other calls, repairs, races."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import json
import sys
import typing
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import pytest
from annotated_types import Gt
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, field_validator
from typing_extensions import TypedDict

from runcell_nb import (
    AgentEvents,
    FinishDelta,
    IncompleteResultError,
    InvalidOptionError,
    ModelInfo,
    RunLimits,
    ScriptedModel,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallDelta,
    TurnError,
    UsageDelta,
    create_agent,
    create_sandbox,
    create_thread,
    thread_from_dict,
    tool,
)
from runcell_nb.core.usage import RequestUsage


def submit(value, name="submitResult"):
    return {"tool": name, "input": value}


def wrapped(value):
    return submit({"result": value})


def write(path):
    return {"tool": "write", "input": {"file_path": path, "content": "1"}}


class Point(BaseModel):
    x: int
    y: int = 0


class Node(BaseModel):
    name: str
    children: list[Node] = []


TREE_OF_TWO = Node(name="a", children=[Node(name="b")])


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    when: datetime.date
    pair: tuple[int, int]
    money: decimal.Decimal


class Aliased(BaseModel):
    total: int = Field(alias="grandTotal")


@dataclass
class Row:
    id: int


class Entry(TypedDict):
    id: int


def even(value):
    if value % 2:
        raise ValueError(f"{value} is odd")
    return value // 2


async def later_even(value):
    await asyncio.sleep(0)
    return even(value)


class Checker:
    def __call__(self, value):
        return even(value)


class Later:
    """An awaitable that is no coroutine."""

    def __init__(self, value):
        self.value = value

    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return self.value


DATE = {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}
LIST = {"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}
TREE = {"type": ["array", "integer"], "items": {"$ref": "#"}}


@pytest.mark.parametrize(
    ("schema", "given", "data"),
    [
        (Point, submit({"x": 1}), Point(x=1)),
        (
            Node,
            wrapped({"name": "a", "children": [{"name": "b"}]}),
            Node(name="a", children=[Node(name="b")]),
        ),
        (
            Strict,
            submit({"when": "2026-01-31", "pair": [1, 2], "money": "1.10"}),
            Strict(when=datetime.date(2026, 1, 31), pair=(1, 2), money=decimal.Decimal("1.10")),
        ),
        (Aliased, submit({"grandTotal": 3}), Aliased(grandTotal=3)),
        (Row, submit({"id": 1}), Row(1)),
        (Entry, submit({"id": 1}), {"id": 1}),
        (dict[str, int], submit({"a": 1}), {"a": 1}),
        (list[Point], wrapped([{"x": 1}]), [Point(x=1)]),
        (TypeAdapter(list[int]), wrapped([1]), [1]),
        (Literal["a", "b"], wrapped("b"), "b"),
        (int | None, wrapped(None), None),
        (bool, wrapped(False), False),
        (int, wrapped(0), 0),
        (str, wrapped(""), ""),
        (Annotated[int, Gt(3)], wrapped(4), 4),
        (Annotated[int, AfterValidator(lambda n: n * 2)], wrapped(4), 8),
        (Point | Row, wrapped({"x": 1}), Point(x=1)),
        (datetime.date, wrapped("2026-01-31"), datetime.date(2026, 1, 31)),
        (type(None), wrapped(None), None),
        (DATE, submit({"n": 1}), {"n": 1}),
        (LIST, wrapped([1, 2]), [1, 2]),
        (TREE, wrapped([1, [2]]), [1, [2]]),
        ({}, wrapped(None), None),
        (even, wrapped(4), 2),
        (later_even, wrapped(4), 2),
        (Checker(), wrapped(4), 2),
        (partial(lambda least, value: value + least, 1), wrapped(4), 5),
        (lambda value: Later(value), wrapped(4), 4),
        (lambda value: asyncio.ensure_future(later_even(value)), wrapped(4), 2),
    ],
)
async def test_every_kind_of_schema(schema, given, data):
    model = ScriptedModel([given])
    result = await create_agent(model, max_repairs=0).run("go", schema=schema)
    assert result.data == data
    assert type(result.data) is type(data)
    spec = model.requests[0].tools[-1]
    assert spec.name == "submitResult"
    assert spec.parameters["type"] == "object"
    json.dumps(spec.parameters)


@pytest.mark.parametrize(
    ("schema", "given", "said"),
    [
        (Point, submit({"x": "a", "y": []}), ["x: ", "y: ", "; "]),
        (Point, submit({"y": 1}), ["x: Field required"]),
        (Strict, submit({"when": 5, "pair": ["1", 2], "money": "1"}), ["when: ", "pair.0: "]),
        (list[Point], wrapped([{"x": 1}, {}]), ["1.x: "]),
        (list[Point], submit({"points": []}), ["result: missing"]),
        (DATE, submit({"n": "x"}), ["n: "]),
        (TREE, wrapped(["x"]), ["0: "]),
        (even, wrapped(3), ["3 is odd"]),
        (later_even, wrapped(3), ["3 is odd"]),
        (even, wrapped("x"), ["TypeError"]),
        (lambda value: Point.model_validate(value), wrapped({}), ["x: Field required"]),
        (Point, submit("[1]"), ["not a JSON object"]),
        (Point, submit('{"x": 1}{"x": 2}'), ["not a JSON object"]),
        (Point, submit('{"x": NaN}'), ["not a JSON object"]),
    ],
)
async def test_a_refused_submission_says_why_and_the_turn_goes_on(schema, given, said):
    model = ScriptedModel([given, "I give up."])
    with pytest.raises(IncompleteResultError) as caught:
        await create_agent(model, max_repairs=0).run("go", schema=schema)
    result = model.requests[1].messages[-1].content[0]
    assert result.is_error
    for words in said:
        assert words in result.content[0].text
    assert len(model.requests) == 2
    assert caught.value.usage is not None


@pytest.mark.parametrize(
    "schema",
    [5, True, "int", b"int", Point(x=1), [1], {"type": "nothing"}, {"type": 7}, object(), float("nan")],
)
async def test_a_schema_of_no_kind_is_refused_before_any_work(schema):
    model = ScriptedModel([])
    with pytest.raises(InvalidOptionError, match="schema"):
        await create_agent(model).run("go", schema=schema)
    assert model.requests == []


async def test_the_plain_typed_dict_is_answered_with_one_sentence_where_pydantic_refuses_it():
    class Plain(typing.TypedDict):
        id: int

    agent = create_agent(ScriptedModel([submit({"id": 1})]))
    if sys.version_info >= (3, 12):
        assert (await agent.run("go", schema=Plain)).data == {"id": 1}
    else:
        with pytest.raises(InvalidOptionError, match=r"typing_extensions.TypedDict"):
            await agent.run("go", schema=Plain)


class Unfinished(BaseModel):
    other: Nowhere  # noqa: F821


CYCLE: dict = {"type": "object"}
CYCLE["properties"] = {"again": CYCLE}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/never.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"$ref": "#"},
        {"$schema": []},
        CYCLE,
        Unfinished,
        list["Nowhere"],  # noqa: F821
    ],
    ids=["remote", "missing", "itself", "no draft", "cycle", "model", "forward"],
)
async def test_a_mistake_in_a_schema_is_its_authors_and_no_request_pays_for_it(schema):
    model = ScriptedModel([])
    with pytest.raises(InvalidOptionError, match=r"^schema ") as caught:
        await create_agent(model).run("go", schema=schema)
    assert len(str(caught.value)) < 600
    assert model.requests == []


async def test_a_schema_may_hold_what_only_looks_like_a_reference():
    schema = {
        "type": "array",
        "items": {"anyOf": [{"const": {"$ref": "#/x"}}, {"$ref": "#n"}, {"$ref": "#/$defs/m"}]},
        "$defs": {"n": {"$anchor": "n", "type": "integer"}, "m": {"type": "null"}},
    }
    model = ScriptedModel([wrapped([{"$ref": "#/x"}, 1, None])])
    assert (await create_agent(model).run("go", schema=schema)).data == [{"$ref": "#/x"}, 1, None]
    shown = model.requests[0].tools[-1].parameters
    assert shown["properties"]["result"]["items"] == schema["items"]
    assert shown["$defs"] == schema["$defs"]
    own = {
        "$id": "urn:own",
        "type": "array",
        "items": {"$ref": "#/$defs/n"},
        "$defs": {"n": {"type": "null"}},
    }
    model = ScriptedModel([wrapped([None])])
    assert (await create_agent(model).run("go", schema=own)).data == [None]
    assert model.requests[0].tools[-1].parameters["properties"]["result"] == own


@pytest.mark.parametrize("member", ["anyOf", "allOf", "oneOf"])
async def test_what_providers_refuse_at_the_root_of_parameters_goes_one_level_down(member):
    schema = {"type": "object", member: [{"required": ["a"]}]}
    model = ScriptedModel([wrapped({"a": 1})])
    assert (await create_agent(model).run("go", schema=schema)).data == {"a": 1}
    assert member not in model.requests[0].tools[-1].parameters


async def test_a_refusal_is_bounded():
    many = ScriptedModel([wrapped(["x"] * 5000), "no"])
    with pytest.raises(IncompleteResultError) as caught:
        await create_agent(many, max_repairs=0).run("go", schema=list[int])
    assert len(str(caught.value)) < 8000
    big = ScriptedModel([wrapped("x" * 100_000), "no"])
    with pytest.raises(IncompleteResultError) as caught:
        await create_agent(big, max_repairs=0).run("go", schema={"type": "integer"})
    assert len(str(caught.value)) < 1000


async def test_a_json_schema_is_checked_beside_the_loop():
    schema = {"type": "array", "uniqueItems": True}
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.ensure_future(count())
    value = [{"n": number} for number in range(400)]
    model = ScriptedModel([wrapped(value)])
    run = create_agent(model).stream("go", schema=schema)
    before = None
    async for event in run.events():
        if event.type == "request-started":
            before = turns
    assert (await run.result()).data == value
    assert turns - before > 50  # others had their turns while 80,000 pairs were compared
    counting.cancel()


async def test_the_tool_is_hidden_and_the_model_is_told_of_it():
    pieces = [ToolArgumentsDelta("s", "submitResult", '{"x"'), ToolCallDelta("s", "submitResult", '{"x": 1}')]
    model = ScriptedModel([submit({"x": "a"}), pieces])
    seen = []
    run = create_agent(model).stream(
        "go", schema=Point, events=AgentEvents(on_tool_call=seen.append, on_tool_result=seen.append)
    )
    types = {event.type async for event in run.events()}
    assert not types & {"tool-call", "tool-result", "tool-input"}
    assert seen == []
    assert "submitResult" in model.requests[0].system


async def test_a_plain_run_has_no_such_tool_and_does_not_show_a_call_of_it():
    model = ScriptedModel([submit({"x": 1}), "done"])
    seen = []
    result = await create_agent(model).run("go", events=AgentEvents(on_tool_call=seen.append))
    assert (result.data, result.text, seen) == (None, "done", [])
    assert "submitResult" not in [spec.name for spec in model.requests[0].tools]
    assert "submitResult" not in model.requests[0].system
    assert model.requests[1].messages[-1].content[0].is_error


async def test_calls_before_a_valid_submission_run_and_those_behind_it_do_not():
    @tool
    def note(text: str) -> str:
        """Note."""
        noted.append(text)
        return text

    noted = []
    steps = [
        write("report.md"),
        {"tool": "note", "input": {"text": "before"}},
        submit({"x": 1}),
        {"tool": "note", "input": {"text": "after"}},
        write("late.md"),
    ]
    result = await create_agent(ScriptedModel([steps]), tools=[note]).run("go", schema=Point)
    assert result.data == Point(x=1)
    assert [file.path for file in result.files] == ["report.md"]
    assert noted == ["before"]
    assert result.finish_reason == "stop"


async def test_behind_a_refused_submission_the_rest_of_the_response_runs():
    steps = [submit({}), write("a")]
    result = await create_agent(ScriptedModel([steps, submit({"x": 1})])).run("go", schema=Point)
    assert [file.path for file in result.files] == ["a"]


async def test_the_first_valid_submission_wins():
    model = ScriptedModel([[submit({"x": 1}), submit({"x": 2})]])
    assert (await create_agent(model).run("go", schema=Point)).data == Point(x=1)


async def test_the_active_request_is_closed_at_once():
    closed = []

    class Endless:
        async def describe(self, name):
            return ModelInfo(name="endless/model", local=True)

        async def stream(self, request):
            try:
                yield ToolCallDelta("s", "submitResult", '{"x": 1}')
                while True:
                    yield TextDelta("more")
            finally:
                await asyncio.sleep(0)
                closed.append(True)

    result = await create_agent(Endless()).run("go", schema=Point)
    assert (result.data, result.text, closed) == (Point(x=1), "", [True])


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("error", [RuntimeError("late"), asyncio.CancelledError(), TimeoutError(), "hangs"])
async def test_what_fails_while_the_request_is_closed_takes_nothing_away(error, before, monkeypatch):
    monkeypatch.setattr("runcell_nb.core.engine.CLOSE_SECONDS", 0.1)

    class Noisy:
        async def describe(self, name):
            return ModelInfo(name="noisy/model", local=True)

        async def stream(self, request):
            try:
                if before:
                    yield ToolCallDelta("l", "ls", "{}")
                yield ToolCallDelta("s", "submitResult", '{"x": 1}')
            finally:
                if error == "hangs":
                    await asyncio.sleep(30)
                raise error

    assert (await create_agent(Noisy()).run("go", schema=Point)).data == Point(x=1)


async def test_the_cut_request_counts_as_far_as_its_provider_counted_or_by_an_estimate():
    counted = RequestUsage(input_tokens=7, output_tokens=3, cost_usd=0.5, priced=True)
    told = await create_agent(ScriptedModel([[UsageDelta(counted), submit({"x": 1})]])).run(
        "go", schema=Point
    )
    assert (told.usage.total_tokens, told.usage.cost_usd, told.usage.cost_measured) == (10, 0.5, True)
    run = create_agent(ScriptedModel([[submit({"x": 1})]])).stream("go", schema=Point)
    finished = [event async for event in run.events() if event.type == "request-finished"]
    assert finished[0].usage.total_tokens > 0
    assert finished[0].usage_source == "local"


async def test_a_repair_turn_goes_on_in_the_same_conversation_and_everything_adds_up():
    usage = RequestUsage(input_tokens=10, output_tokens=5, cost_usd=0.25, priced=True)
    model = ScriptedModel(
        [
            [write("a"), FinishDelta("tool-calls", usage)],
            ["one ", FinishDelta("length", usage)],
            ["two", write("b"), UsageDelta(usage), submit({"x": 1})],
        ]
    )
    told = []
    events = AgentEvents(on_repair=told.append, on_finish=lambda event: told.append(event.finish_reason))
    result = await create_agent(model).run("the task itself", schema=Point, events=events)
    assert (result.text, result.data, result.finish_reason) == ("one two", Point(x=1), "stop")
    assert [file.path for file in result.files] == ["a", "b"]
    assert (result.usage.total_tokens, result.usage.cost_usd, result.usage.cost_measured) == (45, 0.75, True)
    assert told[0] == "length"
    assert (told[1].attempt, told[2]) == (1, "stop")
    repair = model.requests[2].messages[-1].content[0].text
    assert "submitResult" in repair
    assert "the task itself" not in repair


async def test_the_reason_of_a_repair_is_what_was_wrong_with_the_last_submission_of_that_turn():
    told = []
    model = ScriptedModel([submit({}), "hm", "hm", submit({"x": 1})])
    await create_agent(model, max_repairs=2).run(
        "go", schema=Point, events=AgentEvents(on_repair=lambda event: told.append(event.reason))
    )
    assert "x: Field required" in told[0]
    assert "Field required" not in told[1]


async def test_a_spent_budget_has_the_usage_of_every_turn():
    usage = RequestUsage(input_tokens=1, output_tokens=1, cost_usd=0.5, priced=True)
    model = ScriptedModel([["x", FinishDelta("stop", usage)]] * 3)
    with pytest.raises(IncompleteResultError) as caught:
        await create_agent(model, max_repairs=2).run("go", schema=Point)
    assert caught.value.usage.cost_usd == 1.5


async def test_limits_hold_in_repair_turns_too():
    model = ScriptedModel(["x", submit({"x": 1})])
    with pytest.raises(TurnError, match="max_requests"):
        await create_agent(model, limits=RunLimits(max_requests=1)).run("go", schema=Point)


async def test_an_async_validator_may_take_longer_than_a_model_may_be_silent():
    async def slow(value):
        await asyncio.sleep(0.3)
        return value

    limits = RunLimits(stall_seconds=0.1)
    assert (await create_agent(ScriptedModel([wrapped(1)]), limits=limits).run("go", schema=slow)).data == 1


@pytest.mark.parametrize("leave", [SystemExit(3), KeyError("k"), StopIteration(), asyncio.CancelledError()])
async def test_a_validator_that_raises_anything_else_refuses(leave):
    def sync(value):
        raise leave

    async def later(value):
        raise leave

    class Field(BaseModel):
        x: int

        @field_validator("x")
        @classmethod
        def check(cls, value):
            raise leave

    kinds = [sync] if isinstance(leave, StopIteration) else [sync, later, Field]
    for validator in kinds:
        model = ScriptedModel([submit({"x": 1, "result": 1}), "no"])
        with pytest.raises(IncompleteResultError):
            await create_agent(model, max_repairs=0).run("go", schema=validator)
        assert type(leave).__name__ in model.requests[1].messages[-1].content[0].content[0].text


async def test_a_validator_is_asked_once_a_submission():
    seen = []

    class Counted(BaseModel):
        x: int

        @field_validator("x")
        @classmethod
        def count(cls, value):
            seen.append(value)
            return value

    await create_agent(ScriptedModel([submit({"x": "a"}), submit({"x": 5})])).run("go", schema=Counted)
    assert seen == [5]


@pytest.mark.parametrize("kind", ["sync", "async", "swallowing"])
async def test_cancelling_while_a_submission_is_judged_wins_over_it(kind):
    runs = []

    def judge(value):
        runs[0].cancel("changed my mind")
        return value

    async def judge_later(value):
        runs[0].cancel("changed my mind")
        return value

    async def judge_stubbornly(value):
        runs[0].cancel("changed my mind")
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return value

    schema = {"sync": judge, "async": judge_later, "swallowing": judge_stubbornly}[kind]
    thread = create_thread()
    runs.append(create_agent(ScriptedModel([wrapped(1)])).stream("go", schema=schema, thread=thread))
    with pytest.raises(TurnError) as caught:
        await runs[0].result()
    assert caught.value.cause == "changed my mind"
    assert thread.messages == []


async def test_cancelling_after_the_acceptance_changes_nothing():
    runs = []

    class Model:
        async def describe(self, name):
            return ModelInfo(name="m/m", local=True)

        async def stream(self, request):
            try:
                yield ToolCallDelta("s", "submitResult", '{"x": 1}')
            finally:
                runs[0].cancel("too late")
                await asyncio.sleep(0.01)

    thread = create_thread()
    told = []
    events = AgentEvents(on_error=told.append, on_finish=told.append)
    runs.append(create_agent(Model()).stream("go", schema=Point, thread=thread, events=events))
    assert (await runs[0].result()).data == Point(x=1)
    assert [event.finish_reason for event in told] == ["stop"]
    assert len(thread.messages) == 2


async def test_cancelling_while_a_call_before_the_submission_runs_fails_the_run():
    steps = [{"tool": "bash", "input": {"command": "sleep 20"}}, submit({"x": 1})]
    run = create_agent(ScriptedModel([steps])).stream("go", schema=Point)
    async for event in run.events():
        if event.type == "tool-call":
            run.cancel("enough")
    with pytest.raises(TurnError) as caught:
        await run.result()
    assert caught.value.cause == "enough"


async def test_cancelling_in_a_repair_outranks_the_spent_budget():
    runs = []
    model = ScriptedModel(["x", "y"])
    events = AgentEvents(on_repair=lambda event: runs[0].cancel("stop repairing"))
    runs.append(create_agent(model).stream("go", schema=Point, events=events))
    with pytest.raises(TurnError) as caught:
        await runs[0].result()
    assert caught.value.cause == "stop repairing"
    assert len(model.requests) == 1


async def test_a_deadline_in_the_middle_of_judging_wins_over_it():
    async def slow(value):
        await asyncio.sleep(5)
        return value

    limits = RunLimits(max_seconds=0.2)
    with pytest.raises(TurnError, match="max_seconds"):
        await create_agent(ScriptedModel([wrapped(1)]), limits=limits).run("go", schema=slow)


async def test_the_thread_keeps_a_copy_of_the_data_and_the_next_run_goes_on():
    thread = create_thread()
    agent = create_agent(ScriptedModel([submit({"a": [1]}), "ok", wrapped(None)]))
    result = await agent.run("first", schema=dict[str, list[int]], thread=thread)
    result.data["a"].append(2)
    assert thread.messages[-1].data == {"a": [1]}
    again = thread_from_dict(json.loads(json.dumps(thread.to_dict())))
    assert (await agent.run("second", thread=again)).text == "ok"
    last = await agent.run("third", schema=type(None), thread=again)
    assert last.data is None
    assert again.to_dict()["messages"][-1]["data"] is None
    assert "data" not in again.to_dict()["messages"][-3]


async def test_data_without_a_json_form_is_kept_as_it_was_submitted():
    def anything(value):
        return object()

    thread = create_thread()
    await create_agent(ScriptedModel([wrapped([1])])).run("go", schema=anything, thread=thread)
    assert thread.messages[-1].data == [1]
    json.dumps(thread.to_dict())


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


async def test_what_cannot_be_kept_is_refused_and_what_can_is_never_lost():
    thread = create_thread()
    model = ScriptedModel([submit(json.dumps({"a": deep(300)})), submit({"a": deep(5)})])
    result = await create_agent(model).run("go", schema={"type": "object"}, thread=thread)
    assert result.data == thread.messages[-1].data == {"a": deep(5)}

    class Odd:
        @property
        def tolist(self):
            raise RuntimeError("lazy")

    for validator, submitted in ((lambda value: Odd(), 7), (lambda value: (n for n in value), [1, 2])):
        thread = create_thread()
        model = ScriptedModel([wrapped(submitted)])
        result = await create_agent(model).run("go", schema=validator, thread=thread)
        assert thread.messages[-1].data == submitted
        assert isinstance(result.data, Odd) or list(result.data) == submitted


async def test_two_structured_runs_at_once_do_not_meet():
    async def one(number):
        async with create_sandbox() as sandbox:
            agent = create_agent(ScriptedModel(["x", submit({"x": number})]))
            return (await agent.run("go", schema=Point, sandbox=sandbox)).data.x

    assert await asyncio.gather(*(one(number) for number in range(8))) == list(range(8))


async def test_a_model_that_is_refused_again_and_again_comes_to_an_end():
    refused = ScriptedModel([submit({})] * 50)
    with pytest.raises(IncompleteResultError, match="Field required"):
        await create_agent(refused, max_repairs=1).run("go", schema=Point)
    assert len(refused.requests) == 20


@pytest.mark.parametrize("schema", [{"a": int}, {"name": "string"}])
async def test_a_mapping_that_is_no_json_schema_is_refused(schema):
    with pytest.raises(InvalidOptionError, match=r"^schema "):
        await create_agent(ScriptedModel([])).run("go", schema=schema)
