"""What this package knows about providers: whose key is where, and which need none (API 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from runcell_nb.core.credentials import env_credentials
from runcell_nb.core.errors import CredentialError

from .keys import clean_key
from .local_addresses import chosen_address, kind_of

# Names that differ from the rule <PROVIDER>_API_KEY; the first is the one told to a person.
_KEY_VARIABLES = {
    "ai21_chat": ("AI21_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "fireworks_ai": ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "meta_llama": ("LLAMA_API_KEY",),
    "ollama_chat": ("OLLAMA_API_KEY",),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY"),
    "vercel_ai_gateway": ("AI_GATEWAY_API_KEY", "VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
    "vercel-ai-gateway": ("AI_GATEWAY_API_KEY",),
}

LOCAL = frozenset(
    {
        "docker_model_runner",
        "hosted_vllm",
        "lemonade",
        "llamafile",
        "lm_studio",
        "ollama",
        "ollama_chat",
        "vllm",
        "xinference",
    }
)
"""Servers that people run themselves; they need no key, and on this machine they cost nothing."""

_CLOUD = frozenset(
    {"bedrock", "bedrock_mantle", "sagemaker", "sagemaker_chat", "vertex_ai", "vertex_ai_beta"}
)
"""Their credentials are several variables or files that litellm reads itself."""

# A provider with a key that may also be signed in to by other variables.
_OTHER_SIGN_IN = {
    "anthropic": ("ANTHROPIC_AUTH_TOKEN",),
    "azure": ("AZURE_AD_TOKEN", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_USERNAME"),
    "azure_ai": ("AZURE_AD_TOKEN", "AZURE_CLIENT_ID"),
    "huggingface": ("HF_TOKEN",),
    "watsonx": ("WATSONX_APIKEY",),
}

NO_KEY = "no-key-needed"
"""Sent where a server needs no key, so that litellm does not take one from the environment by itself."""


@dataclass(frozen=True, slots=True)
class Access:
    """How one provider is reached.

    Attributes:
        api_key: None only where litellm reads cloud credentials itself.
        base_url: None for the provider's own address.
        key_variable: Where a person would look at the key: its variable, or the source it came from.
    """

    api_key: str | None = field(repr=False)
    base_url: str | None = field(repr=False)
    key_variable: str


def key_variables(provider: str) -> tuple[str, ...]:
    """Return the names of the variables that may hold a provider's key, the usual one first (FACTS 15.6)."""
    rule = provider.upper().replace("-", "_").replace(" ", "_") + "_API_KEY"
    return _KEY_VARIABLES.get(provider.lower(), (rule,))


def base_url_of(provider: str, environ: Mapping[str, str]) -> str | None:
    """Return the base URL that the environment sets for a provider, or None.

    Raises:
        InvalidOptionError: It is that of a local server and no address.
    """
    kind = kind_of(provider)
    if kind is not None:
        return chosen_address(kind, environ)
    name = provider.upper().replace("-", "_")
    return environ.get(f"{name}_BASE_URL") or environ.get(f"{name}_API_BASE") or None


def is_loopback(url: str | None) -> bool:
    """Return whether a URL points to this machine."""
    host = urlsplit(url or "").hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_local(provider: str, base_url: str | None, model_id: str) -> bool:
    """Return whether requests for a model are answered on this machine; local servers default to it.

    Ollama passes on what it calls cloud models, which is told by their tags only.
    """
    passed_on = provider.startswith("ollama") and model_id.endswith(("-cloud", ":cloud"))
    return provider in LOCAL and not passed_on and (base_url is None or is_loopback(base_url))


def address_for(provider: str, environ: Mapping[str, str]) -> str | None:
    """Return the base URL that the environment sets, else that of a local server whose default is known.

    Without one litellm would send the requests for some of them to OpenAI.

    Raises:
        InvalidOptionError: A variable holds no address.
    """
    chosen = base_url_of(provider, environ)
    kind = kind_of(provider)
    return kind.default if chosen is None and kind is not None else chosen


def env_access(provider: str, environ: Mapping[str, str]) -> Access:
    """Find the key and base URL of a provider in the environment.

    Args:
        provider: litellm's name of it.
        environ: The environment, read now so that changes between runs are seen.

    Raises:
        CredentialError: A key is needed and there is none, or it is none that a header can hold.
    """
    names = key_variables(provider)
    handed = env_credentials(environ)
    found = next((name for name in names if handed.get(name, "").strip()), None)
    key = clean_key(handed[found], f"The variable {found}") if found else None
    base_url = address_for(provider, environ)
    signed_in = provider in _CLOUD or any(environ.get(name) for name in _OTHER_SIGN_IN.get(provider, ()))
    if key is None and not signed_in:
        if provider not in LOCAL and not is_loopback(base_url):
            raise CredentialError(missing_key(provider))
        key = NO_KEY
    return Access(key, base_url, found or names[0])


def missing_key(provider: str) -> str:
    """Return the sentence for a provider without a key: which variable to set, and what needs none."""
    variable = key_variables(provider)[0]
    return (
        f"No key for {provider!r}: set the environment variable {variable}, "
        "or use the model local/demo, which needs none."
    )
