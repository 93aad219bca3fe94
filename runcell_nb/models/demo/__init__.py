"""`local/demo`: an offline demo that answers plain file requests from a table. It is not a language model.

From a conversation alone it finds the next tool call or the answer: `commands` splits a prompt, `table` says
what each command is, with `kinds`, `phrases` and `host_tools`, and `steps` does it with the ordinary tools.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence

from runcell_nb.core.gateway import FinishDelta, ModelDelta, ModelInfo, ModelRequest, TextDelta, ToolCallDelta
from runcell_nb.core.jsontext import scrub
from runcell_nb.core.messages import Message, TextBlock, ToolMessage, UserMessage
from runcell_nb.core.usage import RequestUsage

from .commands import MAX_COMMAND, canonical, commands
from .host_tools import host_step
from .phrases import Scene, Stop, Unclear
from .steps import Call, Reply, Said, Step, Work
from .table import step_for

__all__ = ["NOTE", "DemoModel"]

NOTE = "an offline demo: a table of plain requests, not a language model"
"""What a person should see beside the model's name."""

_HELP = (
    "I am the offline demo: a table of plain requests, not a language model. "
    "I did not understand {what}, so nothing was changed.\n\n"
    "Three things I can do:\n"
    "- Create todo.txt with a list: milk, bread, eggs\n"
    "- Count the words in todo.txt\n"
    "- Replace milk with tea in todo.txt, then show it\n\n"
    "For anything else set a real model: put its key into ANTHROPIC_API_KEY or OPENAI_API_KEY and run "
    "`%runcell model NAME`, or pass `model=` to `create_agent`."
)
_MAX_STEPS = 12
_BEFORE, _NOW = "The conversation so far:", "\n\nThe user now says:\n\n"  # how a thread tells what was before
_BACK = r"\b(?:no,? wait|wait,? no|never ?mind|forget (?:it|that)|scratch that)\b"
_TAKEN_BACK = re.compile(rf"{_BACK}|(?:\.\.|,) ?(?:sorry,|i mean\b)", re.I)


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
        move = await asyncio.to_thread(_next_move, request)  # a long prompt must not hold up the event loop
        if isinstance(move, Call):
            arguments = json.dumps(move.arguments, ensure_ascii=False)
            yield ToolCallDelta(id=f"demo_{len(request.messages)}", name=move.tool, arguments=arguments)
            yield FinishDelta("tool-calls", _usage(request, arguments))
            return
        text = scrub(move)
        size = max(24, len(text) // 200)
        for start in range(0, len(text), size):
            yield TextDelta(text[start : start + size])
            await asyncio.sleep(0)  # lets a view draw and a stop button be heard
        yield FinishDelta("stop", _usage(request, text))

    async def describe(self, name: str) -> ModelInfo:
        """Describe the demo, whatever the name."""
        return ModelInfo(name=name, supports_images=False, supports_thinking=False, local=True, note=NOTE)


def _next_move(request: ModelRequest) -> Call | str:
    """Return the tool call that comes next, or the answer."""
    scene, steps, refused, asked = Scene(tools=request.tools), list[Step](), "", 0
    copied = scene.copied
    for place, message in enumerate(request.messages):
        if isinstance(message, UserMessage):
            told = "\n".join(map(_text, request.messages[asked + 1 : place]))
            if scene.copied is not copied and "Copied {} to {}.".format(*(scene.copied or "??")) not in told:
                scene.copied = ()  # it did not come to that
            asked, refused, copied = place, "", scene.copied
            try:
                steps = _steps(_text(message), scene)
            except Stop as refusal:
                refused, scene.copied, scene.lines = str(refusal), (), False
                files = re.findall(r"[\w-][\w./-]*\.[a-z]\w{0,5}\b", _text(message)[:5_000], re.I)
                scene.it = tuple(dict.fromkeys(files)) or scene.it
    replies = [reply for message in request.messages[asked + 1 :] for reply in _replies(message)]
    return refused or _continued(_work(steps), replies, {tool.name for tool in request.tools})


def _steps(prompt: str, scene: Scene) -> list[Step]:
    """Read a whole prompt and note in the scene what it names.

    Raises:
        Stop: A part of it is not understood or not to be done, so that nothing of it is done.
    """
    parts, scene.quotes = commands(prompt.rpartition(_NOW)[2] if prompt.startswith(_BEFORE) else prompt)
    if _TAKEN_BACK.search(" ".join(parts)):
        raise Stop("You take something back there; say again what is to be done. Nothing was changed.")
    steps: list[Step] = []
    for part in parts[: _MAX_STEPS + 1]:
        scene.later = bool(steps)
        if steps and steps[-1].open_end and canonical(part).startswith("delete"):
            said = scene.quotes.expand(part)
            raise Stop(
                f"Is {said!r} to be done, or part of the text? Put the text in quotes. Nothing was changed."
            )
        step = None if len(part) > MAX_COMMAND else _step(part, scene)
        if step is None:
            raise Stop(_HELP.format(what=repr(scene.quotes.expand(part)[:200]) if len(parts) > 1 else "this"))
        steps.append(step)
        scene.it, scene.folder = step.named or scene.it, step.folder or scene.folder
        scene.copied = step.copied or (scene.copied if step.looks else ())
        scene.lines = step.lines
    if not 0 < len(parts) <= _MAX_STEPS:
        raise Stop(_HELP.format(what=f"{len(parts)} commands at once" if parts else "this"))
    spared = {path for step in steps for path in step.spares}
    if any(path in spared or "*" in spared for step in steps for path in step.changes):
        raise Stop("You ask me to change something and to leave it alone. Nothing was changed.")
    return steps


def _step(part: str, scene: Scene) -> Step | None:
    try:
        return host_step(part, scene) or step_for(part, scene) or host_step(part, scene, short=True)
    except Unclear:
        return None
    except Stop as refusal:
        raise Stop(f"{str(refusal).rstrip('.')}. Nothing was changed.") from None


def _work(steps: Sequence[Step]) -> Work:
    """Do the steps up to the first that fails."""
    said, texts = Said(""), list[str]()
    for place, step in enumerate(steps):
        try:
            said = yield from step.work(said)
        except Stop as stop:
            texts += [str(stop), *["What was to follow was not done."][: len(steps) - place - 1]]
            break
        texts.append(said.text)
    return Said("\n\n".join(texts))


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
            call = work.send(reply.of_shell() if call.tool == "bash" else reply)
    except StopIteration as end:
        return str(end.value.text)


def _replies(message: Message) -> list[Reply]:
    results = message.content if isinstance(message, ToolMessage) else ()
    texts = [[part.text for part in result.content if isinstance(part, TextBlock)] for result in results]
    return [Reply("".join(text), result.is_error) for text, result in zip(texts, results, strict=True)]


def _text(message: Message) -> str:
    return "\n".join(part.text for part in message.content if isinstance(part, TextBlock))


def _usage(request: ModelRequest, answer: str) -> RequestUsage:
    """Count four characters of text as a token: a rough count, said to be local."""
    texts = [
        text
        for message in request.messages
        for text in (_text(message), *(one.text for one in _replies(message)))
    ]
    size = len(request.system or "") + sum(map(len, texts))
    return RequestUsage(input_tokens=-(-size // 4), output_tokens=-(-len(answer) // 4), source="local")
