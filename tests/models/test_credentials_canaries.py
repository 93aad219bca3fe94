"""A canary key in every source of credentials: nothing that is shown or kept holds a part of one."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runcell_nb import AgentEvents, create_agent, create_thread, tool
from runcell_nb.core.events import event_to_dict
from runcell_nb.models.provider_addresses import ADDRESSES
from tests.memory_store import MemoryStore

from .wire_servers import WireServer, call_piece, openai_stream

pytestmark = [
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),
]

CANARIES = {
    "env": "Wq7Zx.3jKp/9vRt+2mNb=8hLd",
    "local": "Yf4Ug~6cXs-1aQe_5oPi*7kTj",
    "agent_dir": "Hb2Vn:8rDw|4zEy@6xFq5GuMa",
    "api_keys": "Jt9Lk$3sWc!7pBv%1nRh&2yZo",
    "shared": "Dm5Xe(4gQa)8uKf[6iTz]3bPw",
}
KEPT_BESIDE = "Vr6Nt,1wHs;9dJc<5yGk>7lXb"
"""Refresh tokens, keys of other providers, the name in the store: never sent to anyone."""
USAGE = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}


def entries(key: str) -> dict[str, Any]:
    return {
        "openai": {"type": "api_key", "key": key},
        "anthropic": {"type": "oauth", "access": KEPT_BESIDE, "refresh": KEPT_BESIDE, "expires": 1},
        "groq": {"type": "api_key", "key": KEPT_BESIDE},
    }


def in_file(folder: Path, key: str) -> None:
    folder.mkdir(parents=True)
    (folder / "auth.json").write_text(json.dumps(entries(key)))


@pytest.fixture
def every_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """All five sources filled at the same time: the option that selects each of them."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", CANARIES["env"])
    in_file(tmp_path / ".pi" / "agent", CANARIES["local"])
    in_file(tmp_path / "elsewhere", CANARIES["agent_dir"])
    store = MemoryStore(**{KEPT_BESIDE: entries(CANARIES["shared"])})
    return {
        "env": "env",
        "local": "local",
        "agent_dir": {"type": "agent_dir", "path": tmp_path / "elsewhere"},
        "api_keys": {"type": "api_keys", "keys": {"openai": CANARIES["api_keys"], "groq": KEPT_BESIDE}},
        "shared": {"type": "shared", "key": KEPT_BESIDE, "store": store},
    }


@pytest.fixture
def every_logger(litellm: Any, caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """All loggers tell everything."""
    loggers = [one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)]
    before = [(one, one.level) for one in (logging.root, *loggers)]
    for one, _ in before:
        one.setLevel(logging.DEBUG)
    yield caplog
    for one, level in before:
        one.setLevel(level)


@tool
def failing(city: str) -> str:
    """Fail."""
    raise ValueError(f"no weather of {city}")


def refusal(key: str) -> Any:
    said = f"Incorrect API key provided: {key[:9]}*******{key[-6:]}, which was {key}. (Bearer {key})"
    body = {"error": {"message": said, "code": key}}
    return 401, {"content-type": "application/json", "x-you-sent": key}, json.dumps(body).encode()


CALLS = openai_stream(call_piece(0, "c1", "failing", '{"city": "Rome"}'), finish="tool_calls", usage=USAGE)
SCRIPTS: dict[str, Callable[[str], list[Any]]] = {
    "success": lambda key: [openai_stream({"content": "Hi."}, usage=USAGE)],
    "refused": lambda key: [refusal(key)],
    "dropped": lambda key: [openai_stream({"content": "Hi."}, finish=None)],
    "tool error": lambda key: [CALLS, openai_stream({"content": "It failed."}, usage=USAGE)],
    "overloaded": lambda key: [
        (529, {"retry-after": "0"}, key.encode()),
        openai_stream({"content": "Hi."}, usage=USAGE),
    ],
}


def pieces_in(text: str) -> list[str]:
    keys = [*CANARIES.values(), KEPT_BESIDE]
    return [key[at : at + 6] for key in keys for at in range(len(key) - 5) if key[at : at + 6] in text]


def told_by(error: BaseException | None) -> list[str]:
    """Everything an error and its causes say."""
    told: list[str] = []
    while isinstance(error, BaseException):
        told += [str(error), repr(error), repr(vars(error)), *traceback.format_exception(error)]
        error = getattr(error, "cause", None) or error.__cause__ or error.__context__
    return told


async def told_by_a_run(agent: Any, thread: Any) -> list[str]:
    """All that a run leaves: events, result or error, the thread, and what shows the parts."""
    run = agent.stream("Hello.", thread=thread)
    events = [event async for event in run.events()]
    try:
        told = [repr(await run.result())]
    except Exception as error:
        told = told_by(error)
    told += [repr(events), *(repr(event_to_dict(event)) for event in events), json.dumps(thread.to_dict())]
    return [*told, *(repr(one) for one in (agent, agent._config, run, thread))]


def told_beside(logs: pytest.LogCaptureFixture, captured: Any) -> list[str]:
    """What was logged and printed."""
    assert logs.records
    return [captured.out, captured.err, logs.text, *(repr(vars(record)) for record in logs.records)]


@pytest.mark.parametrize("scenario", SCRIPTS)
@pytest.mark.parametrize("source", CANARIES)
async def test_no_part_of_a_key_is_shown_or_kept(
    source: str,
    scenario: str,
    every_source: dict[str, Any],
    every_logger: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard: list[str] = []
    listen = AgentEvents(on_error=lambda error: heard.extend(told_by(error)))
    async with WireServer(SCRIPTS[scenario](CANARIES[source])) as server:
        monkeypatch.setitem(ADDRESSES, "openai", server.url)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        agent = create_agent(
            "openai/gpt-4o", credentials=every_source[source], tools=[failing], events=listen
        )
        told = await told_by_a_run(agent, create_thread())
        assert {seen.headers["authorization"] for seen in server.requests} == {f"Bearer {CANARIES[source]}"}
    assert bool(heard) == (scenario in ("refused", "dropped"))
    for text in [*told, *heard, *told_beside(every_logger, capfd.readouterr())]:
        assert not pieces_in(text), text[:2000]


@pytest.mark.parametrize(
    ("model", "signed_in"),
    [
        ("anthropic/claude-sonnet-5-5", False),
        ("anthropic/claude-sonnet-5-5", True),
        ("xai/grok-4.7", True),
        ("gemini/gemini-2.5-flash", False),
        ("groq/openai/gpt-oss-120b", False),
    ],
)
async def test_nor_by_the_clients_of_other_providers(
    model: str,
    signed_in: bool,
    every_logger: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = CANARIES["shared"]
    sent = f"sk-ant-oat01-{key}" if signed_in else key
    provider = model.partition("/")[0]
    if signed_in:
        entry = {"type": "oauth", "access": sent, "refresh": KEPT_BESIDE, "expires": 4_102_444_800_000}
    else:
        entry = {"type": "api_key", "key": sent}
    credentials = {
        "type": "shared",
        "key": KEPT_BESIDE,
        "store": MemoryStore(**{KEPT_BESIDE: {provider: entry}}),
    }
    async with WireServer([refusal(sent)]) as server:
        monkeypatch.setitem(ADDRESSES, provider, server.url)
        told = await told_by_a_run(create_agent(model, credentials=credentials), create_thread())
        assert [sent in repr(seen.headers) for seen in server.requests] == [True]
    assert any("Error" in text for text in told)
    for text in [*told, *told_beside(every_logger, capfd.readouterr())]:
        assert not pieces_in(text), text[:2000]
