"""Tool calls as providers stream them: merged, interleaved, without ids or with late ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runcell_nb.core.gateway import ModelDelta, ToolArgumentsDelta, ToolCallDelta

from .gateway_calls import USAGE, WEATHER, deltas_of, of_type, to
from .wire_servers import WireServer, call_piece, openai_stream


async def calls_from(*pieces: dict[str, Any]) -> list[ToolCallDelta]:
    async with WireServer([openai_stream(*pieces, finish="tool_calls", usage=USAGE)]) as server:
        deltas = await deltas_of(to(server, tools=(WEATHER,)))
    assert deltas[-1].reason == "tool-calls"
    check_told_as_called(deltas)
    return of_type(deltas, ToolCallDelta)


def check_told_as_called(deltas: list[ModelDelta]) -> None:
    """Every piece belongs by its id to a call that comes, and the pieces of a call are its arguments."""
    told: dict[str, str] = {}
    for piece in of_type(deltas, ToolArgumentsDelta):
        told[piece.call_id] = told.get(piece.call_id, "") + piece.text
    called = {call.id: call.arguments for call in of_type(deltas, ToolCallDelta)}
    assert {call_id: called.get(call_id) for call_id in told} == told
    assert all(told.get(call_id, "") == arguments for call_id, arguments in called.items())


LATE_IDS = {
    "before any text": [
        call_piece(0, None, "get_weather"),
        call_piece(0, "a"),
        call_piece(0, "a", None, '{"city": "Rome"}'),
    ],
    "with the first text": [
        call_piece(0, None, "get_weather"),
        call_piece(0, "a", None, '{"city":'),
        call_piece(0, None, None, ' "Rome"}'),
    ],
    "after some text": [
        call_piece(0, None, "get_weather", '{"city":'),
        call_piece(0, "a", None, ' "Ro'),
        call_piece(0, "a", None, 'me"}'),
    ],
    "before the name": [
        call_piece(0, "a"),
        call_piece(0, None, "get_weather"),
        call_piece(0, None, None, '{"city": "Rome"}'),
    ],
    "never": [call_piece(0, None, "get_weather"), call_piece(0, None, None, '{"city": "Rome"}')],
}


@pytest.mark.parametrize("when", LATE_IDS)
async def test_a_call_is_told_under_one_id_whenever_its_id_comes(when: str) -> None:
    (call,) = await calls_from(*LATE_IDS[when])
    assert (call.name, call.arguments) == ("get_weather", '{"city": "Rome"}')
    own = when in ("before any text", "with the first text", "before the name")
    assert call.id == "a" if own else call.id.startswith("call_")


async def test_a_late_id_is_told_apart_from_the_id_of_a_next_call() -> None:
    found = await calls_from(
        call_piece(0, None, "get_weather", '{"city": "Rome"}'),
        call_piece(0, "b", "get_weather", '{"city": "Oslo"}'),
    )
    assert [json.loads(call.arguments)["city"] for call in found] == ["Rome", "Oslo"]


async def test_a_call_without_id_and_arguments_is_an_answer() -> None:
    (call,) = await calls_from(call_piece(0, None, "get_weather"))
    assert call.id and (call.name, call.arguments) == ("get_weather", "")


async def test_two_streamed_calls_of_one_index_stay_two() -> None:
    found = await calls_from(
        call_piece(0, "a", "get_weather", '{"city":'),
        call_piece(0, None, None, ' "Rome"}'),
        call_piece(0, "b", "get_weather", '{"city":'),
        call_piece(0, None, None, ' "Oslo"}'),
    )
    assert [(call.id, call.arguments) for call in found] == [
        ("a", '{"city": "Rome"}'),
        ("b", '{"city": "Oslo"}'),
    ]


async def test_whole_calls_of_one_index_without_ids_stay_two() -> None:
    found = await calls_from(
        call_piece(0, None, "get_weather", '{"city": "Rome"}'),
        call_piece(0, None, "get_weather", '{"city": "Oslo"}'),
    )
    assert [json.loads(call.arguments)["city"] for call in found] == ["Rome", "Oslo"]
    assert all(call.id for call in found) and found[0].id != found[1].id


async def test_interleaved_calls_keep_their_pieces_and_order() -> None:
    found = await calls_from(
        call_piece(0, "a", "get_weather", '{"city":'),
        call_piece(1, "b", "get_weather", '{"city":'),
        call_piece(0, None, None, ' "Rome"}'),
        call_piece(1, None, None, ' "Oslo"}'),
    )
    assert [(call.id, call.arguments) for call in found] == [
        ("a", '{"city": "Rome"}'),
        ("b", '{"city": "Oslo"}'),
    ]


async def test_a_whole_call_comes_before_the_next_one_is_written() -> None:
    pieces = [call_piece(0, "a", "get_weather", "{}"), call_piece(1, "b", "get_weather", "{}")]
    async with WireServer([openai_stream(*pieces, finish="tool_calls", usage=USAGE)]) as server:
        deltas = await deltas_of(to(server, tools=(WEATHER,)))
    kinds = [(type(delta), getattr(delta, "call_id", getattr(delta, "id", ""))) for delta in deltas[:-1]]
    assert kinds == [
        (ToolArgumentsDelta, "a"),
        (ToolCallDelta, "a"),
        (ToolArgumentsDelta, "b"),
        (ToolCallDelta, "b"),
    ]
