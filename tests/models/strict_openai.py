"""The rules of OpenAI's chat completions, each refused as the provider refuses it.

*Documented*: stated in the API reference. *Observed*: answered with 400 by the provider, as its users
report. *Compatible*: taken by OpenAI itself, refused by servers that speak its format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .strict_json import NAME, check_body, check_image, check_schema, has_text, require

MAX_CALLS = 128
"""Tool calls of one message (observed: "array too long")."""

MAX_ID = 40
"""Characters of a call's id (observed: "string too long")."""

MAX_TOOLS = 128
"""Documented."""

_DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)


def check_openai(body: Mapping[str, Any]) -> None:
    """Refuse a request that the provider would answer with 400.

    Raises:
        RefusedError: With the provider's reason.
    """
    check_body(body)
    require(body.get("model"), "you must provide a model parameter")
    _check_tools(body.get("tools", []))
    check_messages(body.get("messages"))


def check_messages(messages: Any) -> None:
    """Refuse a conversation that breaks a rule; its own part, for conversations without a request."""
    require(isinstance(messages, list) and messages, "[] is too short - 'messages'")
    open_calls: dict[str, int] = {}
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        require(isinstance(message, Mapping), f"Invalid type for '{where}': expected an object")
        role = message.get("role")
        if role == "tool":
            _check_result(message, open_calls, where)
            continue
        # Observed.
        require(
            not open_calls,
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {[*open_calls]}",
        )
        require(role in ("system", "user", "assistant"), f"Invalid value for '{where}.role': {role!r}")
        if role == "assistant":
            open_calls = _check_assistant(message, where)
        else:
            _check_content(message.get("content"), where, images=role == "user")
    require(not open_calls, f"The following tool_call_ids did not have response messages: {[*open_calls]}")


def _check_tools(tools: Any) -> None:
    require(isinstance(tools, list) and len(tools) <= MAX_TOOLS, "Invalid 'tools': array too long")
    names = [tool["function"]["name"] for tool in tools]
    require(len(set(names)) == len(names), "Invalid 'tools': names must be unique")
    for number, tool in enumerate(tools):
        where, function = f"tools[{number}].function", tool["function"]
        require(NAME.fullmatch(function["name"]), f"Invalid '{where}.name': string does not match pattern")
        require(isinstance(function.get("description", ""), str), f"Invalid type for '{where}.description'")
        check_schema(function["parameters"], f"{where}.parameters")


def _check_assistant(message: Mapping[str, Any], where: str) -> dict[str, int]:
    """Check an assistant message and return the ids that wait for a result."""
    calls = message.get("tool_calls")
    require(calls is None or calls, f"Invalid '{where}.tool_calls': empty array")  # observed
    if message.get("content") is not None or not calls:  # documented: required unless there are calls
        _check_content(message.get("content"), where, images=False)
    require(len(calls or ()) <= MAX_CALLS, f"Invalid '{where}.tool_calls': array too long")
    ids = [_check_call(call, f"{where}.tool_calls[{number}]") for number, call in enumerate(calls or ())]
    require(len(set(ids)) == len(ids), f"Duplicate value for 'tool_call_id' in {where}")
    return dict.fromkeys(ids, 0)


def _check_call(call: Mapping[str, Any], where: str) -> str:
    require(call.get("type") == "function", f"Invalid value for '{where}.type'")
    call_id, function = call.get("id"), call["function"]
    require(isinstance(call_id, str) and call_id, f"Missing required parameter: '{where}.id'")
    require(len(str(call_id)) <= MAX_ID, f"Invalid '{where}.id': string too long")
    require(NAME.fullmatch(str(function.get("name"))), f"Invalid '{where}.function.name'")  # observed
    require(isinstance(function.get("arguments"), str), f"Invalid type for '{where}.function.arguments'")
    try:  # compatible: chat templates and other APIs behind this format parse it
        arguments = json.loads(function["arguments"])
        check_body(arguments)
    except (ValueError, RecursionError):
        arguments = None
    require(isinstance(arguments, dict), f"Invalid '{where}.function.arguments': not a JSON object")
    return str(call_id)


def _check_result(message: Mapping[str, Any], open_calls: dict[str, int], where: str) -> None:
    call_id = message.get("tool_call_id")
    # Observed.
    require(
        call_id in open_calls,
        f"Invalid parameter: {where} with role 'tool' must be a response to a preceding message with "
        "'tool_calls'.",
    )
    del open_calls[str(call_id)]
    content = message.get("content")
    if content != "":  # a tool may have nothing to say
        _check_content(content, where, images=False, blank=True)


def _check_content(content: Any, where: str, *, images: bool, blank: bool = False) -> None:
    """Check text or a list of parts.

    Args:
        content: What the message says.
        where: Its place in the request.
        images: Whether parts may be images, which only users may send (observed).
        blank: Whether the text may be nothing but blanks.
    """
    if isinstance(content, str):
        require(blank or content.strip(), f"Invalid '{where}.content': empty")  # compatible
        return
    require(isinstance(content, Sequence) and content, f"Invalid value for '{where}.content': {content!r}")
    for number, part in enumerate(content):
        place = f"{where}.content[{number}]"
        if part.get("type") == "image_url":
            require(images, f"Invalid '{where}'. Image URLs are only allowed for messages with role 'user'")
            url = _DATA_URL.fullmatch(part["image_url"]["url"])
            require(url, f"Invalid '{place}.image_url.url': not a data URL")
            assert url is not None
            check_image(url[1], url[2], place)
        else:
            require(part.get("type") == "text", f"Invalid value for '{place}.type'")
            require(has_text(part.get("text")), f"Invalid '{place}.text': empty")  # compatible
