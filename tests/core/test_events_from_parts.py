"""What the callbacks are told of a model's answer: the engine's own business is not shown."""

from __future__ import annotations

import copy
import json

import pytest

from runcell_nb import AgentEvents, ScriptedModel, ToolContext, create_agent, tool
from runcell_nb.core.gateway import FinishDelta, ToolCallDelta
from runcell_nb.core.usage import RequestUsage
from tests.conformance import cases

CASES = cases("core_cases.json", "events_from_parts")
USAGE = RequestUsage(source="local")


def script(parts):
    """The parts as a response; a result without a call is the answer to a call of its tool."""
    steps = []
    called = {part["toolCallId"] for part in parts if part["type"] == "tool-call"}
    for part in parts:
        if part["type"] == "text-delta":
            steps.append(part["text"])
        elif part["type"] == "tool-call" or (
            part["type"] == "tool-result" and part["toolCallId"] not in called
        ):
            given = json.dumps(part.get("input", {}))
            steps.append({"tool": part["toolName"], "input": given, "id": part["toolCallId"]})
    reasons = [part["finishReason"] for part in parts if part["type"] == "finish"]
    return ScriptedModel(
        [[*steps, FinishDelta("tool-calls", USAGE)], [FinishDelta((reasons or ["stop"])[0], USAGE)]]
    )


class Listener:
    """Keeps what the callbacks are told until the last part of a case has been."""

    def __init__(self, parts):
        self.told = {
            name: [] for name in ("text", "tool_call", "tool_result", "file_change", "finish", "error")
        }
        self.at_end = None
        self._last = parts[-1]
        self.events = AgentEvents(
            on_text=lambda text: self._add("text", text),
            on_tool_call=lambda event: self._add("tool_call", _members(event, "id", "name", "input")),
            on_tool_result=lambda event: self._add("tool_result", _members(event, "id", "name", "output")),
            on_file_change=lambda file: self._add(
                "file_change", {"path": file.path, "change": file.change, "text": file.text()}
            ),
            on_finish=lambda event: self._add("finish", {"finishReason": event.finish_reason}),
            on_error=lambda error: self._add("error", error),
        )

    def _add(self, name, value):
        self.told[name].append(value)
        if name == self._last["type"].replace("-", "_") and value == self.last_value():
            self.at_end = copy.deepcopy(self.told)

    def last_value(self):
        if self._last["type"] == "finish":
            return {"finishReason": self._last["finishReason"]}
        return {"id": self._last["toolCallId"], "name": self._last["toolName"], "input": self._last["input"]}


def _members(event, *names):
    return {name: getattr(event, name) for name in names}


def tool_of(given):
    """The host tool of a case: it returns what its result part says, and does what the notices say."""
    outputs = {part["toolName"]: part["output"] for part in given["parts"] if part["type"] == "tool-result"}
    notice = outputs.get("fileChange")

    @tool
    async def lookup(id: str, context: ToolContext) -> object:
        """Look up."""
        if notice is not None:
            await context.sandbox.write_file(notice["path"], given["files"][notice["path"]])
        return outputs["lookup"]

    return lookup


@pytest.mark.parametrize(("given", "expect"), CASES)
async def test_events_from_parts_cases(given, expect):
    listener = Listener(given["parts"])
    agent = create_agent(script(given["parts"]), tools=[tool_of(given)], events=listener.events)
    await agent.run("go")
    assert listener.at_end == expect["ok"]


def test_both_cases_run():
    assert len(CASES) == 2


async def test_a_call_without_a_name_is_not_shown_and_an_ending_without_a_reason_is_unknown():
    told = []
    events = AgentEvents(on_tool_call=told.append, on_tool_result=told.append, on_finish=told.append)
    nameless = ToolCallDelta("1", "", "{}")
    model = ScriptedModel([[nameless], ["x", FinishDelta("", RequestUsage(source="local"))]])
    result = await create_agent(model).run("go", events=events)
    assert [event.finish_reason for event in told] == ["unknown"]
    assert result.finish_reason == "unknown"
    assert model.requests[1].messages[-1].content[0].is_error
