from __future__ import annotations

import pytest

from runcell_nb import InvalidOptionError
from runcell_nb.notebook.replay_mode import chosen_mode, recording_is_on


@pytest.mark.parametrize(
    ("environ", "option", "command", "setting", "mode"),
    [
        ({}, None, None, "", "off"),
        ({}, None, None, "auto", "auto"),
        ({"RUNCELL_REPLAY": "off"}, None, None, "auto", "off"),
        ({"RUNCELL_REPLAY": "auto"}, None, "strict", "", "strict"),
        ({"RUNCELL_REPLAY": "auto"}, "off", "strict", "", "off"),
        ({"RUNCELL_REPLAY": "strict"}, "off", "auto", "off", "strict"),
        ({"RUNCELL_REPLAY": "strict"}, None, None, "", "strict"),
        ({"RUNCELL_REPLAY": "off", "RUNCELL_RECORD": "1"}, "auto", "strict", "strict", "off"),
        ({"RUNCELL_RECORD": "1"}, None, "auto", "", "auto"),
    ],
)
def test_which_mode_counts(environ, option, command, setting, mode) -> None:
    assert chosen_mode(environ, option, command, setting).mode == mode


def test_a_strict_variable_that_a_notebook_would_loosen_is_told() -> None:
    environ = {"RUNCELL_REPLAY": "strict"}
    assert "stays strict, not auto" in str(chosen_mode(environ, None, "auto", "").note)
    assert chosen_mode(environ, "strict", "off", "").note is None


@pytest.mark.parametrize(
    ("environ", "setting", "said"),
    [
        (
            {"RUNCELL_REPLAY": "stric"},
            "",
            "RUNCELL_REPLAY is strict, auto or off, got 'stric' (did you mean strict?).",
        ),
        ({}, "yes", "c.Runcell.replay is strict, auto or off, got 'yes'."),
    ],
)
def test_what_is_no_mode_is_a_sentence(environ, setting: str, said: str) -> None:
    with pytest.raises(InvalidOptionError) as raised:
        chosen_mode(environ, None, None, setting)
    assert str(raised.value) == said


@pytest.mark.parametrize(
    ("variable", "command", "is_on"),
    [("1", None, True), ("1", False, True), ("0", True, True), ("no", None, False), ("", None, False)],
)
def test_whether_it_records(variable: str, command: bool | None, is_on: bool) -> None:
    assert recording_is_on({"RUNCELL_RECORD": variable}, command) is is_on
