"""Our message log in the shape that litellm takes, which is that of OpenAI's chat API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runcell_nb.core.gateway import ThinkingLevel, ToolSpec
from runcell_nb.core.messages import (
    AssistantMessage,
    ImageBlock,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    UserMessage,
)

_TAKES_IMAGES_IN_RESULTS = frozenset({"anthropic"})
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}


def wire_messages(system: str | None, messages: Sequence[Message], provider: str) -> list[dict[str, Any]]:
    """Return the conversation as litellm takes it.

    Args:
        system: System prompt; None for none.
        messages: A valid log.
        provider: Who gets it: decides where images of tool results go and whose reasoning goes back.
    """
    wire: list[dict[str, Any]] = []
    if system:
        wire.append({"role": "system", "content": system})
    for message in messages:
        match message:
            case UserMessage():
                wire.append({"role": "user", "content": _content(message.content)})
            case AssistantMessage():
                wire.extend(_assistant(message, provider))
            case ToolMessage():
                wire.extend(_tool_results(message, provider))
    return wire


def wire_tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """Return the tools as litellm takes them.

    Providers refuse parameters that lack the type or the properties of an object, also where there are none.
    """
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": {**_NO_PARAMETERS, **tool.parameters},
            },
        }
        for tool in tools
    ]


def reasoning_effort(
    level: ThinkingLevel | None, info: Mapping[str, Any], messages: Sequence[Message], provider: str
) -> str | None:
    """Return the effort to ask for, or None to send nothing.

    Args:
        level: What the run asks for.
        info: litellm's data about the model; a model that is not known to think is asked for nothing.
        messages: The conversation.
        provider: Who gets it.
    """
    if level is None or not info.get("supports_reasoning") or not _may_think(messages, provider):
        return None
    if level == "off":
        return "none" if info.get("supports_none_reasoning_effort") else None
    if level == "minimal":
        return "minimal" if info.get("supports_minimal_reasoning_effort") else "low"
    if level == "xhigh":
        return "xhigh" if info.get("supports_xhigh_reasoning_effort") else "high"
    return level


def _may_think(messages: Sequence[Message], provider: str) -> bool:
    """Anthropic refuses to think on when the calls being answered came without signed thinking."""
    if provider != "anthropic" or len(messages) < 2 or not isinstance(messages[-1], ToolMessage):
        return True
    asked = messages[-2]
    return not isinstance(asked, AssistantMessage) or bool(_thinking_blocks(asked, provider))


def _content(blocks: Sequence[TextBlock | ImageBlock]) -> str | list[dict[str, Any]]:
    """Text alone goes as a string, which every provider takes; with images as a list of parts."""
    if len(blocks) == 1 and isinstance(blocks[0], TextBlock):
        return blocks[0].text
    return [_part(block) for block in blocks]


def _part(block: TextBlock | ImageBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": f"data:{block.media_type};base64,{block.data}"}}


def _assistant(message: AssistantMessage, provider: str) -> Iterable[dict[str, Any]]:
    """Yield the message, or nothing when it holds only what this provider does not take back."""
    text = "".join(block.text for block in message.content if isinstance(block, TextBlock))
    calls = [_call(block) for block in message.calls]
    thinking = _thinking_blocks(message, provider)
    if not (text or calls or thinking):
        return
    wire: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        wire["tool_calls"] = calls
    if thinking:
        wire["thinking_blocks"] = thinking
    yield wire


def _call(block: ToolCallBlock) -> dict[str, Any]:
    return {
        "id": block.id,
        "type": "function",
        "function": {"name": block.name, "arguments": block.arguments},
    }


def _thinking_blocks(message: AssistantMessage, provider: str) -> list[dict[str, Any]]:
    """Return the signed thinking that this provider wrote; nobody else's is readable to it."""
    return [
        _with_text(block.provider["block"], block.text)
        for block in message.content
        if isinstance(block, ReasoningBlock)
        and block.provider is not None
        and block.provider.get("provider") == provider
        and isinstance(block.provider.get("block"), dict)
    ]


def _with_text(block: dict[str, Any], text: str) -> dict[str, Any]:
    return {**block, "thinking": text} if block.get("type") == "thinking" else block


def _tool_results(message: ToolMessage, provider: str) -> Iterable[dict[str, Any]]:
    """Yield one tool message a result, then their images where tool messages take none."""
    images: list[dict[str, Any]] = []
    for result in message.content:
        if provider in _TAKES_IMAGES_IN_RESULTS:
            yield _tool_message(result, _content(result.content) if result.content else "")
        else:
            texts = [block.text for block in result.content if isinstance(block, TextBlock)]
            pictures = [_part(block) for block in result.content if isinstance(block, ImageBlock)]
            if pictures:
                texts.append("(its images follow in the next message)")
                label = f"Images from tool call {result.call_id} ({result.name}):"
                images += [{"type": "text", "text": label}, *pictures]
            yield _tool_message(result, "\n".join(texts))
    if images:
        yield {"role": "user", "content": images}


def _tool_message(result: ToolResultBlock, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": result.call_id, "name": result.name, "content": content}
