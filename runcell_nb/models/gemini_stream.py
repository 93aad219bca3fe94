"""What litellm leaves out of Gemini's streams: how the provider itself ended them.

litellm gives every chunk of a Gemini response the ending "stop", so that a stream which was cut looks like a
whole one, and it gives the same ending to a response that went wrong.
"""

from __future__ import annotations

from typing import Any

SPEAKS_GEMINI = frozenset({"gemini", "vertex_ai", "vertex_ai_beta"})
"""litellm's names for who answers in Gemini's format. It hands their streams over before it has connected."""

_NAME_OF_STREAM = "vertex_ai_beta"
"""What litellm calls the provider of such a stream, whoever it is."""

_FAILED = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "MISSING_THOUGHT_SIGNATURE",
        "TOO_MANY_TOOL_CALLS",
        "UNEXPECTED_TOOL_CALL",
    }
)
"""Endings of a response that is no answer: the model wrote something that Gemini could not read."""


class GeminiEnding:
    """Watches the chunks of one stream as they come from the provider.

    Attributes:
        reason: Gemini's own word for the ending; None before it has come.
    """

    def __init__(self, stream: Any) -> None:
        """Start to watch.

        Args:
            stream: litellm's stream, from which nothing was read.
        """
        self.reason: str | None = None
        self._connect = stream.make_call
        stream.make_call = self._watched

    @classmethod
    def of(cls, stream: Any) -> GeminiEnding | None:
        """Return a watch over a stream of Gemini's; None for any other, such as that of Claude on Vertex."""
        named = getattr(stream, "custom_llm_provider", None) == _NAME_OF_STREAM
        return cls(stream) if named and getattr(stream, "make_call", None) is not None else None

    @property
    def failed(self) -> bool:
        """Whether the response ended without being an answer."""
        return self.reason in _FAILED

    async def _watched(self, **arguments: Any) -> Any:
        chunks = await self._connect(**arguments)
        parse = chunks.chunk_parser

        def watch(chunk: dict[str, Any]) -> Any:
            self._look_at(chunk)
            return parse(chunk=chunk)

        chunks.chunk_parser = watch
        return chunks

    def _look_at(self, chunk: dict[str, Any]) -> None:
        self.reason = (chunk.get("promptFeedback") or {}).get("blockReason") or self.reason
        for candidate in chunk.get("candidates") or ():
            self.reason = candidate.get("finishReason") or self.reason
            for part in (candidate.get("content") or {}).get("parts") or ():
                if "functionCall" in part:
                    part["functionCall"].setdefault("args", {})  # optional, but litellm fails without it
