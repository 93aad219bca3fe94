from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.kernels import Kernel
from tests.notebook.recorded_cells import MODEL, STOCK, MakeKernel

KEYS = ("_API_KEY", "_AUTH_TOKEN", "_BASE_URL", "RUNCELL_")


@pytest.fixture
def kernel(tmp_path) -> Iterator[Kernel]:
    """A fresh kernel in an empty folder, without keys, with the extension loaded."""
    env = {name: value for name, value in os.environ.items() if not any(part in name for part in KEYS)}
    kernel = Kernel({**env, "IPYTHONDIR": str(tmp_path / "ipython")})
    assert kernel.run("%load_ext runcell_nb\nfrom runcell_nb import ScriptedModel").ok
    yield kernel
    kernel.close()


@pytest.fixture
def make_kernel(tmp_path: Path) -> Iterator[MakeKernel]:
    """Starts kernels in an empty folder, without keys, with a model `live` and a function `stock`."""
    made: list[Kernel] = []

    def make(**more: str) -> Kernel:
        env = {name: value for name, value in os.environ.items() if not any(part in name for part in KEYS)}
        kernel = Kernel({**env, **more})
        made.append(kernel)
        assert kernel.run(
            f"import os; os.chdir({str(tmp_path)!r})\n%load_ext runcell_nb\n{MODEL}\n{STOCK}"
        ).ok
        return kernel

    yield make
    for kernel in made:
        kernel.close()
