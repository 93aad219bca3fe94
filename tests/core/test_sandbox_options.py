from __future__ import annotations

from types import SimpleNamespace

import pytest
from pydantic.alias_generators import to_camel, to_snake

from runcell_nb.core.errors import InvalidOptionError, RuncellNotImplementedError
from runcell_nb.core.sandbox import ExecResult
from runcell_nb.core.sandbox_config import capabilities_of, env_of, resolve_sandbox_config
from runcell_nb.core.sandbox_options import create_sandbox, create_sandbox_provider, create_virtual_sandbox
from tests.conformance import cases, decoded


def option_of(given):
    """A case's option with its provider as an object, which is what Python takes."""
    option = decoded(given).get("option", "virtual")
    if isinstance(option, dict) and "provider" in option:
        provider = {to_snake(name): value for name, value in option["provider"].items()}
        return {**option, "provider": SimpleNamespace(**provider)}
    return option


@pytest.mark.parametrize(("given", "expect"), cases("sandbox_cases.json", "sandbox_option"))
def test_sandbox_option_cases(given, expect):
    if "error" in expect:
        with pytest.raises(InvalidOptionError) as caught:
            resolve_sandbox_config(option_of(given))
        assert all(to_snake(fragment) in str(caught.value) for fragment in expect.get("message_has", []))
        return
    config = resolve_sandbox_config(option_of(given))
    for key, value in expect["ok"].items():
        if key == "provider":
            assert config.provider.specification_version == value["specificationVersion"]
        else:
            assert getattr(config, to_snake(key)) == value


@pytest.mark.parametrize(("given", "expect"), cases("sandbox_cases.json", "sandbox_capabilities"))
def test_sandbox_capabilities_cases(given, expect):
    found = capabilities_of(resolve_sandbox_config(option_of(given)))
    assert {to_camel(name): getattr(found, name) for name in found.__slots__} == expect["ok"]


@pytest.mark.parametrize(
    ("option", "fragment"),
    [
        (None, "None"),
        ("docker", "'docker'"),
        ({"type": "docker"}, "'docker'"),
        ({"type": ["host"]}, "['host']"),
        ({"type": "virtual", "root_dir": "/x"}, "root_dir"),
        ({"type": "virtual", "env": ["A=1"]}, "env"),
        ({"type": "host", "root_dir": "/w", "isolation": None}, "isolation"),
        ({"type": "host", "root_dir": b"/w", "isolation": "external"}, "root_dir"),
        ({"type": "bubblewrap", "network": 1}, "network"),
        ({"type": "bubblewrap", "memory_mb": True}, "memory_mb"),
        ({"type": "bubblewrap", "disk_mb": 0}, "disk_mb"),
        ({"type": "custom", "provider": SimpleNamespace(specification_version="v0")}, "'v0'"),
    ],
)
def test_bad_options_are_named(option, fragment):
    with pytest.raises(InvalidOptionError) as caught:
        resolve_sandbox_config(option)
    assert fragment in str(caught.value)


def test_an_error_never_shows_the_environment():
    option = {"type": "host", "root_dir": "ws", "env": {"API_KEY": "canary-value"}, "extra": "canary-value"}
    with pytest.raises(InvalidOptionError) as caught:
        resolve_sandbox_config(option)
    assert "canary-value" not in str(caught.value)


def test_both_spellings_and_a_model_are_taken_and_paths_normalised():
    option = {"type": "host", "rootDir": "/srv//ws/./x/..", "isolation": "external", "inheritHostEnv": True}
    config = resolve_sandbox_config(option)
    assert (config.root_dir, config.inherit_host_env) == ("/srv/ws", True)
    assert resolve_sandbox_config(config) is config


def test_env_keeps_only_strings():
    config = resolve_sandbox_config({"type": "virtual", "env": {"A": "1", "B": None, "C": 3, 4: "5"}})
    assert env_of(config) == {"A": "1"}


@pytest.mark.parametrize(
    "option",
    [
        {"type": "host", "root_dir": "/w", "isolation": "external"},
        {"type": "bubblewrap"},
        {"type": "vercel"},
    ],
)
async def test_backends_that_are_not_there_yet_say_so(option):
    resolve_sandbox_config(option)
    with pytest.raises(RuncellNotImplementedError, match=repr(option["type"])):
        await create_sandbox(option)


async def test_a_sandbox_can_be_awaited_or_entered():
    async with create_sandbox() as entered:
        assert (await entered.exec("echo hi")).stdout == "hi\n"
    with pytest.raises(InvalidOptionError, match="destroyed"):
        await entered.list_files()
    awaited = await create_virtual_sandbox(env={"A": "1"})
    async with awaited:
        assert (await awaited.exec("echo $A")).stdout == "1\n"
    with pytest.raises(InvalidOptionError, match="destroyed"):
        await awaited.list_files()


def test_nothing_happens_before_it_is_awaited():
    create_sandbox("nonsense")


class MemorySession:
    """A workspace in a dict, with only the members that must be there."""

    working_directory = "/home/box"

    def __init__(self, session_id):
        self.id = session_id
        self.files = {}
        self.log = []

    async def run(self, command, *, cwd=None, env=None, timeout=None):
        self.log.append((command, cwd, dict(env), timeout))
        return ExecResult(0, "", "")

    async def read_file(self, path):
        return self.files.get(path)

    async def write_file(self, path, data):
        self.files[path] = data

    async def remove(self, path):
        self.files.pop(path, None)

    async def list_files(self):
        from datetime import UTC, datetime

        from runcell_nb.core.sandbox import FileInfo

        return [FileInfo(path, len(data), datetime.now(UTC)) for path, data in self.files.items()]

    async def stop(self):
        self.log.append("stop")


class MemoryProvider:
    specification_version = "harness-sandbox-v1"
    provider_id = "memory"

    def __init__(self, make=MemorySession):
        self.make = make
        self.made = []

    async def create_session(self, *, session_id):
        self.made.append(self.make(session_id))
        return self.made[-1]


async def test_a_custom_provider_makes_sandboxes():
    provider = MemoryProvider()
    assert create_sandbox_provider({"type": "custom", "provider": provider}) is provider
    async with create_sandbox({"type": "custom", "provider": provider}) as sandbox:
        await sandbox.write_file("a/b.txt", "1")
        await sandbox.exec("ls", cwd="a", env={"A": "1"}, timeout=5)
        assert await sandbox.list_directory() == ["a/"]
        assert await sandbox.read_text_file("./a//b.txt") == "1"
        assert sandbox.id == provider.made[0].id
    assert provider.made[0].log == [("ls", "a", {"A": "1"}, 5), "stop"]


async def test_a_session_that_lacks_members_is_ended_and_refused():
    ended = []

    class Half:
        def __init__(self, session_id):
            self.id = session_id

        async def destroy(self):
            ended.append(self.id)
            raise OSError("no matter")

    with pytest.raises(InvalidOptionError, match="read_file"):
        await create_sandbox({"type": "custom", "provider": MemoryProvider(Half)})
    assert len(ended) == 1


async def test_an_error_of_the_provider_is_passed_on():
    def fails(session_id):
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        await create_sandbox({"type": "custom", "provider": MemoryProvider(fails)})
