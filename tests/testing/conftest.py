from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from .folders import Pytest, run_pytest_in


@pytest.fixture
def run_pytest(tmp_path: Path) -> Pytest:
    """Run pytest in the folder of the test."""
    return partial(run_pytest_in, tmp_path)
