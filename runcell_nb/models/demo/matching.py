"""From one command to its step: the first pattern of the table that fits, or a tool of the person's own."""

from __future__ import annotations

import re

from .commands import MAX_COMMAND, OVERWRITE, QUOTE
from .host import call_host, host_call
from .phrases import table
from .scene import Scene, Step


def step_for(command: str, scene: Scene) -> Step | None:
    """Return the step for one command; None when it is not understood.

    Raises:
        Refusal: It is understood and not done.
    """
    if len(command) > MAX_COMMAND:
        return None
    scene.overwrite = OVERWRITE in command
    command = re.sub(rf"\s*{OVERWRITE}\s*", " ", command).strip()
    call = host_call(command, scene.tools, scene.quotes)
    if call is not None:
        return Step(lambda _: call_host(call), tells=True)
    for text in _readings(command):
        for pattern, build in table():
            match = pattern.fullmatch(text)
            step = build(match, scene) if match else None
            if step is not None:
                return step
    return _one_word_tool(command, scene)


def _one_word_tool(command: str, scene: Scene) -> Step | None:
    """Read "roll 6" as a call of the tool `roll`, once nothing else fits."""
    if command.split(" ", 1)[0].split("(", 1)[0] not in {tool.name for tool in scene.tools}:
        return None
    call = host_call(f"call {command}", scene.tools, scene.quotes)
    return None if call is None else Step(lambda _: call_host(call), tells=True)


def _readings(command: str) -> list[str]:
    """Return the command and its other wordings: "in F, do this" is "do this in F", "its" is "of it"."""
    front = re.fullmatch(
        rf"(?:in|from|inside|within|using) (?P<file>(?:the )?(?:file )?(?:{QUOTE}|[^\s,]+\.\w+)),? "
        r"(?P<rest>.+)",
        command,
        re.I,
    )
    turned = [f"{front['rest']} in {front['file']}"] if front else []
    part = r"(?:(?:first|last)(?: \w+)? )?(?:lines?|words?|characters?|letters?|rows?|columns?)"
    own = re.sub(rf"\bits (?P<part>{part})$", r"the \g<part> of it", command, flags=re.I)
    calm = command.rstrip("!")
    return [command, *turned, *(other for other in (own, calm) if other != command)]
