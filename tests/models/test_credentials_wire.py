"""Which key and address reach a provider, by source of credentials, seen by a server on loopback."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from runcell_nb import AgentEvents, CredentialError, create_agent, normalize_credentials
from runcell_nb.core.backends import load_gateway
from runcell_nb.core.gateway import ModelRequest
from runcell_nb.core.messages import user_text
from runcell_nb.models.credential_entries import entry_of, key_of
from runcell_nb.models.credential_sources import source_of
from runcell_nb.models.litellm_gateway import LiteLLMGateway
from runcell_nb.models.provider_addresses import ADDRESSES
from tests.memory_store import MemoryStore

from .wire_servers import Seen, WireServer, anthropic_stream, event, openai_stream

pytestmark = [
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),
]

GIVEN = "Given0a1b2c3d4e5f"
OF_ENVIRONMENT = "Surroundings9z8y7x"
FAR = 4_102_444_800_000  # the year 2100 in milliseconds
ANSWER = openai_stream({"content": "Hi."}, usage={"prompt_tokens": 1, "completion_tokens": 1})
CLAUDE = anthropic_stream([{"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi."}])
GEMINI = [
    event(
        {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": "Hi."}]}, "finishReason": "STOP"}
            ],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        }
    )
]
MODELS = {
    "openai": ("openai/gpt-4o", ANSWER),
    "anthropic": ("anthropic/claude-sonnet-5-5", CLAUDE),
    "gemini": ("gemini/gemini-2.5-flash", GEMINI),
    "groq": ("groq/openai/gpt-oss-120b", ANSWER),
    "mistral": ("mistral/mistral-large-4", ANSWER),
}


def keys(**given: str) -> dict[str, Any]:
    return {"type": "api_keys", "keys": given}


async def ask(model: str, credentials: Any) -> None:
    gateway = load_gateway(model, normalize_credentials(credentials))
    async for _ in gateway.stream(ModelRequest(model, None, (user_text("Hello."),))):
        pass


def key_in(seen: Seen) -> str:
    headers = seen.headers
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer


@pytest.fixture
async def server(request: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WireServer]:
    """A server in the place of every provider; it answers in OpenAI's format."""
    async with WireServer([ANSWER]) as running:
        for provider in ADDRESSES:
            monkeypatch.setitem(ADDRESSES, provider, running.url)
        yield running


@pytest.fixture
async def trap(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WireServer]:
    """An environment with keys for every provider that point to a server where nothing should arrive."""
    async with WireServer([ANSWER]) as running:
        for name in (*MODELS, "litellm_proxy", "mistral_azure"):
            monkeypatch.setenv(f"{name.upper()}_API_KEY", OF_ENVIRONMENT)
            monkeypatch.setenv(f"{name.upper()}_API_BASE", running.url)
            monkeypatch.setenv(f"{name.upper()}_BASE_URL", running.url)
        for name in ("ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_WEBHOOK_SECRET"):
            monkeypatch.setenv(name, OF_ENVIRONMENT)
        yield running


@pytest.mark.parametrize("provider", MODELS)
async def test_beside_a_given_key_nothing_of_the_environment_is_used(
    provider: str, server: WireServer, trap: WireServer
) -> None:
    model, answer = MODELS[provider]
    server.scripts = [answer]
    await ask(model, keys(**{provider: GIVEN}))
    (seen,) = server.requests
    assert key_in(seen) == GIVEN and GIVEN in repr(seen.headers)
    assert OF_ENVIRONMENT not in repr(seen)
    assert not trap.requests and trap.connections == 0


@pytest.mark.parametrize("provider", MODELS)
async def test_without_a_key_in_the_source_the_one_of_the_environment_is_not_taken(
    provider: str, server: WireServer, trap: WireServer
) -> None:
    for credentials in (keys(other=GIVEN), keys(**{provider: " \n"})):
        with pytest.raises(
            CredentialError, match=f"No key for '{provider}' in credentials of type 'api_keys'"
        ):
            await ask(MODELS[provider][0], credentials)
    assert server.connections == trap.connections == 0


@pytest.mark.parametrize(
    "variable", ["OPENAI_ORGANIZATION", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS"]
)
async def test_what_openais_client_would_send_along_is_refused(
    variable: str, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, f"Authorization: {OF_ENVIRONMENT}")
    for provider in ("openai", "perplexity"):
        with pytest.raises(CredentialError, match=f"{variable} is set.*'{provider}'.*unset it") as caught:
            await ask(
                f"{provider}/sonar" if provider == "perplexity" else "openai/gpt-4o",
                keys(**{provider: GIVEN}),
            )
        assert OF_ENVIRONMENT not in str(caught.value)
    await ask("groq/openai/gpt-oss-120b", keys(groq=GIVEN))
    (seen,) = server.requests
    assert OF_ENVIRONMENT not in repr(seen)


async def test_a_detour_set_in_the_environment_is_refused(
    server: WireServer, trap: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USE_LITELLM_PROXY", "True")
    with pytest.raises(CredentialError, match="USE_LITELLM_PROXY"):
        await ask("anthropic/claude-sonnet-5-5", keys(anthropic=GIVEN))
    assert server.connections == trap.connections == 0


@pytest.mark.parametrize("provider", ["bedrock", "vertex_ai", "azure", "github_copilot", "chatgpt"])
async def test_what_needs_more_than_a_key_works_with_env_only(provider: str, server: WireServer) -> None:
    with pytest.raises(CredentialError, match=f"'{provider}' works only with credentials='env'"):
        await source_of(normalize_credentials(keys(**{provider: GIVEN}))).access(provider)
    assert server.connections == 0


@pytest.mark.parametrize("model", ["hosted_vllm/m", "lm_studio/m", "ollama/m", "llamafile/m"])
async def test_a_local_server_needs_no_key_in_any_mode(
    model: str, trap: WireServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = model.partition("/")[0]
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", OF_ENVIRONMENT)
    chunk = {
        "model": "m",
        "message": {"role": "assistant", "content": "Hi."},
        "done": True,
        "done_reason": "stop",
    }
    answer = [json.dumps({**chunk, "prompt_eval_count": 1, "eval_count": 1}).encode() + b"\n"]
    async with WireServer([answer if provider == "ollama" else ANSWER]) as local:
        monkeypatch.setenv(f"{provider.upper()}_API_BASE", local.url)
        for credentials in (keys(other=GIVEN), {"type": "agent_dir", "path": tmp_path / "nowhere"}):
            await ask(model, credentials)
        await ask(model, keys(**{provider: GIVEN}))
        assert OF_ENVIRONMENT not in repr(local.requests)
        assert [GIVEN in repr(seen) for seen in local.requests] == [False, False, True]
    assert trap.connections == 0


async def test_a_file_is_read_anew_for_each_run(
    server: WireServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".pi" / "agent"
    agents = [
        create_agent("openai/gpt-4o", credentials=credentials)
        for credentials in (
            "local",
            {"type": "local", "agentDir": folder},
            {"type": "agentDir", "path": folder},
        )
    ]
    for agent in agents:
        with pytest.raises(
            CredentialError, match=r"'openai' in .*auth\.json, which does not exist"
        ) as caught:
            await agent.run("Hello.")
        assert caught.value.usage is None
    folder.mkdir(parents=True)
    for key in ("first-of-file", "second-of-file"):
        (folder / "auth.json").write_text(json.dumps({"openai": {"type": "api_key", "key": key}}))
        for agent in agents:
            assert (await agent.run("Hello.")).text == "Hi."
    assert [key_in(seen) for seen in server.requests] == ["first-of-file"] * 3 + ["second-of-file"] * 3


async def test_a_missing_key_has_no_usage_and_fires_no_event(server: WireServer) -> None:
    told: list[Any] = []
    agent = create_agent(
        "openai/gpt-4o",
        credentials={"type": "shared", "key": "k", "store": MemoryStore()},
        events=AgentEvents(on_error=told.append),
    )
    with pytest.raises(CredentialError, match="'openai' in the shared credential store, which") as caught:
        await agent.run("Hello.")
    assert caught.value.usage is None and not told and server.connections == 0


async def test_agents_with_different_keys_do_not_share_them(server: WireServer) -> None:
    agents = [create_agent("openai/gpt-4o", credentials=keys(openai=f"key-{number}")) for number in range(8)]
    await asyncio.gather(*(agent.run("Hello.") for agent in agents))
    assert sorted(key_in(seen) for seen in server.requests) == [f"key-{number}" for number in range(8)]


async def test_a_shared_store_is_asked_under_its_lock_and_left_alone(server: WireServer) -> None:
    blob = {"openai": {"type": "api_key", "key": GIVEN}, "codex": {"type": "oauth", "access": "a", "x": 1}}
    store = MemoryStore(team=blob)
    agent = create_agent("openai/gpt-4o", credentials={"type": "shared", "key": "team", "store": store})
    await asyncio.gather(*(agent.run("Hello.") for _ in range(5)))
    assert {key_in(seen) for seen in server.requests} == {GIVEN}
    assert store.writes == 0 and store.blobs["team"] is blob


@pytest.mark.parametrize("expires", [FAR, FAR // 1000, None, 10**400])
async def test_a_sign_in_that_holds_is_sent_as_anthropic_wants_it(
    expires: Any, server: WireServer, trap: WireServer
) -> None:
    token = "sk-ant-oat01-" + GIVEN
    entry = {"type": "oauth", "access": token, "refresh": "r", "expires": expires}
    server.scripts = [CLAUDE]
    store = MemoryStore(k={"anthropic": {key: value for key, value in entry.items() if value is not None}})
    await ask("anthropic/claude-sonnet-5-5", {"type": "shared", "key": "k", "store": store})
    (seen,) = server.requests
    assert seen.headers["authorization"] == f"Bearer {token}" and "x-api-key" not in seen.headers
    assert "oauth-2025-04-20" in seen.headers["anthropic-beta"]


async def test_a_sign_in_at_xai_is_a_bearer_token(server: WireServer, tmp_path: Path) -> None:
    entry = {"type": "oauth", "access": GIVEN, "refresh": "r", "expires": FAR}
    (tmp_path / "auth.json").write_text(json.dumps({"xai": entry}))
    await ask("xai/grok-4.7", {"type": "agent_dir", "path": tmp_path})
    assert server.requests[0].headers["authorization"] == f"Bearer {GIVEN}"


OAUTH = "sk-ant-oat01-" + GIVEN


@pytest.mark.parametrize(
    ("provider", "entry", "message"),
    [
        ("anthropic", {"type": "oauth", "access": OAUTH, "expires": 1}, "has expired.*sign in again"),
        ("anthropic", {"type": "oauth", "access": OAUTH, "expires": 1_700_000_000_000}, "has expired"),
        ("anthropic", {"type": "oauth", "access": OAUTH, "expires": 1_700_000_000}, "has expired"),
        ("anthropic", {"type": "oauth", "access": OAUTH, "expires": float("nan")}, "has expired"),
        (
            "anthropic",
            {"type": "oauth", "access": OAUTH, "expires": True},
            "'expires'; sign in to 'anthropic' again",
        ),
        ("anthropic", {"type": "oauth", "access": OAUTH, "expires": "soon"}, "no usable 'expires'"),
        ("anthropic", {"type": "oauth", "access": GIVEN, "expires": FAR}, "no access token of 'anthropic'"),
        ("anthropic", {"type": "oauth", "refresh": GIVEN}, "no access token of 'anthropic'"),
        (
            "openai",
            {"type": "oauth", "access": GIVEN, "expires": FAR},
            "cannot use for 'openai'; put an API key",
        ),
        ("openai", {"type": "passkey", "key": GIVEN}, "of no known type"),
        ("openai", GIVEN, "of no known type"),
        ("openai", {"type": "api_key", "key": [GIVEN]}, "a key that is a list"),
        ("openai", {"type": "api_key", "key": f"!cat {GIVEN}"}, "has a blank"),
        ("openai", {"type": "api_key", "key": f"!{GIVEN}"}, "where to fetch a key"),
        ("openai", {"type": "api_key", "key": f"os.environ/{GIVEN}"}, "where to fetch a key"),
        ("openai", {"type": "api_key", "key": f"{GIVEN}\r\nX-Other: 1"}, "a line break"),
        ("openai", {"type": "api_key", "key": f"{GIVEN}é"}, "beyond ASCII"),
    ],
)
def test_an_entry_that_cannot_be_used_is_named_and_not_shown(provider: str, entry: Any, message: str) -> None:
    with pytest.raises(CredentialError, match=message) as caught:
        key_of(provider, entry, f"The entry {provider!r} in the store", time.time())
    assert provider in str(caught.value) and GIVEN not in str(caught.value)


def test_blanks_around_a_key_are_left_out() -> None:
    assert key_of("openai", {"type": "api_key", "key": f"\t{GIVEN} \r\n"}, "It", 0.0) == GIVEN
    assert key_of("openai", {"type": "api_key"}, "It", 0.0) is None
    assert key_of("xai", {"type": "oauth", "access": f"{GIVEN}\n", "expires": 2}, "It", 1.0) == GIVEN


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("groq", "Groq"),
        ("vercel_ai_gateway", "vercel-ai-gateway"),
        ("gemini", "google"),
        ("together_ai", "together"),
        ("fireworks_ai", "fireworks"),
        ("ollama_chat", "ollama"),
    ],
)
def test_entries_go_by_the_variable_that_their_name_stands_for(provider: str, name: str) -> None:
    assert entry_of(provider, {"openai": 1, name: 2}) == (name, 2)
    assert entry_of(provider, {name: 2, provider: 3}) == (provider, 3)
    assert entry_of(provider, {"openai": 1}) is None


def test_one_gateway_for_the_environment_and_one_for_each_other_plan() -> None:
    plan = normalize_credentials(keys(openai=GIVEN))
    assert load_gateway("openai/gpt-4o") is load_gateway("x/y", normalize_credentials({"type": "env"}))
    assert load_gateway("openai/gpt-4o", plan) is not load_gateway("openai/gpt-4o", plan)
    assert load_gateway("local/demo", plan) is load_gateway("local/demo")
    assert GIVEN not in repr(load_gateway("openai/gpt-4o", plan))


async def test_the_catalogue_is_read_once_for_all_gateways(
    monkeypatch: pytest.MonkeyPatch, litellm: Any
) -> None:
    from runcell_nb.models import litellm_gateway

    await LiteLLMGateway(source_of(normalize_credentials(keys(openai=GIVEN)))).describe("openai/gpt-4o")
    monkeypatch.setattr(litellm_gateway, "litellm_entries", None)
    info = await load_gateway("gpt-4o", normalize_credentials(keys(openai=GIVEN))).describe("gpt-4o")
    assert info.name == "openai/gpt-4o"


class _CaughtError(Exception):
    """Raised in the place of sending."""


@pytest.mark.parametrize("provider", sorted(ADDRESSES))
async def test_addresses_are_those_of_litellm(
    provider: str, litellm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is sent: the request is stopped where it would leave."""
    import httpx
    import httpx2

    caught: list[tuple[str, str]] = []

    async def stop(client: Any, request: Any, **_: Any) -> None:
        caught.append((str(request.url), repr(list(request.headers.raw))))
        raise _CaughtError

    monkeypatch.setattr(httpx.AsyncClient, "send", stop)
    monkeypatch.setattr(httpx2.AsyncClient, "send", stop)
    model = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-4o", "gemini": "gemini-2.5-flash"}.get(
        provider, "some-model"
    )

    async def call(**more: Any) -> tuple[str, str]:
        caught.clear()
        with pytest.raises(Exception):  # noqa: B017  # litellm's own
            stream = await litellm.acompletion(
                model=f"{provider}/{model}",
                messages=[{"role": "user", "content": "Hello."}],
                api_key=GIVEN,
                stream=True,
                max_retries=0,
                num_retries=0,
                **more,
            )
            async for _ in stream:
                pass
        return caught[0]

    undisturbed, _ = await call()
    for name in _variables(litellm):
        value = "http://127.0.0.1:9" if name.endswith(("_API_BASE", "_BASE_URL")) else OF_ENVIRONMENT
        monkeypatch.setenv(name, value)
    url, headers = await call(api_base=ADDRESSES[provider])
    assert url == undisturbed and GIVEN in headers and OF_ENVIRONMENT not in headers


def _variables(litellm: Any) -> list[str]:
    """Names of keys, tokens and addresses that litellm could read."""
    names = {str(getattr(provider, "value", provider)) for provider in litellm.provider_list} | {
        "mistral_azure"
    }
    suffixes = ("API_KEY", "API_BASE", "BASE_URL", "AUTH_TOKEN", "TOKEN", "API_TOKEN")
    return [f"{name.upper().replace('-', '_')}_{suffix}" for name in sorted(names) for suffix in suffixes]
