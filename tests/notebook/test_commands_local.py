"""`%runcell model` lists the models of local servers."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from runcell_nb.core.sync_bridge import run_blocking
from runcell_nb.models.local_addresses import LOCAL_KINDS
from runcell_nb.models.local_servers import find_local_servers
from runcell_nb.notebook import commands
from runcell_nb.notebook.session import NotebookSession
from runcell_nb.notebook.settings import Runcell
from tests.models.local_server_fakes import LMStudio, Ollama


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[NotebookSession]:
    """A session on a machine whose usual ports are all closed."""
    for kind in LOCAL_KINDS:
        for name in kind.variables:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(kind.variables[-1], "http://127.0.0.1:9")
    ample = functools.partial(find_local_servers, seconds=60.0)
    monkeypatch.setattr(commands, "find_local_servers", ample)
    session = NotebookSession(SimpleNamespace(user_ns={}), Runcell())
    yield session
    run_blocking(session.close)


def below(shown: str, line: str) -> list[str]:
    """The lines below one."""
    lines = shown.splitlines()
    return lines[lines.index(line) + 1 :]


async def test_models_of_this_machine_stand_below_those_that_are_ready(
    session: NotebookSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Ollama() as ollama, LMStudio() as studio:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        monkeypatch.setenv("LM_STUDIO_API_BASE", studio.url)
        shown = await asyncio.to_thread(commands.run_command, session, "model")
    ready = below(shown, "ready to use:")
    assert "  local/demo (offline, needs no key; not a language model)" in ready
    assert below("\n".join(ready), "on this machine:")[:-1] == [
        "  ollama_chat/llama3.2:latest (Ollama, 131,072 tokens)",
        "  ollama_chat/gemma:2b (Ollama, 131,072 tokens, cannot call tools)",
        "  lm_studio/qwen/qwen3-8b (LM Studio, 8,192 tokens)",
        "  lm_studio/ibm/granite-4 (LM Studio, 131,072 tokens, not loaded)",
    ]


def test_nothing_is_said_where_there_is_none(session: NotebookSession) -> None:
    shown = commands.run_command(session, "model")
    assert "ready to use:" in shown and "machine" not in shown


async def test_a_listed_name_can_be_chosen_as_it_stands(
    session: NotebookSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Ollama() as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        chosen = "model ollama_chat/llama3.2:latest"
        shown = await asyncio.to_thread(commands.run_command, session, chosen)
    assert shown.startswith("using ollama_chat/llama3.2:latest")


async def test_loading_and_status_ask_no_server(
    session: NotebookSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Ollama() as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.url)
        await asyncio.to_thread(commands.run_command, session, "")
        assert ollama.asked == []
