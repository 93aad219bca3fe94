"""What this package knows about providers: whose key is where, and which need none (API 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from runcell_nb.core.errors import CredentialError
from runcell_nb.core.gateway import ModelCredentials

# Names that differ from the rule <PROVIDER>_API_KEY; the first is the one told to a person.
_KEY_VARIABLES = {
    "ai21_chat": ("AI21_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "fireworks_ai": ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "huggingface": ("HUGGINGFACE_API_KEY", "HF_TOKEN"),
    "meta_llama": ("LLAMA_API_KEY",),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY"),
    "vercel_ai_gateway": ("AI_GATEWAY_API_KEY", "VERCEL_AI_GATEWAY_API_KEY"),
    "vercel-ai-gateway": ("AI_GATEWAY_API_KEY",),
    "watsonx": ("WATSONX_API_KEY", "WATSONX_APIKEY"),
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
}

NO_KEY = "no-key-needed"
"""Sent where a server needs no key, so that litellm does not take one from the environment by itself."""


@dataclass(frozen=True, slots=True)
class Access:
    """How one provider is reached.

    Attributes:
        api_key: None only where litellm reads cloud credentials itself.
        base_url: None for the provider's own address.
        key_variable: Name of the variable that a person would set.
    """

    api_key: str | None = field(repr=False)
    base_url: str | None = field(repr=False)
    key_variable: str


def key_variables(provider: str) -> tuple[str, ...]:
    """Return the names of the variables that may hold a provider's key, the usual one first (FACTS 15.6)."""
    rule = provider.upper().replace("-", "_").replace(" ", "_") + "_API_KEY"
    return _KEY_VARIABLES.get(provider.lower(), (rule,))


def base_url_of(provider: str, environ: Mapping[str, str]) -> str | None:
    """Return the base URL that the environment sets for a provider, or None."""
    name = provider.upper().replace("-", "_")
    return environ.get(f"{name}_BASE_URL") or environ.get(f"{name}_API_BASE") or None


def is_loopback(url: str | None) -> bool:
    """Return whether a URL points to this machine."""
    host = urlsplit(url or "").hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_local(provider: str, base_url: str | None) -> bool:
    """Return whether requests to a provider are answered on this machine; local servers default to it."""
    return provider in LOCAL and (base_url is None or is_loopback(base_url))


def access_to(provider: str, credentials: ModelCredentials | None, environ: Mapping[str, str]) -> Access:
    """Find the key and base URL of a provider.

    Args:
        provider: litellm's name of it.
        credentials: Exactly what to use; None for the environment.
        environ: The environment, read now so that changes between runs are seen.

    Raises:
        CredentialError: A key is needed and there is none.
    """
    variable = key_variables(provider)[0]
    if credentials is not None:
        key, base_url = credentials.api_key, credentials.base_url
        signed_in = False
    else:
        key = next((environ[name].strip() for name in key_variables(provider) if environ.get(name)), None)
        base_url = base_url_of(provider, environ)
        signed_in = provider in _CLOUD or any(environ.get(name) for name in _OTHER_SIGN_IN.get(provider, ()))
    if not key and not signed_in:
        if provider not in LOCAL and not is_loopback(base_url):
            raise CredentialError(missing_key(provider))
        key = NO_KEY
    return Access(key or None, base_url, variable)


def missing_key(provider: str) -> str:
    """Return the sentence for a provider without a key: which variable to set, and what needs none."""
    variable = key_variables(provider)[0]
    return (
        f"No key for {provider!r}: set the environment variable {variable}, "
        "or use the model local/demo, which needs none."
    )
