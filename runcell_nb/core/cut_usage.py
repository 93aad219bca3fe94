"""What a request used that never told: its stream was cut, but the provider has counted all the same."""

from __future__ import annotations

from collections.abc import Iterable

from .gateway import ModelInfo, ModelRequest
from .messages import ImageBlock, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock
from .usage import RequestUsage

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English text; good enough to tell a cent from a dollar, and no more is claimed."""

_TOKENS_PER_IMAGE = 1000


def estimated_usage(request: ModelRequest, info: ModelInfo, answer_characters: int) -> RequestUsage:
    """Estimate the usage of a cut request.

    Args:
        request: As it was sent.
        info: Prices per token, and whether the model is local.
        answer_characters: How much of the answer had arrived.
    """
    tools = sum(len(spec.description) + len(str(spec.parameters)) for spec in request.tools)
    blocks = (block for message in request.messages for block in message.content)
    sent = len(request.system or "") + tools + characters_of(blocks)
    input_tokens, output_tokens = (
        sent // CHARACTERS_PER_TOKEN,
        -(-answer_characters // CHARACTERS_PER_TOKEN),
    )
    if info.local:
        return RequestUsage(input_tokens, output_tokens, source="local")
    cost = input_tokens * (info.input_price or 0) + output_tokens * (info.output_price or 0)
    return RequestUsage(input_tokens, output_tokens, cost_usd=cost, priced=cost > 0, source="estimated")


def characters_of(
    blocks: Iterable[TextBlock | ImageBlock | ReasoningBlock | ToolCallBlock | ToolResultBlock],
) -> int:
    """Return the size of what a message holds, an image counted as the text of as many tokens."""
    total = 0
    for block in blocks:
        match block:
            case TextBlock() | ReasoningBlock():
                total += len(block.text)
            case ToolCallBlock():
                total += len(block.name) + len(block.arguments)
            case ToolResultBlock():
                total += characters_of(block.content)
            case ImageBlock():
                total += _TOKENS_PER_IMAGE * CHARACTERS_PER_TOKEN
    return total
