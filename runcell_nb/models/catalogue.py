"""Which models there are, and which one a name means (API 1, FACTS 18)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from runcell_nb.core.errors import InvalidOptionError

from .providers import LOCAL

_NEWER = "(A model newer than the installed litellm needs a newer litellm.)"

_SUGGESTIONS = 5
_SHORTEST_PREFIX = 4

# Providers whose users bring their own models or deployments, or that list more than any catalogue has.
_OPEN_ENDED = LOCAL | {
    "aiohttp_openai", "azure", "azure_ai", "azure_text", "baseten", "bedrock", "bedrock_mantle",
    "cloudflare", "custom", "custom_openai", "databricks", "datarobot", "deepinfra", "featherless_ai",
    "fireworks_ai", "friendliai", "huggingface", "litellm_proxy", "nebius", "novita", "nvidia_nim", "oci",
    "oobabooga", "openai_like", "openrouter", "petals", "predibase", "replicate", "sagemaker",
    "sagemaker_chat", "snowflake", "together_ai", "triton", "vercel_ai_gateway", "vertex_ai",
    "vertex_ai_beta", "wandb", "watsonx",
}  # fmt: skip

_CHAT_MODES = frozenset({"chat", "responses", "completion"})

# litellm names some providers by product line where its calls want the plain name.
_PLAIN_NAMES = {"bedrock_converse": "bedrock", "cohere_chat": "cohere", "ai21_chat": "ai21"}

# Of litellm's two names for these only the second speaks the chat API. The first of Ollama writes tools into
# the prompt; that of AI21 sends models that litellm does not list, and the key, to OpenAI's address.
_CHAT_PROVIDERS = {"ollama": "ollama_chat", "ai21": "ai21_chat"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of a catalogue.

    Attributes:
        provider: Name of who serves it.
        id: Its id there; may contain `/`.
        name: Display name; the id where a catalogue has none.
        key: How litellm's price table calls it.
        info: litellm's data about it.
    """

    provider: str
    id: str
    name: str = ""
    key: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def qualified(self) -> str:
        """`provider/id`."""
        return f"{self.provider}/{self.id}"


@dataclass(frozen=True, slots=True)
class Target:
    """The model that a name means.

    Attributes:
        provider: Name of who serves it.
        id: Its id there.
        info: litellm's data about it; empty for a model that its catalogue lacks.
        key: How litellm's price table calls it; None for a model that its catalogue lacks.
    """

    provider: str
    id: str
    info: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None

    @property
    def qualified(self) -> str:
        """`provider/id`, which litellm takes as the model's name."""
        return f"{self.provider}/{self.id}"


def resolve(model: str, entries: Sequence[Entry]) -> Entry | None:
    """Return the entry that a name means (FACTS 18.1, 18.2), or None.

    Args:
        model: An id, a display name, or either of them after `provider/`; compared case by case.
        entries: The catalogue, in order of preference.
    """
    provider, _, rest = model.partition("/")
    if rest:
        for entry in entries:
            if entry.provider == provider and rest in (entry.id, entry.name):
                return entry
    return next((entry for entry in entries if model in (entry.id, entry.name)), None)


def suggestions(model: str, entries: Sequence[Entry]) -> list[str]:
    """Return up to five likely `provider/id`, best first (FACTS 18.4)."""
    provider = model.partition("/")[0] if "/" in model else None
    tail = model.rpartition("/")[2].casefold()
    scored = []
    for entry in entries:
        score = max(_shared_prefix(tail, entry.id), _shared_prefix(tail, entry.name))
        if score >= _SHORTEST_PREFIX or entry.provider == provider:
            scored.append((score if score >= _SHORTEST_PREFIX else 0, entry.qualified))
    scored.sort(key=lambda pair: -pair[0])  # stable: ties stay in catalogue order
    return list(dict.fromkeys(name for _, name in scored))[:_SUGGESTIONS]


def _advice(model: str, entries: Sequence[Entry]) -> str:
    provider, slash, _ = model.partition("/")
    if provider.strip().lower() == "local":
        return "; the offline demo is 'local/demo'."
    if not slash:
        return "; give it as provider/model."
    if any(entry.qualified.startswith(provider + "/") for entry in entries):
        return f"; nothing in the catalogue of {provider!r} is like it."
    return f"; no provider is called {provider!r}."


def unknown_model(model: str, entries: Sequence[Entry]) -> InvalidOptionError:
    """Return the error for a name that means no model (FACTS 18.3)."""
    likely = suggestions(model, entries)
    hint = f"; did you mean {', '.join(likely)}? {_NEWER}" if likely else _advice(model, entries)
    return InvalidOptionError(f'Unknown model "{model}"{hint}')


def find(
    model: str,
    entries: Sequence[Entry],
    is_provider: Callable[[str], bool],
    has_base_url: Callable[[str], bool],
) -> Target:
    """Return what a name means, known to the catalogue or passed through.

    Args:
        model: As the person wrote it.
        entries: The catalogue.
        is_provider: Whether litellm knows a provider of that name.
        has_base_url: Whether a provider is reached at a custom address, where any model may be served.

    Raises:
        InvalidOptionError: The provider is unknown, or its closed catalogue lacks the model.
    """
    provider, _, name = model.partition("/")
    entry = resolve(model, entries)
    # An id may hold a slash, but who names a provider means it: somebody else's model would get its key.
    elsewhere = entry is not None and name and entry.provider != provider and is_provider(provider)
    if entry is not None and not elsewhere and is_provider(entry.provider):
        return Target(_chat_provider(entry.provider), entry.id, entry.info, entry.key)
    if name and is_provider(provider) and (_is_open(provider, name, entries) or has_base_url(provider)):
        return Target(_chat_provider(provider), name)
    raise unknown_model(model, entries)


def litellm_entries(model_cost: Mapping[str, Mapping[str, Any]]) -> tuple[Entry, ...]:
    """Return litellm's catalogue of chat models.

    What litellm itself lists under a bare id comes first, so that such an id means the same here.

    Args:
        model_cost: `litellm.model_cost`.
    """
    entries = [_entry(key, info) for key, info in model_cost.items() if info.get("mode") in _CHAT_MODES]
    return tuple(sorted(entries, key=lambda entry: entry.key != entry.id))


def _entry(key: str, info: Mapping[str, Any]) -> Entry:
    provider = str(info.get("litellm_provider", ""))
    provider = "vertex_ai" if provider.startswith("vertex_ai-") else _PLAIN_NAMES.get(provider, provider)
    model_id = key.removeprefix(f"{provider}/")
    return Entry(provider, model_id, model_id, key, info)


def _chat_provider(provider: str) -> str:
    return _CHAT_PROVIDERS.get(provider, provider)


def _is_open(provider: str, model_id: str, entries: Sequence[Entry]) -> bool:
    if provider in _OPEN_ENDED or model_id.startswith("ft:"):
        return True
    return not any(entry.provider == provider for entry in entries)


def _shared_prefix(tail: str, name: str) -> int:
    pairs = zip(tail, name.casefold(), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
