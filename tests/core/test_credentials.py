"""The credentials option, the shared store and pi's file (API 7, FACTS 15)."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runcell_nb import CredentialError, normalize_credentials
from runcell_nb.core.credential_file import auth_file, read_auth_file
from runcell_nb.core.credential_store import AuthStore, CredentialStore
from runcell_nb.core.credentials import env_credentials
from tests.conformance import cases, decoded
from tests.memory_store import MemoryStore

SECRET = "Canary7f3e.9b1d/4c2a"


STORE = MemoryStore()


def named(plan: Any) -> dict[str, Any]:
    """A plan as the cases spell it."""
    modes = {"api_keys": "apiKeys", "agent_dir": "agentDir"}
    fields = {"agent_dir": "agentDir", "path": "path", "keys": "keys", "key": "key", "store": "store"}
    shown = {camel: getattr(plan, name) for name, camel in fields.items() if hasattr(plan, name)}
    return {"mode": modes.get(plan.mode, plan.mode), **shown}


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "credentials"))
def test_credential_cases(given: Any, expect: Any) -> None:
    options = decoded(given)
    if isinstance(options.get("credentials"), dict) and "store" in options["credentials"]:
        options["credentials"]["store"] = STORE
    arguments = {"env_name": options["env"]} | {
        key: options[key] for key in ("credentials",) if key in options
    }
    if "error" in expect:
        with pytest.raises(CredentialError) as caught:
            normalize_credentials(**arguments)
        assert all(text in str(caught.value) for text in expect.get("message_has", ()))
        return
    expected = {key: STORE if key == "store" else value for key, value in expect["ok"].items()}
    plan = named(normalize_credentials(**arguments))
    assert {key: plan[key] for key in expected} == expected


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "env_credentials"))
def test_env_credential_cases(given: Any, expect: Any) -> None:
    assert env_credentials(given["process"]) == expect["ok"]


@pytest.mark.parametrize(("given", "expect"), cases("core_cases.json", "auth_store"))
async def test_auth_store_cases(given: Any, expect: Any) -> None:
    store = MemoryStore(auth=given["blob"])
    auth = AuthStore(store, "auth")
    results = [await getattr(auth, name)(*arguments) for name, *arguments in given["ops"]]
    assert {"results": results, "blob": store.blobs["auth"], "writes": store.writes} == expect["ok"]


def test_python_spellings_and_short_forms() -> None:
    assert normalize_credentials().mode == "env" == normalize_credentials("env", "production").mode
    assert normalize_credentials({"type": "api_keys", "keys": {"a": " "}}).mode == "api_keys"
    assert normalize_credentials({"type": "agent_dir", "path": Path("/opt/a")}, "production").path == "/opt/a"
    opted_in = {"type": "local", "agent_dir": "/s", "allow_in_production": True}
    assert normalize_credentials(opted_in, "production").agent_dir == "/s"
    assert normalize_credentials("local", "Production").agent_dir is None


@pytest.mark.parametrize("value", [1, "true", None])
def test_only_true_opts_in_to_production(value: Any) -> None:
    with pytest.raises(CredentialError, match="allow_in_production=True"):
        normalize_credentials({"type": "local", "allow_in_production": value}, "production")


def test_keys_are_copied_and_cannot_be_changed() -> None:
    keys = {"openai": SECRET}
    plan: Any = normalize_credentials({"type": "api_keys", "keys": keys})
    keys["openai"] = "other"
    assert plan.keys == {"openai": SECRET}
    with pytest.raises(TypeError):
        plan.keys["openai"] = "other"


@pytest.mark.parametrize(
    ("credentials", "message"),
    [
        (None, "word or a mapping"),
        (5, "word or a mapping"),
        ({}, "credentials need a .type."),
        ({"type": ["env"]}, "Unknown credentials type; use"),
        ("environment", "Unknown credentials type 'environment'"),
        (SECRET, "Unknown credentials type; use"),
        ({"openai": SECRET}, "credentials need a .type."),
        ({"type": "env", "keys": {"openai": SECRET}}, "no field 'keys'"),
        ({"type": "local", "agentDirr": SECRET}, "no field 'agent_dirr'"),
        ("apiKeys", "at least one key"),
        ({"type": "api_keys", "keys": SECRET}, "at least one key"),
        ({"type": "api_keys", "keys": {"": SECRET}}, "provider names"),
        ({"type": "api_keys", "keys": {"openai": [SECRET]}}, "'openai'.* a list"),
        ({"type": "agent_dir", "path": {"openai": SECRET}}, "path= .* a dict"),
        ({"type": "local", "agent_dir": " "}, "agent_dir= .* empty"),
        ({"type": "shared", "key": "k", "store": {"openai": SECRET}}, "with_lock"),
        ({"type": "shared", "key": None, "store": STORE}, "need key="),
    ],
)
def test_wrong_options_are_named_and_never_shown(credentials: Any, message: str) -> None:
    with pytest.raises(CredentialError, match=message) as caught:
        normalize_credentials(credentials)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "credentials",
    [
        {"type": "api_keys", "keys": {"openai": SECRET}},
        {"type": "shared", "key": SECRET, "store": MemoryStore()},
    ],
)
def test_no_repr_of_a_plan_shows_a_key(credentials: Any) -> None:
    assert SECRET not in repr(normalize_credentials(credentials))


async def test_concurrent_changes_of_a_shared_blob_queue() -> None:
    store = MemoryStore(auth=None)
    assert isinstance(store, CredentialStore)
    entries = {f"p{number}": {"type": "api_key", "key": str(number)} for number in range(50)}
    await asyncio.gather(*(AuthStore(store, "auth").modify(name, entry) for name, entry in entries.items()))
    assert store.blobs["auth"] == entries and store.writes == 50


async def test_a_change_leaves_the_given_blob_and_entries_of_other_kinds_alone() -> None:
    blob = {"a": {"type": "later", "x": [1]}, "b": "odd"}
    store = MemoryStore(auth=blob)
    auth = AuthStore(store, "auth")
    await auth.delete("missing")
    assert store.writes == 0
    await auth.modify("c", {"type": "api_key"})
    await auth.delete("c")
    assert store.blobs["auth"] == blob == {"a": {"type": "later", "x": [1]}, "b": "odd"}
    assert await auth.list() == [{"providerId": "a", "type": "later"}, {"providerId": "b", "type": None}]


@pytest.mark.parametrize("blob", [SECRET, [SECRET], 5])
async def test_a_blob_that_is_no_mapping_is_refused_without_its_content(blob: Any) -> None:
    auth = AuthStore(MemoryStore(auth=blob), "auth")
    for operation in (auth.entries(), auth.list(), auth.modify("a", {})):
        with pytest.raises(CredentialError, match=f"holds a {type(blob).__name__} instead") as caught:
            await operation
        assert SECRET not in repr(caught.value)


async def test_a_store_that_fails_or_returns_something_else_is_told() -> None:
    class Broken:
        async def with_lock(self, key: str, fn: Any) -> Any:
            raise OSError("disk")

    class Odd:
        async def with_lock(self, key: str, fn: Any) -> Any:
            return fn({})

    with pytest.raises(CredentialError, match="store failed with OSError") as caught:
        await AuthStore(Broken(), "auth").entries()
    assert isinstance(caught.value.cause, OSError)
    with pytest.raises(CredentialError, match="holds a tuple"):
        await AuthStore(Odd(), "auth").entries()


async def test_the_file_of_pi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = auth_file(None)
    assert path == tmp_path / ".pi" / "agent" / "auth.json"
    assert await read_auth_file(path) is None
    path.parent.mkdir(parents=True)
    entries = {"openai": {"type": "api_key", "key": SECRET}, "codex": {"type": "oauth", "accountId": "é"}}
    for text in (json.dumps(entries).encode(), b"\xef\xbb\xbf" + json.dumps(entries).encode()):
        path.write_bytes(text)
        path.chmod(0o644)
        assert await read_auth_file(path) == entries


@pytest.mark.parametrize(
    "content",
    [
        f'{{"openai": {{"key": "{SECRET}"',
        f'"{SECRET}"',
        f'["{SECRET}"]',
        f"{SECRET}\udcff",
        "[" * 100_000,
        "",
        "null",
    ],
)
async def test_a_malformed_file_is_named_and_never_shown(content: str, tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(CredentialError) as caught:
        await read_auth_file(path)
    error = caught.value
    assert str(path) in str(error) and "sign in again" in str(error)
    assert error.__cause__ is None and error.__context__ is None and SECRET not in repr(vars(error))


async def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "auth.json").mkdir()
    with pytest.raises(CredentialError, match=r"auth\.json cannot be read \(it is no file\)"):
        await read_auth_file(tmp_path / "auth.json")
    with pytest.raises(CredentialError, match=r"cannot be read \(embedded null byte\)"):
        await read_auth_file(auth_file("/a\0b"))
    with pytest.raises(CredentialError, match="absolute path"):
        auth_file("~no-such-person-here/x")


async def test_the_file_is_read_off_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    (tmp_path / "auth.json").write_text("{}")
    readers: list[Any] = []
    opened = Path.open
    monkeypatch.setattr(
        Path,
        "open",
        lambda path, *how, **more: readers.append(threading.current_thread()) or opened(path, *how, **more),
    )
    found: Mapping[str, Any] | None = await read_auth_file(tmp_path / "auth.json")
    assert found == {} and readers and threading.main_thread() not in readers


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "big"])
async def test_what_is_no_file_of_a_sane_size_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(b" " * 1_000_001 + b"{}")
    with pytest.raises(CredentialError, match=re.escape(str(path))):
        await asyncio.wait_for(read_auth_file(path), 5)
