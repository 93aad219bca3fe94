"""A conversation that does not fit, in the words of each provider and each local server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runcell_nb.core.gateway import ContextOverflowError, ModelDelta
from runcell_nb.models.request_error import ModelRequestError

from .gateway_calls import deltas_of, read_into, stream_of, text_of, to
from .wire_servers import WireServer, anthropic_stream, event, openai_stream

CLAUDE, GPT, FLASH = "anthropic/claude-sonnet-5-5", "openai/gpt-4o", "gemini/gemini-2.5-flash"


def answer(status: int, body: dict[str, Any]) -> Any:
    return status, {"content-type": "application/json"}, json.dumps(body).encode()


def openai(message: str, status: int = 400, **more: Any) -> Any:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return answer(status, {"error": error | more})


def anthropic(message: str, status: int = 400, kind: str = "invalid_request_error") -> Any:
    return answer(status, {"type": "error", "error": {"type": kind, "message": message}})


LM_STUDIO = (
    "Trying to keep the first 13055 tokens when context the overflows. However, the model is loaded with "
    "context length of only 4096 tokens, which is not enough."
)

REFUSALS: dict[str, tuple[str, Any]] = {
    "OpenAI": (GPT, openai(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000.",
        code="context_length_exceeded")),
    "OpenAI, by its code": (GPT, openai("Too much.", code="context_length_exceeded")),
    "OpenAI, Responses": (GPT, openai("Your input exceeds the context window of this model.")),
    "OpenAI, more than a minute allows": (GPT, openai(
        "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, "
        "Requested 40123.", 429, type="tokens", code="rate_limit_exceeded")),
    "Anthropic": (CLAUDE, anthropic("prompt is too long: 210000 tokens > 200000 maximum")),
    "Anthropic, with the answer": (CLAUDE, anthropic(
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000")),
    "Anthropic, in bytes": (CLAUDE, anthropic("Request exceeds the maximum size", 413, "request_too_large")),
    "Gemini": (FLASH, answer(400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message":
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}})),
    "vLLM": ("hosted_vllm/qwen", openai(
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.", code=400)),
    "vLLM, older": ("hosted_vllm/qwen", answer(400, {"object": "error", "code": 400,
        "message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096."})),
    "llama.cpp": (GPT, openai(
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
        type="exceed_context_size_error", code=400)),
    "llama.cpp, older": (GPT, openai(
        "the request exceeds the available context size. try increasing the context size", 500, code=500)),
    "Ollama": ("ollama_chat/qwen", answer(400, {"error": "the input length exceeds the context length"})),
    "Ollama, runner": ("ollama_chat/qwen", answer(500, {"error":
        "prompt too long; exceeded max context length by 12 tokens"})),
    "LM Studio": ("lm_studio/qwen", answer(400, {"error": LM_STUDIO})),
    "LM Studio, newer": ("lm_studio/qwen", answer(400, {"error":
        "The number of tokens to keep from the initial prompt is greater than the context length"})),
    "Groq": ("groq/openai/gpt-oss-20b", openai(
        "Request too large for model `x` on tokens per minute (TPM): Limit 8000, Requested 11000", 413)),
    "Mistral": ("mistral/mistral-large-latest", answer(400, {"object": "error", "code": "3051", "message":
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"})),
    "OpenRouter": ("openrouter/some/model", openai(
        "This endpoint's maximum context length is 128000 tokens. However, you requested 150000 tokens")),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_conversation_that_is_too_long_is_told_once_and_at_once(name: str) -> None:
    model, refusal = REFUSALS[name]
    deltas: list[ModelDelta] = []
    async with WireServer([refusal]) as server:
        with pytest.raises(ContextOverflowError) as caught:
            await read_into(deltas, stream_of(to(server, model)))
    error = caught.value
    assert isinstance(error, ModelRequestError) and not error.retryable
    assert not deltas and len(server.requests) == 1
    assert str(error).startswith(f"The conversation is too long for '{model}', which answered ")
    said = json.loads(refusal[2]).get("error", json.loads(refusal[2]))
    message = said["message"] if isinstance(said, dict) else said
    assert message.rstrip(".") in str(error) and "{" not in str(error)


STREAMED = {
    "llama.cpp": (GPT, event({"error": {"code": 400, "type": "exceed_context_size_error", "message":
        "the request exceeds the available context size, try increasing it"}})),
    "LM Studio": ("lm_studio/qwen", b"event: error\n" + event({"error": {"message": LM_STUDIO}})),
    "Anthropic": (CLAUDE, event({"type": "error", "error": {"type": "invalid_request_error", "message":
        "prompt is too long: 210000 tokens > 200000 maximum"}})),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMED)
async def test_one_that_is_told_as_the_first_event_of_a_stream(name: str) -> None:
    model, part = STREAMED[name]
    async with WireServer([[part]]) as server:
        with pytest.raises(ContextOverflowError, match="too long for"):
            await deltas_of(to(server, model))
    assert len(server.requests) == 1


BLOCK = [{"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi, "}]
BEGUN = {
    "Anthropic": [*anthropic_stream(BLOCK)[:3], STREAMED["Anthropic"][1]],
    "llama.cpp": [*openai_stream({"content": "Hi, "}, finish=None), STREAMED["llama.cpp"][1]],
}


@pytest.mark.parametrize("name", BEGUN)
async def test_after_the_first_delta_it_is_an_error_like_any_other(name: str) -> None:
    deltas: list[ModelDelta] = []
    async with WireServer([BEGUN[name]]) as server:
        with pytest.raises(ModelRequestError) as caught:
            await read_into(deltas, stream_of(to(server, STREAMED[name][0])))
    assert text_of(deltas) == "Hi, " and not isinstance(caught.value, ContextOverflowError)


OTHERS = {
    "a rate": (GPT, openai("Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, "
        "Requested 2000. Please try again in 2s.", 429, code="rate_limit_exceeded")),
    "a quota": (GPT, openai("You exceeded your current quota", 429, code="insufficient_quota")),
    "a parameter": (GPT, openai("max_tokens is too large: 99999. This model supports at most 16384.")),
    "a field": (GPT, openai("Invalid 'user': string too long. Expected a string with maximum length 64",
        code="string_above_max_length")),
    "throttling": (CLAUDE, anthropic("Too many tokens, please wait before trying again.", 429,
        "rate_limit_error")),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
async def test_what_a_shorter_conversation_would_not_help_is_something_else(name: str) -> None:
    model, refusal = OTHERS[name]
    async with WireServer([refusal]) as server:
        with pytest.raises(ModelRequestError) as caught:
            await deltas_of(to(server, model, patience=0.0))
    assert not isinstance(caught.value, ContextOverflowError)
