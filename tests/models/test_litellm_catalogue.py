"""Names, catalogues, keys and prices."""

from __future__ import annotations

from typing import Any

import pytest

from runcell_nb.core.errors import CredentialError, InvalidOptionError
from runcell_nb.models.catalogue import Entry, find, litellm_entries, resolve, suggestions, unknown_model
from runcell_nb.models.litellm_gateway import LiteLLMGateway
from runcell_nb.models.prices import request_usage
from runcell_nb.models.providers import env_access, is_local, key_variables, missing_key
from tests.conformance import cases

from .gateway_calls import KEY, deltas_of, request_to


@pytest.mark.parametrize(("given", "expected"), cases("model_cases.json", "model_lookup"))
def test_model_lookup(given: dict[str, Any], expected: dict[str, Any]) -> None:
    entries = [Entry(entry["provider"], entry["id"], entry["name"]) for entry in given["catalog"]]
    found = resolve(given["model"], entries)
    if "ok" in expected:
        assert found is not None and found.qualified == expected["ok"]
        return
    assert found is None
    assert suggestions(given["model"], entries) == expected["suggest"]
    message = str(unknown_model(given["model"], entries))
    assert message.startswith(f'Unknown model "{given["model"]}"')
    assert all(text in message for text in [*expected.get("message_has", []), *expected["suggest"]])


@pytest.mark.parametrize(("given", "expected"), cases("model_cases.json", "api_key_env"))
def test_key_variables(given: dict[str, Any], expected: dict[str, Any]) -> None:
    found = {key_variables(provider)[0]: key for provider, key in given["keys"].items()}
    assert found == expected["ok"]


def test_named_entries_of_the_provider_rank_last() -> None:
    entries = [Entry("a", "zzz"), Entry("b", "gpt-4o-mini"), Entry("a", "gpt-4o")]
    assert suggestions("a/gpt-4o-max", entries) == ["b/gpt-4o-mini", "a/gpt-4o", "a/zzz"]


def test_no_more_than_five_suggestions() -> None:
    assert len(suggestions("gpt-4", [Entry("a", f"gpt-4{number}") for number in range(9)])) == 5


async def test_an_unknown_model_names_likely_ones_and_prints_nothing(
    litellm: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidOptionError, match=r'Unknown model "openai/gpt-4oo".*openai/gpt-4o'):
        await LiteLLMGateway().describe("openai/gpt-4oo")
    with pytest.raises(InvalidOptionError, match='Unknown model "nobody/gpt-4o"'):
        await deltas_of(request_to("nobody/gpt-4o"))
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


async def test_a_named_provider_is_meant_also_where_another_one_lists_such_an_id(litellm: Any) -> None:
    def is_provider(name: str) -> bool:
        return name in litellm.provider_list

    entries = litellm_entries(litellm.model_cost)
    ids = [entry.id for entry in entries if "/" in entry.id and is_provider(entry.id.partition("/")[0])]
    assert ids
    for model in ids:
        try:
            found = find(model, entries, is_provider, lambda provider: False)
        except InvalidOptionError:
            continue
        provider = model.partition("/")[0]
        assert found.provider.removesuffix("_chat") == provider.removesuffix("_chat"), model


@pytest.mark.parametrize(
    "name",
    [
        "openrouter/some/new-model",
        "ollama_chat/mine:7b",
        "azure/my-deployment",
        "openai/ft:gpt-4o:org::1",
        "lm_studio/x",
    ],
)
async def test_open_ended_providers_pass_unpriced(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENROUTER_API_KEY", "AZURE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    info = await LiteLLMGateway().describe(name)
    assert info.name == name and info.input_price is None and info.context_window is None
    assert info.local == name.startswith(("ollama", "lm_studio"))


async def test_a_custom_address_may_serve_any_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    info = await LiteLLMGateway().describe("openai/my-own-model")
    assert info.name == "openai/my-own-model" and info.input_price is None


async def test_what_is_known_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    info = await LiteLLMGateway().describe("gpt-4o")
    assert (info.name, info.context_window, info.input_price) == ("openai/gpt-4o", 128_000, 2.5e-06)
    assert info.supports_images is True and info.local is False
    assert info.note is not None and info.note.startswith("Its provider ends it on ")


async def test_describing_needs_the_key() -> None:
    with pytest.raises(CredentialError, match=r"ANTHROPIC_API_KEY.*local/demo"):
        await LiteLLMGateway().describe("anthropic/claude-sonnet-5-5")


def test_the_catalogue_puts_what_litellm_lists_bare_first(litellm: Any) -> None:
    entries = litellm_entries(litellm.model_cost)
    found = resolve("claude-sonnet-5-5", entries)
    assert found is not None and found.provider == "anthropic"
    assert {"mode": "embedding"}.items() & {("mode", entry.info["mode"]) for entry in entries} == set()


def test_keys_come_from_the_environment() -> None:
    environ = {"GOOGLE_API_KEY": f" {KEY}\n", "GEMINI_BASE_URL": "https://models.example.org"}
    found = env_access("gemini", environ)
    assert (found.api_key, found.base_url, found.key_variable) == (
        KEY,
        environ["GEMINI_BASE_URL"],
        "GOOGLE_API_KEY",
    )
    assert KEY not in repr(found)
    assert env_access("vercel_ai_gateway", {"VERCEL_OIDC_TOKEN": KEY}).api_key == KEY
    for empty in ("", " \n"):
        with pytest.raises(CredentialError, match="GEMINI_API_KEY"):
            env_access("gemini", {"GEMINI_API_KEY": empty})


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("bedrock", "AWS_PROFILE"),
        ("vertex_ai", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("anthropic", "ANTHROPIC_AUTH_TOKEN"),
        ("huggingface", "HF_TOKEN"),
        ("watsonx", "WATSONX_APIKEY"),
    ],
)
def test_other_ways_to_sign_in_are_left_to_litellm(provider: str, variable: str) -> None:
    assert env_access(provider, {variable: "x"}).api_key is None


def test_no_key_is_needed_on_this_machine_and_none_is_taken_from_elsewhere() -> None:
    for provider, address in [("ollama", {}), ("groq", {"GROQ_BASE_URL": "http://localhost:1234/v1"})]:
        found = env_access(provider, {"OPENAI_API_KEY": KEY, **address})
        assert found.api_key and found.api_key != KEY
    assert is_local("ollama", None, "m") and is_local("hosted_vllm", "http://[::1]:8000/v1", "m")
    assert not is_local("ollama", "https://models.example.org", "m")
    assert not is_local("openai", "http://localhost:1/v1", "m")


def test_the_missing_key_says_what_to_do() -> None:
    assert missing_key("groq") == (
        "No key for 'groq': set the environment variable GROQ_API_KEY, "
        "or use the model local/demo, which needs none."
    )


@pytest.mark.parametrize("entry", [{"input_cost_per_token": 0, "output_cost_per_token": 0}, {}])
def test_a_catalogue_price_of_nothing_is_no_price(
    litellm: Any, entry: dict[str, Any], monkeypatch: Any
) -> None:
    from runcell_nb.models.catalogue import Target

    key = "openai/free-for-tests"
    info = {"litellm_provider": "openai", "mode": "chat", **entry}
    monkeypatch.setitem(litellm.model_cost, key, info)
    usage = litellm.Usage(prompt_tokens=10, completion_tokens=5, total_tokens=15)
    found = request_usage(litellm, Target("openai", "free-for-tests", info, key), usage, "provider")
    assert (found.input_tokens, found.output_tokens, found.cost_usd, found.priced) == (10, 5, 0.0, False)


def test_a_price_by_tiers(litellm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from runcell_nb.models.catalogue import Target

    info = {
        "litellm_provider": "openai",
        "mode": "chat",
        "input_cost_per_token": 1e-6,
        "input_cost_per_token_above_200k_tokens": 2e-6,
        "output_cost_per_token": 3e-6,
        "output_cost_per_token_above_200k_tokens": 4e-6,
    }
    monkeypatch.setitem(litellm.model_cost, "tiered-for-tests", info)
    target = Target("openai", "tiered-for-tests", info, "tiered-for-tests")
    usage = litellm.Usage(prompt_tokens=300_000, completion_tokens=10, total_tokens=300_010)
    found = request_usage(litellm, target, usage, "provider")
    assert found.priced and found.cost_usd == pytest.approx(300_000 * 2e-6 + 10 * 4e-6)
