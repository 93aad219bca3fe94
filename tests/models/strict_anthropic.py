"""The rules of Anthropic's messages, each refused as the provider refuses it.

*Documented*: stated in the API reference or its guides. *Observed*: answered with 400 by the provider, as
its users report.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .strict_json import NAME, check_body, check_image, check_schema, has_text, require

MIN_BUDGET = 1024
"""Tokens of thinking (documented)."""

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_THINKING = ("thinking", "redacted_thinking")


def signature_of(thinking: str, before: Sequence[str] = ()) -> str:
    """Sign thinking as this fake does: over its text and the kinds of the blocks before it."""
    return hashlib.sha256("|".join([*before, thinking]).encode()).hexdigest()


def check_anthropic(body: Mapping[str, Any]) -> None:
    """Refuse a request that the provider would answer with 400.

    Raises:
        RefusedError: With the provider's reason.
    """
    check_body(body)
    require(body.get("model"), "model: Field required")
    most = body.get("max_tokens")
    require(isinstance(most, int) and most > 0, "max_tokens: Field required")  # documented
    _check_thinking_option(body)
    _check_tools(body.get("tools", []))
    if "system" in body:
        system = body["system"]
        blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
        require(blocks, "system: List should have at least 1 item")
        for block in blocks:
            require(has_text(block.get("text")), "system: text content blocks must be non-empty")  # observed
    thinks = body.get("thinking", {}).get("type") == "enabled"  # "adaptive" asks less (documented)
    check_messages(body.get("messages"), thinks=thinks)


def check_messages(messages: Any, *, thinks: bool = False) -> None:
    """Refuse a conversation that breaks a rule; its own part, for conversations without a request.

    Args:
        messages: User and assistant messages.
        thinks: Whether the request asks for thinking by a budget.
    """
    require(isinstance(messages, list) and messages, "messages: at least one message is required")
    seen: set[str] = set()
    waiting: list[str] = []
    for number, message in enumerate(messages):
        # Documented; turns of one role in a row are put together today, and were refused before.
        expected = "assistant" if number % 2 else "user"
        require(message.get("role") == expected, f"messages.{number}.role: expected {expected!r}")
        blocks = _blocks(message.get("content"), f"messages.{number}")
        if expected == "user":
            _check_user(blocks, waiting, f"messages.{number}")
            waiting = []
        else:
            waiting = _check_assistant(blocks, seen, f"messages.{number}")
    require(len(messages) % 2, "The conversation must end with a user message.")  # observed, newer models
    if len(messages) > 1:
        _check_latest_thinking(_blocks(messages[-2]["content"], "messages"), len(messages) - 2, thinks)


def _check_thinking_option(body: Mapping[str, Any]) -> None:
    thinking = body.get("thinking", {})
    if thinking.get("type") == "enabled":  # all documented
        budget = thinking.get("budget_tokens", 0)
        require(budget >= MIN_BUDGET, f"thinking.budget_tokens: should be at least {MIN_BUDGET}")
        require(body["max_tokens"] > budget, "`max_tokens` must be greater than `thinking.budget_tokens`")
        require(body.get("temperature", 1) == 1, "`temperature` may only be set to 1 when thinking")
        forced = body.get("tool_choice", {}).get("type") in ("any", "tool")
        require(not forced, "Thinking may not be enabled when tool_choice forces tool use.")


def _check_tools(tools: Sequence[Mapping[str, Any]]) -> None:
    names = [tool.get("name") for tool in tools]
    require(len(set(names)) == len(names), "tools: Tool names must be unique.")
    for number, tool in enumerate(tools):
        require(NAME.fullmatch(str(tool.get("name"))), f"tools.{number}.name: should match pattern")
        check_schema(tool.get("input_schema"), f"tools.{number}.input_schema")


def _blocks(content: Any, where: str) -> list[Mapping[str, Any]]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    require(
        isinstance(blocks, list) and blocks, f"{where}: all messages must have non-empty content"
    )  # observed
    return list(blocks)


def _check_user(blocks: Sequence[Mapping[str, Any]], waiting: Sequence[str], where: str) -> None:
    results = [block for block in blocks if block.get("type") == "tool_result"]
    answered = [block.get("tool_use_id") for block in results]
    # Observed, all three; that results come first in their message is documented.
    require(set(answered) <= set(waiting), f"{where}: unexpected `tool_use_id` found in `tool_result` blocks")
    require(len(set(answered)) == len(answered), f"{where}: each tool_use must have a single result")
    require(
        set(waiting) <= set(answered),
        f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after",
    )
    require(list(blocks[: len(results)]) == results, f"{where}: `tool_result` blocks must come first")
    for number, block in enumerate(blocks):
        place = f"{where}.content.{number}"
        if block.get("type") == "tool_result":
            _check_result(block, place)
        else:
            _check_shown(block, place)


def _check_result(block: Mapping[str, Any], where: str) -> None:
    content = block.get("content", "")
    if block.get("is_error"):  # observed
        require(content, f"{where}: content cannot be empty if `is_error` is true")
        texts = isinstance(content, str) or all(part.get("type") == "text" for part in content)
        require(texts, f"{where}: all content must be type text if `is_error` is true")
    if isinstance(content, list):
        for part in content:
            _check_shown(part, where)


def _check_shown(block: Mapping[str, Any], where: str) -> None:
    """Check text or an image, in a message of the user or in a result."""
    if block.get("type") == "image":
        source = block["source"]
        require(source.get("type") == "base64", f"{where}.source.type: expected 'base64'")
        check_image(source.get("media_type"), source.get("data"), f"{where}.source")
    else:
        require(block.get("type") == "text", f"{where}.type: unexpected {block.get('type')!r}")
        # Observed: "must be non-empty" at first, "must contain non-whitespace text" since.
        require(has_text(block.get("text")), f"{where}: text content blocks must contain non-whitespace text")


def _check_assistant(blocks: Sequence[Mapping[str, Any]], seen: set[str], where: str) -> list[str]:
    """Check a message of the model and return the ids that wait for a result."""
    waiting: list[str] = []
    for number, block in enumerate(blocks):
        place = f"{where}.content.{number}"
        if block.get("type") in _THINKING:
            _check_thinking(block, place)
        elif block.get("type") == "tool_use":
            waiting.append(_check_call(block, seen, place))
        else:
            require(block.get("type") == "text", f"{place}.type: unexpected {block.get('type')!r}")
            require(has_text(block.get("text")), f"{place}: text content blocks must be non-empty")
    return waiting


def _check_call(block: Mapping[str, Any], seen: set[str], where: str) -> str:
    call_id = str(block.get("id"))
    require(_ID.fullmatch(call_id), f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    require(call_id not in seen, f"{where}: `tool_use` ids must be unique")  # observed, like the pattern
    seen.add(call_id)
    require(NAME.fullmatch(str(block.get("name"))), f"{where}.tool_use.name: String should match pattern")
    require(isinstance(block.get("input"), dict), f"{where}.tool_use.input: Input should be an object")
    return call_id


def _check_thinking(block: Mapping[str, Any], where: str) -> None:
    kept = block.get("signature") if block["type"] == "thinking" else block.get("data")
    require(kept, f"{where}: Field required")
    require("thinking" in block or block["type"] != "thinking", f"{where}.thinking: Field required")


def _check_latest_thinking(blocks: Sequence[Mapping[str, Any]], number: int, thinks: bool) -> None:
    """Thinking of the latest message comes back first and unmodified, in its place (documented, observed)."""
    kinds = [block["type"] for block in blocks]
    for place, block in enumerate(blocks):
        if block["type"] == "thinking":
            right = block["signature"] == signature_of(block["thinking"], kinds[:place])
            require(right, f"messages.{number}.content.{place}: `thinking` blocks cannot be modified")
    if thinks and "tool_use" in kinds:
        require(
            kinds[0] in _THINKING,
            f"messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{kinds[0]}`. When `thinking` is enabled, a final `assistant` message must start with a "
            "thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).",
        )
