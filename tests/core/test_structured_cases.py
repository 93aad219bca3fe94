"""The cases of structured output, played by a gateway that notices what is read of it."""

from __future__ import annotations

import asyncio

import pytest

from runcell_nb import AgentEvents, ErrorDelta, FinishDelta, ModelInfo, TextDelta, ToolCallDelta, create_agent
from runcell_nb.core.jsontext import compact_json
from runcell_nb.core.schemas import issues_text
from runcell_nb.core.usage import RequestUsage
from tests.conformance import cases, decoded

USAGE = RequestUsage(input_tokens=3, output_tokens=2, cost_usd=0.5, priced=True)


class TurnPlayer:
    """Plays one list of steps a turn, as one response, and an empty response behind calls that ended none."""

    def __init__(self, turns, wrapped):
        self.turns, self.wrapped = list(turns), wrapped
        self.run = None
        self.played = 0
        self.over = True

    async def describe(self, name):
        return ModelInfo(name="turns/player", local=True)

    async def stream(self, request):
        if not self.over:
            self.over = True
            yield FinishDelta("stop", USAGE)
            return
        steps = self.turns[self.played]
        self.played += 1
        self.over = not any("submit" in step for step in steps)
        reason, cancel = "stop", None
        for number, step in enumerate(steps):
            (kind, value), *_ = step.items()
            following = steps[number + 1] if number + 1 < len(steps) else {}
            try:
                if kind == "text":
                    yield TextDelta(value)
                elif kind == "submit":
                    cancel = following.get("abort")
                    arguments = {"result": value} if self.wrapped else value
                    yield ToolCallDelta(f"s{number}", "submitResult", compact_json(arguments))
                    cancel = None
                elif kind == "stream_error":
                    yield ErrorDelta(value)
                elif kind == "raise":
                    raise RuntimeError(value)
                elif kind == "abort":
                    self.run.cancel(value)
                    await asyncio.sleep(0)
                elif kind == "never":
                    pytest.fail(f"{value} was consumed")
                else:
                    reason = value
            finally:
                if cancel is not None:
                    self.run.cancel(cancel)
        yield FinishDelta(reason, USAGE)


@pytest.mark.parametrize(("given", "expected"), cases("run_cases.json", "structured_run"))
async def test_structured_runs(given, expected):
    schema = given["schema"]
    player = TurnPlayer(decoded(given["turns"]), bool(schema) and schema.get("type") != "object")
    seen = {"repairs": [], "finishes": [], "errors": []}
    events = AgentEvents(
        on_repair=lambda event: seen["repairs"].append({"attempt": event.attempt}),
        on_finish=lambda event: seen["finishes"].append(event.finish_reason),
        on_error=seen["errors"].append,
    )
    agent = create_agent(player, max_repairs=given["maxRepairs"])
    player.run = agent.stream("go", schema=schema, events=events)
    wanted = expected.get("ok", expected)
    if "error" in expected:
        with pytest.raises(Exception) as caught:
            await player.run.result()
        assert type(caught.value).__name__ == expected["error"]
        assert caught.value.usage is not None
        assert seen["errors"] == [caught.value]
        if "message" in expected:
            assert str(caught.value) == expected["message"]
    else:
        result = await player.run.result()
        found = {"data": result.data, "text": result.text, "finishReason": result.finish_reason}
        assert found == {name: wanted[name] for name in found}
        if wanted["finishes"] is not None:
            assert seen["finishes"] == wanted["finishes"]
    assert len(seen["errors"]) == wanted["errors"]
    assert seen["repairs"] == wanted["repairs"]
    assert player.played == wanted["turns"]


@pytest.mark.parametrize(("given", "expected"), cases("core_cases.json", "schema_issues"))
def test_issues_are_told_by_path(given, expected):
    issues = ((issue.get("path", []), issue["message"]) for issue in given["issues"])
    assert issues_text(issues) == expected["ok"]
