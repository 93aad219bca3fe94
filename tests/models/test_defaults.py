"""Which model answers when none was chosen."""

from __future__ import annotations

from typing import Any

import pytest

from runcell_nb.models.catalogue import litellm_entries, resolve
from runcell_nb.models.defaults import DEFAULT_MODELS, TABLE_DATE, default_model
from runcell_nb.models.providers import key_variables


def test_the_variable_wins_over_every_key() -> None:
    chosen = default_model({"RUNCELL_MODEL": "ollama/mine", "ANTHROPIC_API_KEY": "k"})
    assert chosen.model == "ollama/mine"
    assert chosen.sentence == "using ollama/mine because RUNCELL_MODEL is set; change with %runcell model"


@pytest.mark.parametrize(("provider", "variable", "model"), DEFAULT_MODELS)
def test_a_key_chooses_its_provider(provider: str, variable: str, model: str) -> None:
    chosen = default_model({variable: "secret-value"})
    assert chosen.model == model and model.startswith(f"{provider}/")
    assert f"because {variable} is set" in chosen.sentence and "secret-value" not in chosen.sentence


def test_the_first_of_several_keys_counts() -> None:
    first, second = DEFAULT_MODELS[:2]
    assert default_model({second[1]: "k", first[1]: "k"}).model == first[2]


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": "", "RUNCELL_MODEL": " "}])
def test_the_demo_answers_without_any_key(environ: dict[str, str]) -> None:
    chosen = default_model(environ)
    assert chosen.model == "local/demo"
    assert "no key is set" in chosen.sentence and "not a language model" in chosen.sentence


@pytest.mark.parametrize(("provider", "variable", "model"), DEFAULT_MODELS)
def test_the_table_names_models_that_can_do_the_work(
    litellm: Any, provider: str, variable: str, model: str
) -> None:
    assert variable in key_variables(provider)
    if provider == "openrouter":
        return  # litellm has no list of its models
    entry = resolve(model, litellm_entries(litellm.model_cost))
    assert entry is not None and entry.qualified == model
    assert entry.info.get("supports_function_calling") and entry.info["input_cost_per_token"] > 0
    assert entry.info.get("deprecation_date", "9999") > TABLE_DATE
