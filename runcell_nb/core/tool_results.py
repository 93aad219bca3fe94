"""From what a host tool returns to what the model reads (FACTS 5)."""

from __future__ import annotations

from typing import Any

from .jsontext import compact_json, scrub
from .messages import ImageBlock, TextBlock, ToolResultBlock
from .outcome import ToolFailure, ToolOutcome
from .tool_content import is_tool_content


def outcome_of(value: Any) -> ToolOutcome:
    """Turn a returned value into an outcome; never cut.

    Args:
        value: Tool content gives its blocks, a string itself, anything else compact JSON.

    Raises:
        ToolFailure: The value has no JSON form.
    """
    if isinstance(value, str):
        return ToolOutcome((TextBlock(text=scrub(value)),), value)
    if is_tool_content(value):
        parts = [dict(part) for part in value["content"]]
        return ToolOutcome(tuple(_block(part) for part in parts), parts)
    try:
        text = compact_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolFailure(f"The tool returned a value that has no JSON form: {error}.") from error
    return ToolOutcome((TextBlock(text=text),), value)


def outcome_of_block(result: ToolResultBlock) -> ToolOutcome:
    """Return the outcome of a call whose result was kept; events show what the model reads."""
    if all(isinstance(block, TextBlock) for block in result.content):
        text = "\n".join(block.text for block in result.content if isinstance(block, TextBlock))
        return ToolOutcome(result.content, text, result.is_error)
    parts = [block.model_dump(by_alias=True) for block in result.content]
    return ToolOutcome(result.content, parts, result.is_error)


def _block(part: dict[str, Any]) -> TextBlock | ImageBlock:
    if part["type"] == "text":
        return TextBlock(text=scrub(part["text"]))
    return ImageBlock(data=part["data"], media_type=part["mediaType"])
