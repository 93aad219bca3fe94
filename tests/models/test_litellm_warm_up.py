"""What loading the extension prepares, by way of whatever answers for the model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import runcell_nb
from runcell_nb.core.backends import load_gateway
from runcell_nb.models.litellm_gateway import LiteLLMGateway
from runcell_nb.notebook import extension

PACKAGE = Path(runcell_nb.__file__).parent


@pytest.mark.parametrize("model", ["openai/gpt-4o", "gpt-4o", "no/such-model"])
def test_the_gateway_of_the_model_is_preloaded(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    preloaded: list[Any] = []
    monkeypatch.setattr(LiteLLMGateway, "preload", lambda gateway: preloaded.append(gateway))
    extension._warm_up(model)
    assert preloaded == [load_gateway(model)]


def test_a_gateway_without_anything_to_preload_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    preloaded: list[Any] = []
    monkeypatch.setattr(LiteLLMGateway, "preload", lambda gateway: preloaded.append(gateway))
    extension._warm_up("local/demo")
    assert not preloaded


def test_preloading_imports_litellm(litellm: Any) -> None:
    assert LiteLLMGateway().preload().result() is litellm


def test_backends_are_named_in_one_place_only() -> None:
    backend = re.compile(r"runcell_nb\.(?:models\.(?:litellm|demo)|sandboxes)\b[\w.]*")
    naming = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("models", "sandboxes")
        and backend.search(path.read_text("utf-8"))
    }
    assert naming == {"core/backends.py"}
