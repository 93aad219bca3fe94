"""Whole agents over litellm and the strict fake: what the tests of histories share."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from runcell_nb import Agent, Thread, ToolDefinition, create_agent, thread_from_dict, tool_content

from .strict_json import PIXEL
from .strict_provider import Piece, StrictProvider, anthropic_answer, openai_answer

MODELS = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-sonnet-4-5"}
ANSWERS: dict[str, Callable[..., list[Any]]] = {"openai": openai_answer, "anthropic": anthropic_answer}
OTHER = {"openai": "anthropic", "anthropic": "openai"}
LONE = "\ud800"

Says = tuple[str, tuple[Piece, ...]]
"""A format and the pieces of one response in it."""


@asynccontextmanager
async def strict(monkeypatch: pytest.MonkeyPatch, *responses: Says) -> AsyncIterator[StrictProvider]:
    """Serve responses to both formats, and see that nothing was refused and everything was asked for."""
    async with StrictProvider([ANSWERS[name](*pieces) for name, pieces in responses]) as server:
        for name, suffix in (("OPENAI", "/v1"), ("ANTHROPIC", "")):
            monkeypatch.setenv(f"{name}_API_KEY", "none")
            monkeypatch.setenv(f"{name}_BASE_URL", server.url + suffix)
        yield server
        assert server.refusals == []
        assert len(server.requests) == len(responses)


def picture() -> dict[str, Any]:
    """Show a picture between texts."""
    image = {"type": "image", "data": base64.b64decode(PIXEL), "media_type": "image/png"}
    blank = {"type": "text", "text": " \n"}
    return tool_content(
        [{"type": "text", "text": "In front"}, image, blank, {"type": "text", "text": "Behind"}]
    )


def fails() -> str:
    """Raise an error without words."""
    raise ValueError


TOOLS = {
    "picture": picture,
    "fails": fails,
    "nothing": lambda: "",
    "blanks": lambda: " \n\t",
    "null": lambda: None,
    "echo": ToolDefinition(
        description=f"Give the text back with a {LONE}.",
        schema={"type": "object", "properties": {"text": {"description": LONE}}},
        execute=lambda value: f"{value.get('text')}{LONE}",
    ),
}


def agent(name: str, **more: Any) -> Agent:
    return create_agent(MODELS[name], tools=TOOLS, system_prompt=f"Be brief{LONE}.", **more)


def saved(thread: Thread) -> Thread:
    """The thread after a file, written as notebooks are: UTF-8 without escapes."""
    text = json.dumps(thread.to_dict(), ensure_ascii=False).encode("utf-8")
    return thread_from_dict(json.loads(text))
