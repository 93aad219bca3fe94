"""The gateway of the offline demo: the next tool call, or the answer, from the conversation alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

from runcell_nb.core.gateway import FinishDelta, ModelDelta, ModelInfo, ModelRequest, TextDelta, ToolCallDelta
from runcell_nb.core.jsontext import scrub
from runcell_nb.core.messages import AssistantMessage, Message, TextBlock, ToolMessage, UserMessage
from runcell_nb.core.usage import RequestUsage

from .plan import Scene, plan_for, scene_after
from .slots import Refusal
from .work import Call, Reply, Stop, Work

NOTE = "an offline demo: a table of plain requests, not a language model"
"""What a person should see beside the model's name."""

_CHARACTERS_PER_TOKEN = 4
_PIECE = 24
_MOST_PIECES = 200


class DemoModel:
    """A model gateway that needs no key, no network and no model, and keeps no state.

    What it has done in a run it reads from the tool results after the last user message; what "it"
    means, from the earlier prompts.
    """

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """Answer one request.

        Args:
            request: The conversation and the tools; nothing else of it is looked at.

        Yields:
            One tool call, or the answer in small pieces; then a `FinishDelta`.
        """
        move = next_move(request)
        if isinstance(move, Call):
            arguments = json.dumps(move.arguments, ensure_ascii=False)
            yield ToolCallDelta(id=f"demo_{len(request.messages)}", name=move.tool, arguments=arguments)
            yield FinishDelta("tool-calls", _usage(request, arguments))
            return
        text = scrub(move)
        size = max(_PIECE, len(text) // _MOST_PIECES)
        for start in range(0, len(text), size):
            yield TextDelta(text[start : start + size])
            await asyncio.sleep(0)  # lets a view draw and a stop button be heard
        yield FinishDelta("stop", _usage(request, text))

    async def describe(self, name: str) -> ModelInfo:
        """Describe the demo, whatever the name."""
        return ModelInfo(name=name, supports_images=False, supports_thinking=False, local=True, note=NOTE)


def next_move(request: ModelRequest) -> Call | str:
    """Return the tool call that comes next, or the answer."""
    prompts = [place for place, message in enumerate(request.messages) if isinstance(message, UserMessage)]
    texts = [_text(request.messages[place]) for place in prompts]
    if not texts:
        return ""
    try:
        plan = plan_for(texts[-1], scene_after(texts[:-1], Scene(tools=request.tools)))
    except Refusal as refusal:
        return f"{str(refusal).rstrip('.')}. Nothing was changed."
    if isinstance(plan, str):
        return plan
    replies = _replies(request.messages[prompts[-1] + 1 :])
    return _continued(plan.work(), replies, {tool.name for tool in request.tools})


def _continued(work: Work, replies: Sequence[Reply], tools: set[str]) -> Call | str:
    """Run the work again over the results that are there; return its next call, or what it says."""
    waiting = iter(replies)
    try:
        call = next(work)
        while True:
            if call.tool not in tools:
                call = work.throw(Stop(f"That needs the tool {call.tool}, which this agent does not have."))
                continue
            reply = next(waiting, None)
            if reply is None:
                return call
            call = work.send(reply)
    except StopIteration as end:
        return str(end.value.text)


def _replies(messages: Sequence[Message]) -> list[Reply]:
    return [
        Reply("".join(part.text for part in block.content if isinstance(part, TextBlock)), block.is_error)
        for message in messages
        if isinstance(message, ToolMessage)
        for block in message.content
    ]


def _text(message: Message) -> str:
    return "\n".join(part.text for part in message.content if isinstance(part, TextBlock))


def _usage(request: ModelRequest, answer: str) -> RequestUsage:
    """Count four characters as a token: a rough count, said to be local."""
    size = len(request.system or "") + sum(_size(message) for message in request.messages)
    return RequestUsage(input_tokens=_tokens(size), output_tokens=_tokens(len(answer)), source="local")


def _size(message: Message) -> int:
    if isinstance(message, ToolMessage):
        return sum(len(reply.text) for reply in _replies([message]))
    calls = message.calls if isinstance(message, AssistantMessage) else []
    return len(_text(message)) + sum(len(call.name) + len(call.arguments) for call in calls)


def _tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_PER_TOKEN)
