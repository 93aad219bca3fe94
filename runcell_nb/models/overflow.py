"""How providers say that a conversation does not fit; there is no common code for it."""

from __future__ import annotations

import re

_TOO_LARGE = 413

_OF_MODEL = r"(?:the |its |your |model's |available |maximum |configured )*"

_WORDINGS = re.compile(
    "|".join(
        (
            r"context_length_exceeded",  # OpenAI's code, which compatible servers copy
            r"maximum context length",  # OpenAI, vLLM, DeepSeek, Mistral, OpenRouter
            rf"exceeds? {_OF_MODEL}context",  # OpenAI, Anthropic, llama.cpp, Ollama
            rf"(?:longer|greater|larger) than {_OF_MODEL}(?:context|model length)",  # vLLM, LM Studio
            r"context (?:the )?overflows",  # LM Studio
            r"exceed_context_size",  # llama.cpp's type
            r"prompt (?:is )?too long",  # Anthropic, Ollama
            r"request_too_large",  # Anthropic: more bytes than it reads
            r"input token count\b.{0,40}exceeds the maximum",  # Gemini
            r"request too large for",  # OpenAI, Groq: more at once than a whole minute allows
            r"input is too long for requested model|too many input tokens",  # Bedrock
            r"maximum prompt length",  # xAI
            r"too many tokens: ",  # Cohere
            r"current length is \d+ while limit is",  # Cerebras
        )
    ),
    re.IGNORECASE,
)


def is_overflow(text: str, status: int | None) -> bool:
    """Return whether an error says that the request is larger than the model or its provider takes.

    Args:
        text: Everything that the provider said.
        status: HTTP status; None when unknown.
    """
    return status == _TOO_LARGE or _WORDINGS.search(text) is not None
