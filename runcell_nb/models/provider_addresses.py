"""Where the providers are, told to litellm beside every key that does not come from the environment.

Without an address litellm looks for one in the environment, and the key would go wherever that points to.
The addresses are litellm's own defaults; a test compares them with the installed litellm.
"""

from __future__ import annotations

from collections.abc import Mapping

_BY_OPENAI_CLIENT = {
    "ai21_chat": "https://api.ai21.com/studio/v1",
    "aiml": "https://api.aimlapi.com/v1",
    "cerebras": "https://api.cerebras.ai/v1",
    "chutes": "https://llm.chutes.ai/v1",
    "codestral": "https://codestral.mistral.ai/v1",
    "dashscope": "https://dashscope.aliyuncs.com/compatible-mode/v1",
    "deepinfra": "https://api.deepinfra.com/v1/openai",
    "featherless_ai": "https://api.featherless.ai/v1",
    "friendliai": "https://api.friendli.ai/serverless/v1",
    "github": "https://models.inference.ai.azure.com",
    "hyperbolic": "https://api.hyperbolic.xyz/v1",
    "inception": "https://api.inceptionlabs.ai/v1",
    "lambda_ai": "https://api.lambda.ai/v1",
    "meta_llama": "https://api.llama.com/compat/v1",
    "modelscope": "https://api-inference.modelscope.cn/v1",
    "moonshot": "https://api.moonshot.ai/v1",
    "morph": "https://api.morphllm.com/v1",
    "nebius": "https://api.studio.nebius.ai/v1",
    "novita": "https://api.novita.ai/v3/openai",
    "nscale": "https://inference.api.nscale.com/v1",
    "nvidia_nim": "https://integrate.api.nvidia.com/v1",
    "openai": "https://api.openai.com/v1",
    "perplexity": "https://api.perplexity.ai",
    "poe": "https://api.poe.com/v1",
    "sambanova": "https://api.sambanova.ai/v1",
    "scaleway": "https://api.scaleway.ai/v1",
    "v0": "https://api.v0.dev/v1",
    "vercel_ai_gateway": "https://ai-gateway.vercel.sh/v1",
    "volcengine": "https://ark.cn-beijing.volces.com/api/v3",
    "wandb": "https://api.inference.wandb.ai/v1",
    "xiaomi_mimo": "https://api.xiaomimimo.com/v1",
    "zai": "https://api.z.ai/api/paas/v4",
}

_BY_ANOTHER_CLIENT = {
    "anthropic": "https://api.anthropic.com",
    "cohere": "https://api.cohere.com/v2/chat",
    "cohere_chat": "https://api.cohere.com/v2/chat",
    "deepseek": "https://api.deepseek.com/beta",
    "fireworks_ai": "https://api.fireworks.ai/inference/v1",
    # For newer models litellm itself takes v1alpha; what it needs of them is in the documented v1beta too.
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
    "groq": "https://api.groq.com/openai/v1",
    "minimax": "https://api.minimax.io/v1",
    "mistral": "https://api.mistral.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "together_ai": "https://api.together.ai/v1",
    "xai": "https://api.x.ai/v1",
}

ADDRESSES = {**_BY_OPENAI_CLIENT, **_BY_ANOTHER_CLIENT}
"""litellm's name of a provider -> its base URL as litellm takes it."""

_OPENAI_CLIENT_SENDS = (
    "OPENAI_ORGANIZATION",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
    "OPENAI_CUSTOM_HEADERS",  # these may even be other keys
)
_DETOUR = "USE_LITELLM_PROXY"


def sent_along(provider: str, environ: Mapping[str, str]) -> str | None:
    """Return a variable of the environment that litellm would let take part in a request, or None.

    Nothing that is passed to litellm stops it: OpenAI's client, which litellm uses for many providers,
    sends an organisation, a project and headers of its own accord, and a detour by a proxy of litellm's
    can be set for all of them.

    Args:
        provider: Who is called.
        environ: The environment.
    """
    if environ.get(_DETOUR, "").strip().lower() == "true":
        return _DETOUR
    if provider in _BY_ANOTHER_CLIENT:
        return None
    return next((name for name in _OPENAI_CLIENT_SENDS if environ.get(name)), None)
