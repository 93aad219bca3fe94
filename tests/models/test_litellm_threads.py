"""Whatever happened on a thread, strict providers take what follows: whole agents over litellm.

A history is made with one provider, saved, and gone on with at the other and back.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from runcell_nb import TurnError, create_agent, create_thread, thread_from_dict
from runcell_nb.core.message_log import INVALID_ARGUMENTS

from .strict_json import PIXEL
from .strict_provider import Call, Piece, Think
from .strict_runs import LONE, MODELS, OTHER, TOOLS, agent, saved, strict

pytestmark = pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")  # aiohttp, in litellm

ARGUMENTS = [
    "",
    "{}",
    "null",
    "[]",
    '"x"',
    "7",
    "nonsense",
    '{"text": "cut',
    '{"text": "a"}{"text": "b"}',
    '{"text": NaN}',
    '{"text": -Infinity}',
    '{"text": 1e999}',
    '{"text": ' + "9" * 5000 + "}",
    '{"text": "\\ud800"}',
    '{"text": "\\uD83D\\uDE00 \\uDC00"}',
    f'{{"text": "{LONE}"}}',
    '{"text": "a", "text": "b"}',
    '{"text": ' + "[" * 300 + "]" * 300 + "}",
    '{"text": ' + "[" * 9000 + "]" * 9000 + "}",
    json.dumps({"text": "huge" * 300_000}),
]
NAMES = ["", " ", "a.b", "functions.echo", "ü" + LONE, "<b>", "n" * 65, "echo\n"]
IDS = [
    "",
    "a",
    "a",
    "a ",
    "functions.echo:0",
    "x" * 41,
    "x" * 41 + "y",
    "ü|" + LONE,
    "srvtoolu_1",
    "b__thought__Q",
]

HISTORIES: dict[str, list[tuple[Piece, ...]]] = {
    "arguments": [tuple(Call(f"c{n}", "echo", arguments) for n, arguments in enumerate(ARGUMENTS))],
    "names": [tuple(Call(f"c{n}", name) for n, name in enumerate(NAMES))],
    "ids in one response": [tuple(Call(call_id, "echo") for call_id in IDS)],
    "ids over responses": [
        (Call("a", "echo"), Call("a_2", "null")),
        (Call("a", "null"),),
        (Call("a", "echo"),),
    ],
    "results": [
        tuple(Call(f"c{n}", name) for n, name in enumerate([*TOOLS, "picture", "nothing", "picture"])),
        (Call("last", "picture"),),
    ],
    "blank texts": [("", " \n", Call("a", "nothing"), "\n"), ("\t", Call("b", "blanks"))],
    "surrogates": [("a" + LONE, Call("a", "echo", '{"text": "x"}'), "\udc00 b"), (LONE, Call("b", "null"))],
    "thinking": [
        (Think("Hm."), Call("a", "null")),
        (Think("So"), "text", Think("B"), Call("b", "null")),
    ],
    "200 calls": [("All at once.", *(Call(f"c{n}", "null") for n in range(200)))],
}
ENDINGS: dict[str, tuple[Piece, ...]] = {
    "text": ("Done. ",),
    "blank": (" \n",),
    "thinking only": (Think("Hm."),),
    "lone surrogate": ("Done " + LONE,),
}


@pytest.mark.parametrize("first", MODELS)
@pytest.mark.parametrize("history", HISTORIES)
async def test_a_history_is_taken_by_both_providers(
    history: str, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [(first, pieces) for pieces in HISTORIES[history]]
    ending, other = ("Done.",), OTHER[first]
    async with strict(
        monkeypatch,
        *made,
        (first, ending),
        (other, (Call("a", "null"),)),
        (other, ending),
        *made,
        (first, ending),
    ):
        thread = create_thread()
        await agent(first).run(f"Go {LONE}.", thread=thread)
        thread = saved(thread)
        await agent(other).run("And on.", thread=thread)
        thread = saved(thread)
        await agent(first).run("And back.", thread=thread)
    assert len(thread.messages) == 6


@pytest.mark.parametrize("first", MODELS)
@pytest.mark.parametrize("ending", ENDINGS)
async def test_any_last_answer_is_taken_by_both_providers(
    ending: str, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = ENDINGS[ending]
    async with strict(monkeypatch, (first, last), (first, last), (OTHER[first], last)):
        thread = create_thread()
        for name in (first, first, OTHER[first]):
            await agent(name).run("Go.", thread=thread)
            thread = saved(thread)


@pytest.mark.parametrize("name", MODELS)
async def test_a_run_that_was_stopped_in_a_call_leaves_the_thread_as_it_was(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = asyncio.Event()

    async def waits() -> None:
        called.set()
        await asyncio.sleep(60)

    ok, calls = ("Fine.",), (Call("a", "nothing"), Call("b", "waits"))
    async with strict(monkeypatch, (name, ok), (name, calls), (name, ok), (OTHER[name], ok)):
        waiting = create_agent(MODELS[name], tools={"waits": waits, "nothing": lambda: ""})
        thread = create_thread()
        await waiting.run("First.", thread=thread)
        before = thread.to_dict()
        run = waiting.stream("Second.", thread=thread)
        await called.wait()
        run.cancel("enough")
        with pytest.raises(TurnError, match="enough"):
            await run.result()
        assert thread.to_dict() == before
        await waiting.run("Third.", thread=thread)
        await agent(OTHER[name]).run("Fourth.", thread=saved(thread))


@pytest.mark.parametrize("name", MODELS)
async def test_a_thread_without_continuation_is_told_again(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"content": f"a {LONE}", "createdAt": "2026-01-01T00:00:00Z"}
    messages = [{"role": "user", **said}, {"role": "agent", **said, "data": {LONE: [LONE]}}]
    thread = thread_from_dict({"version": 1, "id": "t", "messages": messages})
    async with strict(monkeypatch, (name, ("Fine.",)), (OTHER[name], ("Fine.",))) as server:
        await agent(name).run(f"Go {LONE}.", thread=thread)
        await agent(OTHER[name]).run("Go.", thread=saved(thread))
    assert "a \ufffd" in json.dumps(server.requests[0].body, ensure_ascii=False)
    assert len(thread.messages) == 4


@pytest.mark.parametrize("name", MODELS)
async def test_what_could_not_be_run_is_told_to_the_model_as_it_was(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = '{"text": "a"}{"text": "b"}'
    async with strict(monkeypatch, (name, (Call("a", "echo", broken),)), (name, ("I see.",))) as server:
        await agent(name).run("Go.")
    asked = json.dumps(server.requests[1].body, ensure_ascii=False)
    assert INVALID_ARGUMENTS in asked
    assert "not a JSON object; nothing was run" in asked


@pytest.mark.parametrize("name", MODELS)
async def test_texts_and_images_of_results_reach_the_model(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = (Call("a", "picture"), Call("b", "nothing"), Call("c", "picture"))
    async with strict(monkeypatch, (name, calls), (name, ("I see.",))) as server:
        await agent(name).run("Go.")
    asked = json.dumps(server.requests[1].body)
    assert [asked.count(shown) for shown in (PIXEL, "In front", "Behind")] == [2, 2, 2]


def thinking_in(body: Any) -> list[str]:
    """The kinds of the blocks of the model's latest message."""
    latest = [message for message in body["messages"] if message["role"] == "assistant"][-1]
    return [block["type"] for block in latest["content"]]


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-5-5"])
async def test_signed_thinking_goes_back_in_its_place(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    thought = (Think("Hm."), "Let me see.", Think("Well."), Call("a", "null"))
    async with strict(monkeypatch, ("anthropic", thought), ("anthropic", ("Done.",))) as server:
        await create_agent(model, tools=TOOLS, thinking_level="medium").run("Go.")
    assert all(request.body["thinking"]["type"] != "disabled" for request in server.requests)
    assert thinking_in(server.requests[1].body) == ["thinking", "text", "thinking", "tool_use"]


async def test_signed_thinking_is_for_its_own_provider_only(monkeypatch: pytest.MonkeyPatch) -> None:
    thought = (Think("A secret thought."), Call("a", "null"))
    done = ("Done.",)
    async with strict(
        monkeypatch, ("anthropic", thought), ("anthropic", done), ("openai", done), ("anthropic", done)
    ) as server:
        thread = create_thread()
        await agent("anthropic", thinking_level="low").run("Go.", thread=thread)
        thread = saved(thread)
        await agent("openai").run("Go.", thread=thread)
        assert "secret" not in json.dumps(server.requests[2].body)
        await agent("anthropic", thinking_level="low").run("Go.", thread=saved(thread))
        assert "secret" in json.dumps(server.requests[3].body)
