"""Our message log in the shape that litellm takes, which is that of OpenAI's chat API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from runcell_nb.core.gateway import ToolSpec
from runcell_nb.core.jsontext import scrub, scrubbed
from runcell_nb.core.message_log import parse_arguments
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

from .gemini_stream import SPEAKS_GEMINI

_TAKES_IMAGES_IN_RESULTS = frozenset({"anthropic", "gemini"})

_SENDS_EQUAL_CALLS_ONCE = SPEAKS_GEMINI
"""For whom litellm leaves out a call that is equal to another of its response, but not the result of it,
and the older models refuse a result without a call."""

_WANTS_THINKING_IN_PLACE = frozenset({"anthropic"})
"""Who takes thinking between texts back only where it was; alone, litellm puts it before all text."""

# Gemini signs a call or a text instead of its thinking and wants the signature back with it. It is kept as
# the data of a reasoning block before the call, or beside the text.
CALL_SIGNATURE = "call_signature"
TEXT_SIGNATURE = "text_signature"

_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}


def wire_messages(system: str | None, messages: Sequence[Message], provider: str) -> list[dict[str, Any]]:
    """Return the conversation as litellm takes it.

    Args:
        system: System prompt; None for none.
        messages: A valid log.
        provider: Who gets it: decides where images of tool results go and whose reasoning goes back.
    """
    wire: list[dict[str, Any]] = []
    left_out: frozenset[str] = frozenset()
    if system:
        wire.append({"role": "system", "content": scrub(system)})
    for message in messages:
        match message:
            case UserMessage():
                wire.append({"role": "user", "content": _content(message.content)})
            case AssistantMessage():
                left_out = _repeated(message) if provider in _SENDS_EQUAL_CALLS_ONCE else frozenset()
                wire.extend(_assistant(message, provider, left_out))
            case ToolMessage():
                wire.extend(_tool_results(message, provider, left_out))
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
                "description": scrub(tool.description),
                "parameters": {**_NO_PARAMETERS, **scrubbed(tool.parameters)},
            },
        }
        for tool in tools
    ]


def _content(blocks: Sequence[TextBlock | ImageBlock]) -> str | list[dict[str, Any]]:
    """Text alone goes as a string, which every provider takes; with images as a list of parts."""
    if len(blocks) == 1 and isinstance(blocks[0], TextBlock):
        return blocks[0].text
    return [_part(block) for block in blocks]


def _part(block: TextBlock | ImageBlock) -> dict[str, Any]:
    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    return {"type": "image_url", "image_url": {"url": f"data:{block.media_type};base64,{block.data}"}}


def _repeated(message: AssistantMessage) -> frozenset[str]:
    """Return the ids of the calls that are equal to one before them in the same response."""
    seen: list[tuple[str, Any]] = []
    repeated = set()
    for call in message.calls:
        asked = (call.name, parse_arguments(call.arguments))
        if asked in seen:
            repeated.add(call.id)
        seen.append(asked)
    return frozenset(repeated)


def _assistant(
    message: AssistantMessage, provider: str, left_out: frozenset[str]
) -> Iterable[dict[str, Any]]:
    """Yield the message, or nothing when it holds only what this provider does not take back."""
    text = "".join(block.text for block in message.content if isinstance(block, TextBlock))
    wire: dict[str, Any] = {"role": "assistant", "content": text or None}
    calls: list[dict[str, Any]] = []
    thinking: list[dict[str, Any]] = []
    in_order: list[dict[str, Any]] = []
    signature: dict[str, Any] = {}
    for block in message.content:
        if isinstance(block, ToolCallBlock):
            if block.id not in left_out:
                calls.append(_call(block) | signature)
            signature = {}
        elif isinstance(block, TextBlock):
            in_order.append(_part(block))
        else:
            own = own_block(block, provider)
            if own.get("type") == CALL_SIGNATURE:
                signature = {"provider_specific_fields": {"thought_signature": own["signature"]}}
            elif own.get("type") == TEXT_SIGNATURE:
                wire["provider_specific_fields"] = {"thought_signatures": [own["signature"]]}
            elif own:
                thinking.append(_with_text(own, block.text))
                in_order.append(thinking[-1])
    if not (text or calls or thinking):
        return
    if calls:
        wire["tool_calls"] = calls
    if thinking:
        wire["thinking_blocks"] = thinking
        if provider in _WANTS_THINKING_IN_PLACE:
            wire["content"] = in_order
    yield wire


def _call(block: ToolCallBlock) -> dict[str, Any]:
    return {
        "id": block.id,
        "type": "function",
        "function": {"name": block.name, "arguments": block.arguments},
    }


def own_block(block: ReasoningBlock, provider: str) -> dict[str, Any]:
    """Return what this provider wrote and wants back, or nothing.

    Nobody else's is readable to it, and it refuses what it has not signed, as in a journal that was edited.
    """
    written = block.provider or {}
    own = written.get("block")
    if written.get("provider") != provider or not isinstance(own, dict):
        return {}
    return own if own.get("signature") or own.get("data") else {}


def _with_text(block: dict[str, Any], text: str) -> dict[str, Any]:
    return {**block, "thinking": text} if block.get("type") == "thinking" else block


def _tool_results(message: ToolMessage, provider: str, left_out: frozenset[str]) -> Iterable[dict[str, Any]]:
    """Yield one tool message a result, then their images where tool messages take none."""
    images: list[dict[str, Any]] = []
    for result in message.content:
        if result.call_id in left_out:
            continue
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
