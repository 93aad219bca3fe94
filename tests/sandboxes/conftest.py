from __future__ import annotations

import pytest

from runcell_nb.core.sandbox_options import create_sandbox

# The backends that must pass the contract; each is a sandbox option.
BACKENDS = {"virtual": {"type": "virtual", "env": {"COLOUR": "red"}}}


@pytest.fixture(params=sorted(BACKENDS))
async def sandbox(request):
    async with create_sandbox(BACKENDS[request.param]) as made:
        yield made
