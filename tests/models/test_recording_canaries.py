"""No key in a recording, wherever one was: in the environment, what was asked, what came back, a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runcell_nb import (
    ErrorDelta,
    ModelInfo,
    ReasoningDelta,
    RecordingGateway,
    ReplayGateway,
    ScriptedModel,
    TextDelta,
    ToolCallDelta,
    TurnError,
    create_agent,
    tool,
)
from runcell_nb.models.recorded_cell import recorded_cell
from runcell_nb.models.recording import Recording
from tests.models.recordings import call, file

KNOWN = "canary-of-the-environment-4711"
"""Looks like no key; only the environment tells that it is one."""

TYPICAL = "sk-ant-canary-0815abcdef"
URL = "https://ann:pass4711word@host.example/v1?api_key=canaryquery4711"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_API_KEY", KNOWN)


SECRETS = f"{KNOWN} {TYPICAL} {URL}"
CANARIES = [KNOWN, TYPICAL, "pass4711word", "canaryquery4711", "canary-0815"]


class Leaky(ScriptedModel):
    """Tells keys wherever it can."""

    async def describe(self, name: str) -> ModelInfo:
        return ModelInfo(name, local=True, note=f"key {SECRETS}")


@tool(record=True)
def leak(secret: str) -> str:
    return f"{secret} and {SECRETS}"


leak.description = f"Uses {SECRETS}."


def script() -> list:
    split = [TextDelta(KNOWN[:9]), TextDelta(KNOWN[9:] + " " + TYPICAL[:7]), TextDelta(TYPICAL[7:])]
    thought = ReasoningDelta(f"I know {SECRETS}", {"signature": KNOWN, "more": [TYPICAL]})
    return [
        [thought, *split, call("leak", secret=SECRETS)],
        [call("read", file_path="notes.txt"), call("bash", command=f"echo {KNOWN}; echo $CANARY_API_KEY")],
        [ToolCallDelta("c", "leak", f'{{"secret": "{KNOWN}", broken')],
        [call("edit", file_path="notes.txt", old_string="//", new_string=f"x@y {KNOWN}")],
        ["Begin", ErrorDelta(RuntimeError(f"401 for {SECRETS}"))],
    ]


async def leaky_recording() -> Recording:
    recorder = RecordingGateway(Leaky(script(), name=f"leaky/{TYPICAL}"))
    recorder.name = "leaky/model"
    agent = create_agent(recorder, tools=[leak], system_prompt=f"Use {SECRETS}.")
    with pytest.raises(TurnError):
        await agent.run(f"Go with {SECRETS}.", files=[file(f"key={SECRETS}\n")])
    recording = recorder.recording
    cell = recorded_cell(
        "c1",
        f"Go with {SECRETS}.",
        recorder.name,
        tools=["leak"],
        files={f"{KNOWN}.txt": "1"},
        steps=recorder.steps,
        results=recorder.results,
    )
    recording.record_cell(cell)
    return recording


async def test_no_key_is_in_a_written_recording(tmp_path: Path) -> None:
    recording = await leaky_recording()
    assert len(recording) == 5
    path = tmp_path / "a.runcell.json"
    recording.write(path)
    text = path.read_text("utf-8")
    assert "[key]" in text
    assert [canary for canary in CANARIES if canary in text] == []


async def test_what_was_recorded_without_keys_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "a.runcell.json"
    (await leaky_recording()).write(path)
    gateway = ReplayGateway(path, name="leaky/model")
    agent = create_agent(gateway, tools=[leak], system_prompt=f"Use {SECRETS}.")
    with pytest.raises(TurnError, match="401 for"):
        await agent.run(f"Go with {SECRETS}.", files=[file(f"key={SECRETS}\n")])
    gateway.check_all_used()


async def test_arguments_stay_json_when_a_key_is_taken_out() -> None:
    recording = await leaky_recording()
    calls = [
        part["arguments"]
        for request in recording.to_dict()["requests"]
        for response in request["responses"]
        for part in response.get("parts", ())
        if "call" in part and part["call"] in ("read", "bash", "edit")
    ]
    assert [type(json.loads(arguments)) for arguments in calls] == [dict, dict, dict]
    edit = json.loads(calls[2])
    assert (edit["old_string"], edit["new_string"]) == ("//", "x@y [key]")


async def test_a_key_that_is_known_only_when_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = RecordingGateway(ScriptedModel([["It is latecomer-8899 and ", "more", call("ls")], "Done."]))
    await create_agent(recorder).run("Tell latecomer-8899.")
    monkeypatch.setenv("LATE_TOKEN", "latecomer-8899")
    value = recorder.recording.to_dict()
    assert "latecomer" not in json.dumps(value)
    gateway = ReplayGateway(value)
    assert (await create_agent(gateway).run("Tell latecomer-8899.")).text == "It is [key] and moreDone."
    gateway.check_all_used()


async def test_a_difference_shows_no_key(tmp_path: Path) -> None:
    recording = await leaky_recording()
    gateway = ReplayGateway(recording.to_dict(), name="leaky/model")
    agent = create_agent(gateway, tools=[leak], system_prompt=f"Use other {SECRETS}.")
    with pytest.raises(TurnError) as caught:
        await agent.run(f"Go elsewhere with {SECRETS}.")
    assert "Go elsewhere with" in str(caught.value)
    assert [canary for canary in CANARIES if canary in str(caught.value)] == []
