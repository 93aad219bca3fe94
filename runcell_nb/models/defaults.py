"""Which model answers when none was chosen (API 13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DEMO_MODEL = "local/demo"
"""The offline demo; it needs no key. Not a language model."""

MODEL_VARIABLE = "RUNCELL_MODEL"

TABLE_DATE = "2026-11-30"
"""When the table was last looked through; the models are those of the litellm of that day."""

DEFAULT_MODELS = (
    ("anthropic", "ANTHROPIC_API_KEY", "anthropic/claude-sonnet-5-5"),
    ("openai", "OPENAI_API_KEY", "openai/gpt-6.1-sol"),
    ("gemini", "GEMINI_API_KEY", "gemini/gemini-4-argon"),
    ("mistral", "MISTRAL_API_KEY", "mistral/mistral-large-4"),
    ("xai", "XAI_API_KEY", "xai/grok-4.7"),
    ("deepseek", "DEEPSEEK_API_KEY", "deepseek/deepseek-v4-pro"),
    ("groq", "GROQ_API_KEY", "groq/openai/gpt-oss-120b"),
    ("openrouter", "OPENROUTER_API_KEY", "openrouter/anthropic/claude-sonnet-5-5"),
)
"""(provider, key variable, model), the first whose key is set counts."""


@dataclass(frozen=True, slots=True)
class DefaultModel:
    """The model that answers, and why.

    Attributes:
        model: `provider/id`.
        sentence: Says it to a person, without the key.
    """

    model: str
    sentence: str


def default_model(environ: Mapping[str, str]) -> DefaultModel:
    """Choose the model that answers when none was chosen.

    Args:
        environ: The environment: `RUNCELL_MODEL`, else the keys of `DEFAULT_MODELS`.
    """
    chosen = environ.get(MODEL_VARIABLE, "").strip()
    if chosen:
        return answering(chosen, f" because {MODEL_VARIABLE} is set")
    for _, variable, model in DEFAULT_MODELS:
        if environ.get(variable, "").strip():
            return answering(model, f" because {variable} is set")
    return answering(DEMO_MODEL, " because no key is set")


def answering(model: str, why: str = "") -> DefaultModel:
    """Return a model with the sentence that says it; the demo never goes without saying what it is.

    Args:
        model: `provider/id`.
        why: A clause such as ` because … is set`.
    """
    what = f"{model} (an offline demo, not a language model)" if model == DEMO_MODEL else model
    return DefaultModel(model, f"using {what}{why}; change with %runcell model")
