"""Models of local servers through litellm over real HTTP: noticed, asked, priced, misspelt.

The servers run on the event loop of the test: what blocks it would wait for them for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runcell_nb import RunLimits, create_agent
from runcell_nb.core.credentials import KeyCredentials
from runcell_nb.core.errors import InvalidOptionError, LimitExceededError, TurnError
from runcell_nb.core.gateway import FinishDelta, ToolCallDelta, ToolSpec
from runcell_nb.models import local_servers
from runcell_nb.models.credential_sources import EnvSource, source_of
from runcell_nb.models.litellm_gateway import LiteLLMGateway
from runcell_nb.models.local_addresses import kind_of
from runcell_nb.models.local_servers import find_local_servers
from runcell_nb.models.request_error import ModelRequestError

from .gateway_calls import deltas_of, of_type, request_to
from .local_server_fakes import (
    ANSWER_TOKENS,
    PROMPT_TOKENS,
    TEXT,
    VLLM,
    LlamaCpp,
    LMStudio,
    LoopbackServer,
    Ollama,
    Reply,
)

KINDS: list[tuple[Callable[[], LoopbackServer], str, str, str]] = [
    (Ollama, "OLLAMA_HOST", "ollama_chat", "Ollama"),
    (LMStudio, "LM_STUDIO_API_BASE", "lm_studio", "LM Studio"),
    (LlamaCpp, "LLAMAFILE_API_BASE", "llamafile", "llama.cpp"),
    (VLLM, "HOSTED_VLLM_API_BASE", "hosted_vllm", "vLLM"),
]
LS = ToolSpec("ls", "List files.", {"type": "object", "properties": {}})
READ = ToolSpec("read", "Read.", {"type": "object", "properties": {"file_path": {"type": "string"}}})


@pytest.fixture(autouse=True)
def ample_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_servers, "LOOK_SECONDS", 60.0)


@pytest.fixture(autouse=True)
def blocking_requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What anything asks while it blocks its thread; none of it is let through."""
    import httpx

    asked: list[str] = []

    def send(_self: object, request: httpx.Request, **_: object) -> httpx.Response:
        asked.append(str(request.url))
        raise httpx.ConnectError("this would block")

    monkeypatch.setattr(httpx.Client, "send", send)
    return asked


@pytest.mark.parametrize(("server_class", "variable", "provider", "label"), KINDS)
async def test_noticed_then_used_with_a_tool_for_nothing(
    server_class: Callable[[], LoopbackServer],
    variable: str,
    provider: str,
    label: str,
    monkeypatch: pytest.MonkeyPatch,
    blocking_requests: list[str],
) -> None:
    async with server_class() as server:
        monkeypatch.setenv(variable, server.url)
        found = await find_local_servers({variable: server.url}, 60)
        (model,) = [known.models[0].name for known in found if known.kind == label]
        assert model.startswith(f"{provider}/")
        agent = create_agent(model=model, limits=RunLimits(max_cost_usd=0.000001))
        run = agent.stream("What is in notes.txt?", files=[{"path": "notes.txt", "text": "forty-two"}])
        sources = [event.usage_source async for event in run.events() if event.type == "request-finished"]
        result = await run.result()
    assert result.text.startswith(TEXT) and "forty-two" in result.text
    assert sources == ["local", "local"] and result.usage.cost_usd == 0
    assert (result.usage.input_tokens, result.usage.output_tokens) == (2 * PROMPT_TOKENS, 2 * ANSWER_TOKENS)
    assert blocking_requests == []


async def test_ollamas_plain_name_goes_by_its_chat_api(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Ollama() as server:
        monkeypatch.setenv("OLLAMA_API_BASE", server.url)
        info = await LiteLLMGateway().describe("ollama/llama3.2")
        deltas = await deltas_of(request_to("ollama/llama3.2", tools=(READ,)))
    assert info.name == "ollama_chat/llama3.2" and info.local
    assert [call.name for call in of_type(deltas, ToolCallDelta)] == ["read"]
    assert server.paths() == ["/api/chat"] and server.asked[0].body["tools"][0]["function"]["name"] == "read"


async def test_several_calls_of_ollama_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Ollama() as server:
        server.calls = [("read", {"file_path": "a"}), ("ls", {}), ("read", {"file_path": "b"}), ("ls", {})]
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        deltas = await deltas_of(request_to("ollama_chat/llama3.2", tools=(READ, LS)))
    calls = of_type(deltas, ToolCallDelta)
    assert [(call.name, call.arguments) for call in calls] == [
        ("read", '{"file_path": "a"}'), ("ls", "{}"), ("read", '{"file_path": "b"}'), ("ls", "{}")
    ]  # fmt: skip
    assert len({call.id for call in calls}) == 4


@pytest.mark.parametrize(
    ("server_class", "variable", "model", "likely"),
    [
        (Ollama, "OLLAMA_HOST", "ollama_chat/llama3.3", "ollama_chat/llama3.2:latest, ollama_chat/gemma:2b"),
        (
            LMStudio,
            "LM_STUDIO_API_BASE",
            "lm_studio/nope",
            "lm_studio/qwen/qwen3-8b, lm_studio/ibm/granite-4",
        ),
        (VLLM, "HOSTED_VLLM_API_BASE", "hosted_vllm/Qwen/Qwen3", "hosted_vllm/Qwen/Qwen3-8B"),
    ],
)
async def test_a_misspelt_model_is_told_with_what_the_server_has(
    server_class: type[LoopbackServer],
    variable: str,
    model: str,
    likely: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with server_class() as server:
        monkeypatch.setenv(variable, server.url)
        with pytest.raises(ModelRequestError) as caught:
            await deltas_of(request_to(model))
    assert str(caught.value).startswith(f'Unknown model "{model}": ')
    assert str(caught.value).endswith(f" on this machine does not have it; did you mean {likely}?")
    assert caught.value.status == 404 and not caught.value.retryable and caught.value.__context__ is None


async def test_an_unknown_model_fails_the_run_with_that_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Ollama() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        with pytest.raises(TurnError, match=r'Unknown model "ollama_chat/nope": Ollama on this machine'):
            await create_agent(model="ollama_chat/nope").run("Hi.")


async def test_a_server_without_names_leaves_the_refusal_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Ollama() as server:
        server.models = ()
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        with pytest.raises(ModelRequestError, match=r"answered 404, .*model 'nope' not found"):
            await deltas_of(request_to("ollama_chat/nope"))


async def test_a_model_that_the_server_has_is_not_called_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Ollama() as server:
        monkeypatch.setattr(server, "_chat", lambda *_: Reply(b"<html>Not found</html>", 404, "text/html"))
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        with pytest.raises(ModelRequestError, match=r"'ollama_chat/llama3\.2' answered 404"):
            await deltas_of(request_to("ollama_chat/llama3.2"))


async def test_a_router_of_llama_cpp_refuses_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    async with LlamaCpp("a", "b") as server:
        monkeypatch.setenv("LLAMAFILE_API_BASE", server.url)
        with pytest.raises(ModelRequestError, match=r"'llamafile/nope' answered 400.*model 'nope' not found"):
            await deltas_of(request_to("llamafile/nope"))


async def test_a_model_that_calls_no_tools_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Ollama() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        with pytest.raises(ModelRequestError, match="gemma:2b does not support tools"):
            await deltas_of(request_to("ollama_chat/gemma:2b", tools=(READ,)))


@pytest.mark.parametrize("provider", [kind[2] for kind in KINDS])
async def test_no_server_there_is_one_sentence(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with LoopbackServer() as gone:
        pass
    monkeypatch.setenv(next(kind[1] for kind in KINDS if kind[2] == provider), gone.url)
    with pytest.raises(ModelRequestError, match=r"could not be reached.*Check that the server runs\."):
        await deltas_of(request_to(f"{provider}/m", patience=0.0))


@pytest.mark.parametrize("provider", [kind[2] for kind in KINDS])
async def test_without_an_address_requests_go_to_this_machine_only(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = kind_of(provider)
    assert kind is not None
    monkeypatch.setenv("OPENAI_BASE_URL", "https://models.example.org")
    for source in (EnvSource(), source_of(KeyCredentials({"openai": "k"}))):
        assert (await source.access(provider)).base_url == kind.default
    assert (await LiteLLMGateway().describe(f"{provider}/m")).local


@pytest.mark.parametrize(("variable", "provider"), [(kind[1], kind[2]) for kind in KINDS])
async def test_a_server_elsewhere_is_not_local(
    variable: str, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://gpu.example.org:1/v1")
    info = await LiteLLMGateway().describe(f"{provider}/m")
    assert not info.local and info.input_price is None
    agent = create_agent(model=f"{provider}/m", limits=RunLimits(max_cost_usd=1))
    with pytest.raises((InvalidOptionError, LimitExceededError), match="allow_unpriced"):
        await agent.run("Hi.")


@pytest.mark.parametrize("model", ["ollama/gpt-oss:120b-cloud", "ollama_chat/glm:cloud"])
async def test_what_ollama_only_passes_on_to_its_cloud_is_not_local(model: str) -> None:
    info = await LiteLLMGateway().describe(model)
    assert not info.local and info.input_price is None
    with pytest.raises((InvalidOptionError, LimitExceededError), match="allow_unpriced"):
        await create_agent(model=model, limits=RunLimits(max_cost_usd=1)).run("Hi.")


async def test_another_servers_openai_api_on_this_machine_is_unpriced_not_local(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with VLLM() as server:  # it could as well be a proxy to a provider that is paid
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        info = await LiteLLMGateway().describe("openai/Qwen/Qwen3-8B")
        deltas = await deltas_of(request_to("openai/Qwen/Qwen3-8B"))
    assert not info.local
    (finish,) = of_type(deltas, FinishDelta)
    assert (finish.usage.source, finish.usage.priced, finish.usage.cost_usd) == ("provider", False, 0.0)


async def test_a_key_of_a_server_reaches_it_and_no_other_key_does(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Ollama() as ollama, VLLM() as vllm:
        ollama.key, vllm.key = "key-of-ollama", "key-of-vllm"
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        monkeypatch.setenv("OLLAMA_API_KEY", "key-of-ollama")
        monkeypatch.setenv("HOSTED_VLLM_API_BASE", vllm.url)
        monkeypatch.setenv("HOSTED_VLLM_API_KEY", "key-of-vllm")
        for model in ("ollama_chat/llama3.2", "hosted_vllm/Qwen/Qwen3-8B"):
            assert of_type(await deltas_of(request_to(model)), FinishDelta)
    seen: list[Any] = [*ollama.asked, *vllm.asked]
    assert "key-of-openai" not in repr(seen)
