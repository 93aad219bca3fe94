"""Gemini's wire format byte for byte, for what llmock does not send."""

from __future__ import annotations

import json
import traceback
from typing import Any

import pytest

from runcell_nb.core.gateway import (
    FinishDelta,
    ModelDelta,
    ReasoningDelta,
    RetryDelta,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallDelta,
)
from runcell_nb.core.messages import (
    AssistantMessage,
    ImageBlock,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    UserMessage,
    user_text,
)
from runcell_nb.models.request_error import ModelRequestError

from .gateway_calls import KEY, WEATHER, deltas_of, of_type, parts_of_key, read_into, stream_of, text_of, to
from .wire_servers import WireServer, gemini_call, gemini_chunk

FLASH, THREE = "gemini/gemini-2.5-flash", "gemini/gemini-3-flash-preview"
USAGE = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 60,
    "candidatesTokenCount": 7,
    "thoughtsTokenCount": 50,
    "totalTokenCount": 157,
}
ANSWER = [gemini_chunk({"text": "Sunny."}, finish="STOP", usage=USAGE)]


async def answered(*chunks: bytes | float, model: str = FLASH, **more: Any) -> list[ModelDelta]:
    async with WireServer([list(chunks)]) as server:
        return await deltas_of(to(server, model, tools=(WEATHER,), **more))


async def sent(*messages: Any, model: str = FLASH, **more: Any) -> dict[str, Any]:
    """The body of a request."""
    async with WireServer([ANSWER]) as server:
        await deltas_of(to(server, model, *messages, **more))
    return server.requests[0].body


async def refused(*chunks: bytes | float) -> tuple[list[ModelDelta], ModelRequestError]:
    """What came before an error, and the error of one attempt."""
    deltas: list[ModelDelta] = []
    async with WireServer([list(chunks)]) as server:
        with pytest.raises(ModelRequestError) as caught:
            await read_into(deltas, stream_of(to(server, FLASH, patience=0.0)))
    return deltas, caught.value


async def test_the_request_goes_to_the_base_url_with_the_key_in_a_header() -> None:
    async with WireServer([ANSWER]) as server:
        await deltas_of(to(server, FLASH, tools=(WEATHER,)))
    (request,) = server.requests
    assert request.path == "/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == KEY
    assert request.body["system_instruction"] == {"parts": [{"text": "Be brief."}]}
    assert request.body["contents"] == [{"role": "user", "parts": [{"text": "How is the weather?"}]}]
    (declared,) = request.body["tools"][0]["function_declarations"]
    assert declared["name"] == "get_weather" and "thought_signature" not in json.dumps(request.body)


async def test_text_thinking_and_figures() -> None:
    deltas = await answered(
        gemini_chunk({"text": "Rome, ", "thought": True}, usage={"promptTokenCount": 100}),
        gemini_chunk({"text": "then.", "thought": True}),
        gemini_chunk({"text": "It is "}),
        gemini_chunk({"text": "sunny."}, finish="STOP", usage=USAGE),
    )
    assert [delta.text for delta in of_type(deltas, ReasoningDelta)] == ["Rome, ", "then."]
    assert text_of(deltas) == "It is sunny."
    usage = deltas[-1].usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (40, 60, 57)
    assert usage.source == "provider" and usage.priced
    assert usage.cost_usd == pytest.approx(40 * 3e-7 + 60 * 3e-8 + 57 * 2.5e-6)


async def test_figures_that_gemini_left_out_are_called_estimated() -> None:
    deltas = await answered(gemini_chunk({"text": "Hi."}, finish="STOP"))
    assert deltas[-1].usage.source == "estimated" and deltas[-1].usage.output_tokens > 0


@pytest.mark.parametrize("arguments", [{}, None])
async def test_a_call_without_arguments(arguments: dict[str, Any] | None) -> None:
    deltas = await answered(gemini_chunk(gemini_call("now", arguments), finish="STOP", usage=USAGE))
    (call,) = of_type(deltas, ToolCallDelta)
    assert (call.name, call.arguments, deltas[-1].reason) == ("now", "{}", "tool-calls")


async def test_calls_of_one_response_come_whole_and_in_order() -> None:
    cities = ["Rome", "Oslo", "Zürich"]
    calls = [gemini_call("get_weather", {"city": city}) for city in cities]
    deltas = await answered(gemini_chunk(*calls[:2]), gemini_chunk(calls[2], finish="STOP", usage=USAGE))
    found = of_type(deltas, ToolCallDelta)
    assert [json.loads(call.arguments)["city"] for call in found] == cities
    assert len({call.id for call in found}) == 3 and deltas[-1].reason == "tool-calls"
    assert all(len(call.id) <= 64 for call in found)


def as_response(deltas: list[ModelDelta]) -> AssistantMessage:
    """The message that a log keeps of a response."""
    blocks: list[Any] = []
    for delta in deltas:
        match delta:
            case ReasoningDelta(text, provider):
                blocks.append(ReasoningBlock(text=text, provider=provider))
            case TextDelta(text):
                blocks.append(TextBlock(text=text))
            case ToolCallDelta(call_id, name, arguments):
                blocks.append(ToolCallBlock(id=call_id, name=name, arguments=arguments))
    return AssistantMessage(content=tuple(blocks))


def results_of(message: AssistantMessage) -> ToolMessage:
    return ToolMessage(
        content=tuple(
            ToolResultBlock(call_id=call.id, name=call.name, content=(TextBlock(text="21C"),))
            for call in message.calls
        )
    )


async def test_the_signature_of_a_call_goes_back_with_it_and_stays_out_of_its_id() -> None:
    signature = "Ab+/" * 300 + "=="
    deltas = await answered(
        gemini_chunk({"text": "Hm.", "thought": True}),
        gemini_chunk(
            gemini_call("get_weather", {"city": "Rome"}, signature),
            gemini_call("get_weather", {"city": "Oslo"}),
        ),
        gemini_chunk({"text": ""}, finish="STOP", usage=USAGE),
        model=THREE,
    )
    told = [type(delta) for delta in deltas if not isinstance(delta, ToolArgumentsDelta)]
    assert told == [ReasoningDelta, ReasoningDelta, ToolCallDelta, ToolCallDelta, FinishDelta]
    message = as_response(deltas)
    assert all(len(call.id) <= 64 for call in message.calls)
    body = await sent(user_text("Weather?"), message, results_of(message), model=THREE)
    _, answer, results = body["contents"]
    assert [part["function_call"]["args"] for part in answer["parts"]] == [{"city": "Rome"}, {"city": "Oslo"}]
    assert [part.get("thoughtSignature") for part in answer["parts"]] == [signature, None]
    ids = [part["function_call"]["id"] for part in answer["parts"]]
    assert [part["function_response"]["id"] for part in results["parts"]] == ids
    assert "Hm." not in json.dumps(body)


async def test_every_call_keeps_its_own_signature() -> None:
    calls = [gemini_call("get_weather", {"city": city}, city * 4) for city in ("Rome", "Oslo")]
    message = as_response(await answered(gemini_chunk(*calls, finish="STOP", usage=USAGE), model=THREE))
    body = await sent(user_text("Weather?"), message, results_of(message), model=THREE)
    assert [part["thoughtSignature"] for part in body["contents"][1]["parts"]] == ["Rome" * 4, "Oslo" * 4]


SIGNED_ENDS = [
    [{"text": "sunny.", "thoughtSignature": "TEXT"}],
    [{"text": "sunny."}, {"text": "", "thoughtSignature": "TEXT"}],
]


@pytest.mark.parametrize("model", [FLASH, THREE])
async def test_equal_calls_of_one_response_have_as_many_results_as_calls(model: str) -> None:
    cities = ("Rome", "Rome", "Oslo")
    calls = [
        ToolCallBlock(id=f"c{number}", name="get_weather", arguments=json.dumps({"city": city}))
        for number, city in enumerate(cities)
    ]
    message = AssistantMessage(content=tuple(calls))
    _, answer, results = (await sent(user_text("?"), message, results_of(message), model=model))["contents"]
    asked = [part["function_call"]["args"]["city"] for part in answer["parts"]]
    assert asked == ["Rome", "Oslo"] and len(results["parts"]) == 2


@pytest.mark.parametrize("last", SIGNED_ENDS)
async def test_the_signature_of_a_text_goes_back_with_it(last: list[dict[str, Any]]) -> None:
    deltas = await answered(
        gemini_chunk({"text": "It is "}), gemini_chunk(*last, finish="STOP", usage=USAGE), model=THREE
    )
    assert text_of(deltas) == "It is sunny."
    body = await sent(user_text("Weather?"), as_response(deltas), user_text("Sure?"), model=THREE)
    assert body["contents"][1]["parts"] == [{"text": "It is sunny.", "thoughtSignature": "TEXT"}]


async def test_a_signature_alone_is_no_answer() -> None:
    deltas, error = await refused(
        gemini_chunk({"text": "", "thoughtSignature": "TEXT"}, finish="STOP", usage=USAGE)
    )
    assert "was empty" in str(error) and not of_type(deltas, FinishDelta)


async def test_a_signature_goes_to_nobody_else() -> None:
    data = {"provider": "gemini", "block": {"type": "call_signature", "signature": "SECRET"}}
    call = ToolCallBlock(id="c1", name="get_weather", arguments="{}")
    message = AssistantMessage(content=(ReasoningBlock(text="", provider=data), call))
    log = (user_text("Weather?"), message, results_of(message))
    assert "SECRET" in json.dumps(await sent(*log))
    for model in ("openai/gpt-4o", "anthropic/claude-sonnet-5-5"):
        async with WireServer([ANSWER]) as server:
            with pytest.raises(ModelRequestError):  # what answers here speaks Gemini's format
                await deltas_of(to(server, model, *log, patience=0.0))
        assert "SECRET" not in json.dumps(server.requests[0].body)


IMAGE = ImageBlock(data="iVBORw0KGgo=", media_type="image/png")
INLINE = {"inline_data": {"data": "iVBORw0KGgo=", "mime_type": "image/png"}}


async def test_an_image_of_the_user() -> None:
    body = await sent(UserMessage(content=(TextBlock(text="What is it?"), IMAGE)))
    assert body["contents"] == [{"role": "user", "parts": [{"text": "What is it?"}, INLINE]}]


@pytest.mark.parametrize("model", [FLASH, THREE])
async def test_an_image_of_a_tool_goes_with_its_result(model: str) -> None:
    call = ToolCallBlock(id="c1", name="plot", arguments="{}")
    result = ToolResultBlock(call_id="c1", name="plot", content=(TextBlock(text="a plot"), IMAGE))
    log = (user_text("Plot."), AssistantMessage(content=(call,)), ToolMessage(content=(result,)))
    body = await sent(*log, model=model)
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    parts = body["contents"][-1]["parts"]
    answer = parts[0]["function_response"]
    assert (answer["name"], answer["response"]) == ("plot", {"content": "a plot"})
    images = answer["parts"] if model == THREE else parts[1:]
    assert images == [INLINE]


@pytest.mark.parametrize(
    ("finish", "parts", "reason"),
    [
        ("STOP", [{"text": "Half"}], "stop"),
        ("MAX_TOKENS", [{"text": "Half"}], "length"),
        ("MAX_TOKENS", [], "length"),
        ("SAFETY", [{"text": "Half"}], "content-filter"),
        ("SAFETY", [], "content-filter"),
        ("RECITATION", [], "content-filter"),
        ("PROHIBITED_CONTENT", [], "content-filter"),
    ],
)
async def test_how_a_response_ended_is_told(finish: str, parts: list[dict[str, Any]], reason: str) -> None:
    deltas = await answered(gemini_chunk(*parts, finish=finish, usage=USAGE))
    assert (deltas[-1].reason, text_of(deltas)) == (reason, "Half" if parts else "")
    assert deltas[-1].usage.total_tokens == 157 and deltas[-1].usage.priced


async def test_a_blocked_prompt_is_an_ending() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    deltas = await answered(f"data: {json.dumps(blocked)}\r\n\r\n".encode())
    assert [type(delta) for delta in deltas] == [FinishDelta] and deltas[0].reason == "content-filter"


FAILED = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE"]


@pytest.mark.parametrize("finish", FAILED)
async def test_a_response_that_failed_is_tried_again(finish: str) -> None:
    async with WireServer([[gemini_chunk(finish=finish, usage=USAGE)], ANSWER]) as server:
        deltas = await deltas_of(to(server, FLASH))
    (retry,) = of_type(deltas, RetryDelta)
    assert finish in retry.reason and text_of(deltas) == "Sunny."


@pytest.mark.parametrize("finish", FAILED)
async def test_a_response_that_failed_after_its_text_is_an_error(finish: str) -> None:
    deltas, error = await refused(gemini_chunk({"text": "I will "}), gemini_chunk(finish=finish, usage=USAGE))
    assert text_of(deltas) == "I will " and finish in str(error) and not of_type(deltas, FinishDelta)


TEXT = gemini_chunk({"text": "Hi "})
BROKEN = b'data: {"candidates": [{"content": {"par\r\n\r\n'


@pytest.mark.parametrize(
    "chunks",
    [[TEXT], [TEXT, BROKEN], [TEXT, BROKEN, gemini_chunk({"text": "you"}, finish="STOP", usage=USAGE)]],
)
async def test_a_stream_without_its_end_is_an_error(chunks: list[bytes]) -> None:
    """litellm calls the end of every chunk "stop", and swallows what follows a broken one."""
    deltas, error = await refused(*chunks)
    assert text_of(deltas) == "Hi " and "broke off" in str(error) and not of_type(deltas, FinishDelta)


@pytest.mark.parametrize("chunks", [[], [BROKEN], [gemini_chunk({"text": ""})]])
async def test_a_stream_without_anything_is_tried_again(chunks: list[bytes]) -> None:
    async with WireServer([chunks, ANSWER]) as server:
        deltas = await deltas_of(to(server, FLASH))
    assert len(of_type(deltas, RetryDelta)) == 1 and text_of(deltas) == "Sunny."


async def test_an_empty_answer_is_tried_again_then_an_error() -> None:
    deltas, error = await refused(gemini_chunk({"text": ""}, finish="STOP", usage=USAGE))
    assert "was empty" in str(error) and error.retryable and not deltas


OVERLOADED = b'data: {"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}\r\n\r\n'


async def test_an_error_in_a_stream_is_told_or_tried_again() -> None:
    deltas, error = await refused(TEXT, OVERLOADED)
    assert text_of(deltas) == "Hi " and "Overloaded" in str(error)
    async with WireServer([[OVERLOADED], ANSWER]) as server:
        assert len(of_type(await deltas_of(to(server, FLASH)), RetryDelta)) == 1


async def test_a_server_that_is_not_there_is_named_so() -> None:
    async with WireServer([]) as server:
        request = to(server, FLASH, patience=0.0)
    with pytest.raises(ModelRequestError, match=r"could not be reached.*Check that the server runs"):
        await deltas_of(request)


def failure(
    code: int, message: str, status: str, *details: dict[str, Any]
) -> tuple[int, dict[str, str], bytes]:
    body = {"error": {"code": code, "message": message, "status": status, "details": list(details)}}
    return code, {"content-type": "application/json; charset=UTF-8"}, json.dumps(body, indent=2).encode()


REFUSALS = {
    "bad request": (failure(400, "Invalid \"contents\"", "INVALID_ARGUMENT"), 400, "Change the request"),
    "bad key": (failure(400, "API key not valid.", "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}), 401,
                "Check the key in GEMINI_API_KEY"),
    "no key": (failure(401, f"Bad key {KEY}", "UNAUTHENTICATED"), 401, "Check the key in GEMINI_API_KEY"),
    "no permission": (failure(403, f"Not with ?key={KEY}&x=1", "PERMISSION_DENIED"), 403, "GEMINI_API_KEY"),
    "no model": (failure(404, "models/x is not found", "NOT_FOUND"), 404, "Check the name of the model"),
    "daily quota": (failure(429, "You exceeded your current quota", "RESOURCE_EXHAUSTED",
                            {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]},
                            {"retryDelay": "9s"}), 429, "Check the billing"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_told_at_once_in_a_sentence_without_the_key(name: str) -> None:
    refusal, status, advice = REFUSALS[name]
    async with WireServer([refusal]) as server:
        with pytest.raises(ModelRequestError) as caught:
            await deltas_of(to(server, FLASH))
    error = caught.value
    shown = "".join(traceback.format_exception(error)) + repr(vars(error))
    assert error.status == status and advice in str(error) and len(server.requests) == 1
    assert not parts_of_key(shown) and "{" not in str(error) and "b'" not in str(error)
    assert error.detail.startswith(json.loads(refusal[2])["error"]["message"][:7])
    assert error.__cause__ is None and error.__context__ is None


@pytest.mark.parametrize("code", [500, 503])
async def test_a_server_error_is_tried_again(code: int) -> None:
    async with WireServer([failure(code, "Try again later.", "X"), ANSWER]) as server:
        deltas = await deltas_of(to(server, FLASH))
    (retry,) = of_type(deltas, RetryDelta)
    assert f"answered {code}" in retry.reason and text_of(deltas) == "Sunny."


async def test_a_rate_limit_waits_as_long_as_its_body_asks() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.2s"}
    busy = failure(429, "Quota exceeded for requests per minute.", "RESOURCE_EXHAUSTED", info)
    async with WireServer([busy, ANSWER]) as server:
        (retry, *_) = await deltas_of(to(server, FLASH))
    assert isinstance(retry, RetryDelta) and 0.2 <= retry.delay <= 0.5 and "429" in retry.reason
