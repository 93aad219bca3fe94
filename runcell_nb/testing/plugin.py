"""The pytest plug-in: notebooks and agents are tested from recordings, without network, key or cost.

It is loaded in every pytest run of whoever installed the package, so nothing heavy is imported here.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

from .fixtures import PASSED, runcell_model, runcell_recording, runcell_sandbox

__all__ = ["runcell_model", "runcell_recording", "runcell_sandbox"]

DIFF_IGNORE = (
    "/cells/*/outputs/*/traceback",
    "/cells/*/outputs/*/execution_count",
    "/cells/*/execution_count",
    "/cells/*/metadata",
    "/metadata/language_info",
    "/metadata/kernelspec",
    "/metadata/widgets",
    "/metadata/runcell",
)
"""What says nothing about what a notebook does; added where the user has set no `nb_diff_ignore`."""

RECORDED = tuple(path for path in DIFF_IGNORE if path != "/metadata/runcell")
"""While recording, new recordings are a difference that is written."""

POST_PROCESSORS = ("coalesce_streams", "runcell")

_MODES = ("strict", "auto", "off")
_SAVED = pytest.StashKey[dict[str, "str | None"]]()
_RENEWED = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--runcell-replay` and `--runcell-record`."""
    group = parser.getgroup("runcell", "agents and notebooks of runcell-nb")
    group.addoption(
        "--runcell-replay",
        choices=_MODES,
        help="how recordings are replayed; by default RUNCELL_REPLAY, else strict",
    )
    group.addoption(
        "--runcell-record",
        action="store_true",
        help="ask the models, and renew recordings and notebooks (this costs money)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make replays strict by default, and pytest-notebook compare what matters.

    Raises:
        pytest.UsageError: Both options are given, which contradict each other.
    """
    record, mode = config.getoption("--runcell-record"), config.getoption("--runcell-replay")
    if record and mode not in (None, "off"):
        raise pytest.UsageError(
            f"--runcell-record asks the models, --runcell-replay={mode} does not: give one of them."
        )
    mode = "off" if record else mode or os.environ.get("RUNCELL_REPLAY", "").strip() or "strict"
    wanted = {"RUNCELL_REPLAY": mode, "RUNCELL_RECORD": "1" if record else None}
    wanted["RUNCELL_TRUST_RECORDING"] = os.environ.get("RUNCELL_TRUST_RECORDING", "1")
    config.stash[_SAVED] = {name: os.environ.get(name) for name in wanted}
    config.stash[_RENEWED] = []
    if wanted["RUNCELL_RECORD"] is None and "RUNCELL_RECORD" in os.environ:
        del wanted["RUNCELL_RECORD"]  # the user's own
    _set(wanted)
    if config.pluginmanager.hasplugin("nb_regression"):
        _configure_notebooks(config, record)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Put the environment back."""
    _set(config.stash.get(_SAVED, {}))


def _configure_notebooks(config: pytest.Config, record: bool) -> None:
    """Set what the user has not; pytest-notebook asks the command line's options first."""
    defaults: dict[str, Any] = {
        "nb_post_processors": POST_PROCESSORS,
        "nb_diff_ignore": RECORDED if record else DIFF_IGNORE,
    }
    for name, value in defaults.items():
        if type(config.getini(name)).__name__ == "NotSet":
            setattr(config.option, name, value)
    if record:
        config.option.nb_force_regen = True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tell the kernel of a notebook's test which notebook it runs."""
    if item.path.suffix != ".ipynb":
        return (yield)
    before = {"RUNCELL_RECORDING": os.environ.get("RUNCELL_RECORDING")}
    _set({"RUNCELL_RECORDING": str(item.path)})
    try:
        return (yield)
    finally:
        _set(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Let a notebook whose recording was renewed pass: that is what was asked for."""
    if item.path.suffix != ".ipynb" or not item.config.getoption("--runcell-record"):
        return (yield)
    try:
        return (yield)
    except Exception as error:
        if type(error).__name__ != "NBRegressionError" or "regenerating file" not in str(error):
            raise
    item.config.stash[_RENEWED].append(_said(item))
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let fixtures know that a test has passed: what any other recorded is not kept."""
    report = yield
    if report.when == "call" and report.passed:
        item.stash[PASSED] = True
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was recorded anew."""
    for line in config.stash.get(_RENEWED, []):
        terminalreporter.write_line(f"runcell: renewed {line}")


def _said(item: pytest.Item) -> str:
    """Return a notebook's name with what is recorded in it."""
    from runcell_nb.models.recording import Recording

    try:
        count = len(Recording.read(item.path))
    except Exception:  # nothing was asked, so nothing is recorded
        count = 0
    return f"{item.path.name}: {count} recorded request{'' if count == 1 else 's'}"


def _set(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
