"""What the tests of the models share."""

from __future__ import annotations

import os
from typing import Any

import pytest

from runcell_nb.models.litellm_import import preload


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Overlook two warnings that litellm itself switches off on import and pytest switches on again."""
    for item in items:
        if "test_litellm" in item.path.name:
            item.add_marker(pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"))


@pytest.fixture(scope="session")
def litellm() -> Any:
    """The module, imported as the package does it."""
    return preload().result()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the keys and addresses of whoever runs the tests out of them."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL", "_API_BASE", "_AUTH_TOKEN")):
            monkeypatch.delenv(name)
