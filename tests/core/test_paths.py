from __future__ import annotations

import pytest

from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.paths import assert_safe_workspace_path, is_state_path
from tests.conformance import cases, decoded


@pytest.mark.parametrize(("given", "expect"), cases("sandbox_cases.json", "workspace_path"))
def test_workspace_path_cases(given, expect):
    path = decoded(given)["path"]
    if "error" in expect:
        with pytest.raises(InvalidOptionError):
            assert_safe_workspace_path(path)
    else:
        assert assert_safe_workspace_path(path) == expect["ok"]


@pytest.mark.parametrize("path", [None, 5, b"a", ["a"], "./C:/x", "a\0b", ".//.", "c:"])
def test_what_is_no_path_is_refused_with_its_value(path):
    with pytest.raises(InvalidOptionError) as caught:
        assert_safe_workspace_path(path)
    assert repr(path) in str(caught.value)


def test_the_state_folder_is_known_by_whole_segments():
    assert is_state_path(".runcell") and is_state_path(".runcell/a")
    assert not is_state_path(".runcell2") and not is_state_path("a/.runcell")
