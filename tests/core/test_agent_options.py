from __future__ import annotations

from functools import partial

import pytest
from pydantic import BaseModel

import runcell_nb
from runcell_nb import (
    AgentEvents,
    InvalidOptionError,
    RunLimits,
    ScriptedModel,
    ToolContext,
    ToolDefinition,
    create_agent,
    tool,
)
from tests.conformance import cases, decoded


def host(name):
    return ToolDefinition(description=name, schema={"type": "object"}, execute=lambda value: None)


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "agent_options"))
def test_agent_option_cases(given, expect, monkeypatch):
    if "env" in given:
        monkeypatch.setenv("RUNCELL_ENV", given["env"])
    options = decoded(given["options"])
    pi = options.pop("pi", {})
    known = {"model": options.pop("model")}
    known |= {name: options.pop(name) for name in ("sandbox", "credentials") if name in options}
    if "maxRepairs" in options:
        known["max_repairs"] = options.pop("maxRepairs")
    if "tools" in options:
        known["tools"] = {name: host(name) for name in options.pop("tools")}
    if "thinkingLevel" in pi:
        known["thinking_level"] = pi["thinkingLevel"]
    if "extensions" in pi:
        known["extensions"] = pi["extensions"]
    assert not options
    if "error" in expect:
        with pytest.raises(getattr(runcell_nb, expect["error"])) as caught:
            create_agent(**known)
        for fragment in expect.get("message_has", ()):
            assert fragment in str(caught.value)
    elif known.get("extensions"):
        with pytest.raises(runcell_nb.RuncellNotImplementedError, match="extensions="):
            create_agent(**known)
    else:
        config = create_agent(**known)._config
        seen = {
            "maxRepairs": config.max_repairs,
            "thinkingLevel": config.thinking_level,
            "toolNames": list(config.tools),
            "sandbox": {"type": config.sandbox.type},
        }
        for name, value in expect["ok"].items():
            if name in seen:
                assert seen[name] == value


class Key(BaseModel):
    key: int


class Shop:
    def __init__(self, price):
        self.price = price

    @tool
    def price_of(self, item: str) -> str:
        """Say what an item costs."""
        return f"{item}: {self.price}"

    def plain_price(self, item: str) -> str:
        """Say what an item costs."""
        return f"{item}: {self.price}"

    async def __call__(self, item: str) -> str:
        """Say what an item costs."""
        return f"{item}: {self.price}"


def priced(price: int, item: str) -> str:
    """Say what an item costs."""
    return f"{item}: {price}"


@pytest.mark.parametrize(
    "tools",
    [
        {"price_of": Shop(3).price_of},
        [Shop(3).price_of],
        {"price_of": Shop(3).plain_price},
        {"price_of": Shop(3)},
        {"price_of": partial(priced, 3)},
        {"price_of": lambda item: f"{item}: 3"},
    ],
    ids=["tool method", "tool method in a list", "method", "object", "partial", "lambda"],
)
async def test_every_kind_of_callable_is_a_tool(tools):
    model = ScriptedModel([[{"tool": "price_of", "input": {"item": "milk"}}], "ok"])
    await create_agent(model, tools=tools).run("go")
    assert model.requests[1].messages[-1].content[0].content[0].text == "milk: 3"
    spec = next(spec for spec in model.requests[0].tools if spec.name == "price_of")
    assert list(spec.parameters["properties"]) == ["item"]


@pytest.mark.parametrize("annotation", [ToolContext, "ToolContext", ToolContext | None, "ToolContext | None"])
async def test_the_context_is_found_however_it_is_annotated(annotation):
    def tell(a: int, where=None):
        return where.call_id

    tell.__annotations__["where"] = annotation
    model = ScriptedModel([[{"tool": "tell", "input": {"a": 1}}], "ok"])
    await create_agent(model, tools=[tell]).run("go")
    assert model.requests[1].messages[-1].content[0].content[0].text == "call_1_1"


def variadic(*args): ...


def positional(a, /): ...


def unknown_annotation(a: "Nowhere"): ...  # noqa: F821, UP037


@pytest.mark.parametrize(
    "tools",
    [
        "read",
        [host("a")],
        {"a": 3},
        {"a b": host("a")},
        {"": host("a")},
        [variadic],
        [positional],
        [unknown_annotation],
        [lambda a: a],
        [print, print],
        {"a": ToolDefinition(description="", schema=3, execute=print)},
        {"a": ToolDefinition(description="", schema={"type": "nonsense"}, execute=print)},
        {"a": ToolDefinition(description="", schema=list[int], execute=print)},
        {"a": ToolDefinition(description="", schema=Key, execute=None)},
        {"a": ToolDefinition(description=5, schema=Key, execute=print)},
        {"a": Key},
    ],
)
def test_tools_that_cannot_work_are_refused_at_once(tools):
    with pytest.raises(InvalidOptionError):
        create_agent("local/demo", tools=tools)


def test_a_tool_describes_itself_from_signature_and_docstring():
    @tool
    def lookup(schema: str, copy: int = 3):
        """Find things.

        Args:
            schema: Which one,
                told at length.
            copy (int): How many.

        Returns:
            Nothing of use.
        """

    config = create_agent("local/demo", tools=[lookup])._config
    described = config.tools["lookup"]
    assert described.description == "Find things."
    properties = described.schema.json_schema["properties"]
    assert properties["schema"]["description"] == "Which one, told at length."
    assert properties["copy"]["default"] == 3
    assert described.schema.json_schema["required"] == ["schema"]
    assert lookup("x") is None


@pytest.mark.parametrize("execute_kind", ["sync", "async", "context"])
@pytest.mark.parametrize("schema", [Key, {"type": "object", "required": ["key"]}, lambda value: Key(**value)])
async def test_execute_gets_the_validators_output(schema, execute_kind):
    seen = []

    def sync(value):
        seen.append(value)
        return "ok"

    async def asynchronous(value):
        return sync(value)

    def with_context(value, context: runcell_nb.ToolContext):
        assert context.call_id
        return sync(value)

    execute = {"sync": sync, "async": asynchronous, "context": with_context}[execute_kind]
    definition = ToolDefinition(description="d", schema=schema, execute=execute)
    model = ScriptedModel([[{"tool": "t", "input": {"key": 1}}, {"tool": "t", "input": {}}], "ok"])
    await create_agent(model, tools={"t": definition}).run("go")
    assert seen == [{"key": 1} if isinstance(schema, dict) else Key(key=1)]
    results = model.requests[1].messages[-1].content
    assert [block.is_error for block in results] == [False, True]
    assert "key" in results[1].content[0].text


async def test_an_async_validator_is_awaited():
    async def check(value):
        if value.get("n") != 1:
            raise ValueError("n must be 1")
        return "one"

    seen = []
    definition = ToolDefinition(description="d", schema=check, execute=seen.append)
    model = ScriptedModel([[{"tool": "t", "input": {"n": 1}}, {"tool": "t", "input": {"n": 2}}], "ok"])
    await create_agent(model, tools={"t": definition}).run("go")
    assert seen == ["one"]
    assert model.requests[1].messages[-1].content[1].content[0].text == "n must be 1"
    spec = next(spec for spec in model.requests[0].tools if spec.name == "t")
    assert spec.parameters == {}


@pytest.mark.parametrize(
    "limits",
    [
        {"max_requests": 0},
        {"max_cost_usd": -1},
        {"max_seconds": float("nan")},
        {"stall_seconds": True},
        {"allow_unpriced": 1},
        {"max_requests": 1.5},
    ],
)
def test_limits_are_checked(limits):
    with pytest.raises(InvalidOptionError, match=next(iter(limits))):
        RunLimits(**limits)


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "thinking_merge"))
async def test_thinking_merge_cases(given, expect):
    model = ScriptedModel(["ok"])
    await create_agent(model, thinking_level=given["agent"]).run("go", thinking_level=given["run"])
    sent = model.requests[0].thinking_level
    assert ("absent" if sent is None else sent) == expect["ok"]


@pytest.mark.parametrize("credentials", ["nope", None, {"type": "x"}, 3])
def test_unknown_credentials_are_refused(credentials):
    with pytest.raises(runcell_nb.CredentialError):
        create_agent("local/demo", credentials=credentials)


@pytest.mark.parametrize("events", [{"on_text": 5}, {"on_error": "print"}])
def test_callbacks_are_functions(events):
    with pytest.raises(InvalidOptionError, match=next(iter(events))):
        AgentEvents(**events)


@pytest.mark.parametrize("responses", ["hello", {"tool": "ls"}, [{"tol": "ls"}], [[3]], [None]])
def test_a_script_that_cannot_be_played_is_refused(responses):
    with pytest.raises(InvalidOptionError):
        ScriptedModel(responses)
