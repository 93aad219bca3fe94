"""Model servers on this machine are noticed, and nothing else is mistaken for one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.models.local_addresses import LM_STUDIO, LOCAL_KINDS, OLLAMA, VLLM, LocalKind, chosen_address
from runcell_nb.models.local_listings import LocalModel
from runcell_nb.models.local_servers import find_local_servers
from runcell_nb.models.providers import env_access

from .local_server_fakes import VLLM as VLLMServer
from .local_server_fakes import Asked, LlamaCpp, LMStudio, LoopbackServer, Ollama, Reply, as_json

AMPLE = 60.0
"""Seconds that no look here needs."""
NOWHERE = "http://127.0.0.1:9"
NOTHING = {kind.variables[-1]: NOWHERE for kind in LOCAL_KINDS}
"""An environment in which no server of any kind is looked for on its usual port."""


async def found(**environ: str) -> tuple[Any, ...]:
    """What is noticed where the environment says."""
    return await find_local_servers(NOTHING | environ, AMPLE)


async def test_each_kind_is_noticed_with_its_models() -> None:
    async with Ollama() as ollama, LMStudio() as studio, LlamaCpp() as llama, VLLMServer() as vllm:
        servers = await find_local_servers(
            {
                "OLLAMA_HOST": f"0.0.0.0:{ollama.port}",
                "LM_STUDIO_API_BASE": studio.url,
                "LLAMAFILE_API_BASE": f"{llama.url}/v1/",
                "HOSTED_VLLM_API_BASE": f"localhost:{vllm.port}/v1",
            },
            AMPLE,
        )
    assert [(server.kind, server.base_url) for server in servers] == [
        ("Ollama", ollama.url),
        ("LM Studio", f"{studio.url}/v1"),
        ("llama.cpp", f"{llama.url}/v1"),
        ("vLLM", f"http://localhost:{vllm.port}/v1"),
    ]
    assert [model for server in servers for model in server.models] == [
        LocalModel("ollama_chat/llama3.2:latest", 131072, None, calls_tools=True),
        LocalModel("ollama_chat/gemma:2b", 131072, None, calls_tools=False),
        LocalModel("lm_studio/qwen/qwen3-8b", 8192, loaded=True),
        LocalModel("lm_studio/ibm/granite-4", 131072, loaded=False),
        LocalModel("llamafile/gemma-4-E4B-Q8_0.gguf", 16384),
        LocalModel("hosted_vllm/Qwen/Qwen3-8B", 32768),
    ]


async def test_what_only_embeds_or_runs_elsewhere_is_left_out() -> None:
    async with LlamaCpp("nomic-embed.gguf") as llama, Ollama() as ollama:
        ollama.models = ("nomic-embed-text:latest", "gpt-oss:120b-cloud")
        assert await found(LLAMAFILE_API_BASE=llama.url, OLLAMA_HOST=ollama.url) == ()
        assert "/api/tags" in ollama.paths() and "/v1/models" in llama.paths()


async def test_an_old_lm_studio_is_read_by_its_old_api() -> None:
    async with LMStudio("v0") as studio:
        (server,) = await found(LM_STUDIO_API_BASE=studio.url)
    assert server.models == (
        LocalModel("lm_studio/qwen/qwen3-8b", 40960, loaded=True),
        LocalModel("lm_studio/ibm/granite-4", 131072, loaded=False),
    )


async def test_a_llama_server_with_several_models_says_which_is_loaded() -> None:
    async with LlamaCpp("a", "b") as llama:
        (server,) = await found(LLAMAFILE_API_BASE=llama.url)
    assert server.models == (LocalModel("llamafile/a", loaded=True), LocalModel("llamafile/b", loaded=False))


class OldOllama(Ollama):
    """Has no details to tell."""

    async def answer(self, asked: Asked) -> Reply:
        return await super().answer(asked) if asked.path == "/api/tags" else as_json({"error": "no"}, 500)


async def test_an_ollama_without_details_still_has_names() -> None:
    async with OldOllama() as ollama:
        (server,) = await found(OLLAMA_HOST=ollama.url)
    assert server.models == (LocalModel("ollama_chat/llama3.2:latest"), LocalModel("ollama_chat/gemma:2b"))


class Other(LoopbackServer):
    """Something else that listens on the port."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply

    async def answer(self, asked: Asked) -> Reply:
        return self.reply


ROW = {"id": "m", "name": "m", "key": "m", "type": "llm", "digest": "d", "owned_by": "vllm"}
HUGE = json.dumps({"models": [ROW], "data": [ROW], "padding": "x" * 1_000_000}).encode()


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"<html>Jupyter</html>", content_type="text/html"),
        Reply(b"<html>Not found</html>", 404, "text/html"),
        Reply(b"oops", 500),
        Reply(b""),
        Reply(HUGE),
        Reply(pieces=[HUGE[:600_000], HUGE[600_000:]]),
        Reply(b'{"models": [{'),
        Reply(b"[" * 100_000),
        Reply(b"\xff\xfe\x00"),
        Reply(b"9" * 10_000),
        as_json([ROW]),
        as_json("models"),
        as_json({"models": "many", "data": {"id": "m"}}),
        as_json({"models": [None, 7, "m"], "data": [None, []]}),
        as_json({"models": [{"name": 5, "digest": "d", "type": "llm", "key": ["m"]}], "data": [{"id": {}}]}),
        as_json({"models": [{**ROW, "name": "a\x1b[31mb", "key": "a\nb"}]}),
        as_json({"data": [{"id": "gpt-4o", "object": "model", "owned_by": "openai"}]}),
        as_json({"models": [ROW], "data": [ROW]}, 203),
    ],
)
async def test_nothing_else_is_mistaken_for_a_model_server(reply: Reply) -> None:
    async with Other(reply) as other:
        assert await find_local_servers({kind.variables[-1]: other.url for kind in LOCAL_KINDS}, AMPLE) == ()
        assert {"/api/tags", "/api/v1/models", "/v1/models"} <= set(other.paths())


FACTS = ("details", "model_info", "max_context_length", "loaded_instances", "status", "meta", "max_model_len")


@pytest.mark.parametrize("capabilities", ["nonsense", ["completion"]])
@pytest.mark.parametrize("nonsense", [None, 7, True, "x", [[]], {"a": []}])
async def test_nonsense_beside_the_names_does_no_harm(nonsense: Any, capabilities: Any) -> None:
    facts = dict.fromkeys((*FACTS, "default_generation_settings"), nonsense)
    row = {**ROW, **facts}
    rows = {"models": [row, {"name": nonsense}], "data": [row, {**row, "owned_by": "llamacpp"}]}
    async with Other(as_json({**facts, **rows, "capabilities": capabilities})) as other:
        servers = await find_local_servers({kind.variables[-1]: other.url for kind in LOCAL_KINDS}, AMPLE)
    names = [server.models[0].name for server in servers]
    assert names == ["ollama_chat/m", "lm_studio/m", "llamafile/m", "hosted_vllm/m"]


async def test_a_redirect_is_not_followed() -> None:
    async with VLLMServer() as real:
        moved = Reply(status=307, headers={"location": f"{real.url}/v1/models"})
        async with Other(moved) as other:
            assert await found(HOSTED_VLLM_API_BASE=other.url) == ()
        assert not real.asked


class Silent(LoopbackServer):
    """Takes requests and never answers."""

    async def answer(self, asked: Asked) -> Reply:
        await asyncio.sleep(3600)
        raise AssertionError("waited for")


class SlowDetails(Ollama):
    """Lists at once and never gives details."""

    async def answer(self, asked: Asked) -> Reply:
        if asked.path == "/api/show":
            await asyncio.sleep(3600)
        return await super().answer(asked)


async def test_who_does_not_answer_in_time_is_not_there_and_holds_up_nobody() -> None:
    async with Silent() as silent, VLLMServer() as vllm:
        look = {"OLLAMA_HOST": silent.url, "HOSTED_VLLM_API_BASE": vllm.url}
        servers = await find_local_servers(NOTHING | look, 1.0)
    assert [server.kind for server in servers] == ["vLLM"] and silent.paths() == ["/api/tags"]


async def test_what_came_in_time_counts() -> None:
    async with SlowDetails() as ollama:
        (server,) = await find_local_servers(NOTHING | {"OLLAMA_HOST": ollama.url}, 1.0)
    assert [model.name for model in server.models] == ["ollama_chat/llama3.2:latest", "ollama_chat/gemma:2b"]


async def test_the_event_loop_stays_free_meanwhile() -> None:
    async with Silent() as silent:
        look = asyncio.ensure_future(find_local_servers(NOTHING | {"OLLAMA_HOST": silent.url}, AMPLE))
        while not silent.asked:  # the server runs on this loop, as this does
            await asyncio.sleep(0)
        look.cancel()
        with pytest.raises(asyncio.CancelledError):
            await look


async def test_only_this_machine_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    asked: list[str] = []

    async def send(_self: object, request: httpx.Request, **_: object) -> httpx.Response:
        asked.append(str(request.url))
        raise httpx.ConnectError("no")

    monkeypatch.setattr(httpx.AsyncClient, "send", send)
    elsewhere = {kind.variables[-1]: "http://models.example.org:80/v1" for kind in LOCAL_KINDS}
    assert await find_local_servers(elsewhere, AMPLE) == () and asked == []
    assert await find_local_servers({"OLLAMA_HOST": "[oops", **elsewhere}, AMPLE) == () and asked == []
    assert await find_local_servers({}, AMPLE) == ()
    assert sorted(asked) == [
        "http://127.0.0.1:11434/api/tags",
        "http://127.0.0.1:1234/api/v0/models",
        "http://127.0.0.1:1234/api/v1/models",
        "http://127.0.0.1:8000/v1/models",
        "http://127.0.0.1:8080/v1/models",
    ]


async def test_a_key_goes_only_to_an_address_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    async with VLLMServer() as vllm:
        vllm.key = "secret-of-vllm"
        assert await found(HOSTED_VLLM_API_BASE=vllm.url) == ()
        (server,) = await found(HOSTED_VLLM_API_BASE=vllm.url, HOSTED_VLLM_API_KEY="secret-of-vllm")
        assert server.kind == "vLLM"
        usual = LocalKind("vLLM", "hosted_vllm", vllm.port, "/v1", VLLM.variables)
        monkeypatch.setattr("runcell_nb.models.local_servers.LOCAL_KINDS", (usual,))
        vllm.asked.clear()
        assert await find_local_servers({"HOSTED_VLLM_API_KEY": "secret-of-vllm"}, AMPLE) == ()
        assert "authorization" not in vllm.asked[0].headers


@pytest.mark.parametrize(
    ("kind", "value", "url"),
    [
        (OLLAMA, "0.0.0.0", "http://127.0.0.1:11434"),
        (OLLAMA, "0.0.0.0:1", "http://127.0.0.1:1"),
        (OLLAMA, ":1", "http://127.0.0.1:1"),
        (OLLAMA, "[::]:1", "http://[::1]:1"),
        (OLLAMA, " 'http://localhost:1/' ", "http://localhost:1"),
        (OLLAMA, "http://gpu.example.org", "http://gpu.example.org"),
        (OLLAMA, "https://me:pw@gpu.example.org:1/x/", "https://me:pw@gpu.example.org:1/x"),
        (LM_STUDIO, "localhost", "http://localhost:1234/v1"),
        (LM_STUDIO, "http://localhost:1/v1/", "http://localhost:1/v1"),
        (LM_STUDIO, "http://localhost:1/api", "http://localhost:1/api"),
        (OLLAMA, " ", None),
    ],
)
def test_the_forms_of_an_address(kind: LocalKind, value: str, url: str | None) -> None:
    assert chosen_address(kind, {kind.variables[-1]: value}) == url


def test_the_first_variable_counts() -> None:
    environ = {"OLLAMA_HOST": "a:1", "OLLAMA_API_BASE": "http://b:2"}
    assert chosen_address(OLLAMA, environ) == "http://b:2"


@pytest.mark.parametrize("value", ["[oops", "http://", "ftp://host", "host:99999", "a b", "http://x:y"])
def test_what_is_no_address_is_said(value: str) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        env_access("ollama_chat", {"OLLAMA_HOST": value})
    assert str(caught.value) == (
        f"OLLAMA_HOST is no address: {value!r}; give it like http://127.0.0.1:11434."
    )


def test_a_password_in_what_is_no_address_is_not_shown() -> None:
    with pytest.raises(InvalidOptionError, match=r"LM_STUDIO_API_BASE is no address") as caught:
        env_access("lm_studio", {"LM_STUDIO_API_BASE": "http://me:hush@host:99999"})
    assert "hush" not in str(caught.value)
