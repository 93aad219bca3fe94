from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.notebook.kernels import Kernel

KEYS = ("_API_KEY", "_AUTH_TOKEN", "_BASE_URL", "RUNCELL_")


@pytest.fixture
def kernel(tmp_path) -> Iterator[Kernel]:
    """A fresh kernel in an empty folder, without keys, with the extension loaded."""
    env = {name: value for name, value in os.environ.items() if not any(part in name for part in KEYS)}
    kernel = Kernel({**env, "IPYTHONDIR": str(tmp_path / "ipython")})
    assert kernel.run("%load_ext runcell_nb\nfrom runcell_nb import ScriptedModel").ok
    yield kernel
    kernel.close()
