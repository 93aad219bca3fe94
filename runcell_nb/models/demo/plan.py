"""From a prompt to the steps that do it, or to the reason why nothing is done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .commands import commands
from .matching import step_for
from .scene import Scene, Step
from .slots import Refusal, names
from .work import Said, Stop, Work

__all__ = ["HELP", "Plan", "Scene", "plan_for", "scene_after"]

_MAX_STEPS = 12
_TAKEN_BACK = re.compile(
    r"\b(?:no,? wait|wait,? no|never ?mind|forget (?:it|that)|on second thought|just kidding|scratch that)\b",
    re.I,
)
_REPLAYED = ("The conversation so far:", "\n\nThe user now says:\n\n")  # how a thread tells what was before

HELP = (
    "Three things I can do:\n"
    "- Create todo.txt with a list: milk, bread, eggs\n"
    "- Count the words in todo.txt\n"
    "- Replace milk with tea in todo.txt, then show it\n\n"
    "For anything else set a real model: put its key into ANTHROPIC_API_KEY or OPENAI_API_KEY and run "
    "`%runcell model NAME`, or pass `model=` to `create_agent`."
)
"""What a request that is not understood is answered with."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of one prompt, in order."""

    steps: tuple[Step, ...]

    def work(self) -> Work:
        """Do the steps up to the first that fails."""
        said, texts = Said(""), []
        for place, step in enumerate(self.steps):
            try:
                said = yield from step.work(said)
            except Stop as stop:
                left = "\n\nWhat was to follow was not done." if place + 1 < len(self.steps) else ""
                texts.append(f"{stop}{left}")
                break
            texts.append(said.text)
        return Said("\n\n".join(texts))


def plan_for(prompt: str, scene: Scene) -> Plan | str:
    """Read a whole prompt; when any part is not understood, nothing of it is done.

    Args:
        prompt: What the person wrote.
        scene: What they may refer to; updated by what the prompt names.

    Returns:
        The plan, or the answer that says what was not understood.

    Raises:
        Refusal: It is understood and not done.
    """
    parts, scene.quotes = commands(_said_now(prompt))
    scene.last = None
    if any(_TAKEN_BACK.search(part) for part in parts):
        raise Refusal("You take something back there; say again what is to be done")
    if not parts or len(parts) > _MAX_STEPS:
        return _not_understood(f"{len(parts)} commands at once" if parts else "")
    steps: list[Step] = []
    for part in parts:
        scene.composing = bool(steps)
        step = step_for(part, scene)
        if step is None:
            return _not_understood(scene.quotes.expand(part) if len(parts) > 1 else "")
        steps[-1 if step.instead else len(steps) :] = [step]
        _remember(step, scene)
    _check_spared(steps)
    return Plan(tuple(steps))


def scene_after(prompts: Sequence[str], scene: Scene) -> Scene:
    """Read earlier prompts for what "it" and "that folder" mean after them."""
    for prompt in prompts:
        try:
            understood = not isinstance(plan_for(prompt, scene), str)
        except Refusal:
            understood = False
        if not understood:
            scene.it = _mentioned(prompt) or scene.it
    return scene


def _said_now(prompt: str) -> str:
    head, mark = _REPLAYED
    return prompt.rpartition(mark)[2] if prompt.startswith(head) else prompt


def _remember(step: Step, scene: Scene) -> None:
    scene.last = step
    scene.it = step.named or scene.it
    scene.folder = step.folder or scene.folder


def _check_spared(steps: Sequence[Step]) -> None:
    """Refuse a request that changes a file and also says to leave it alone."""
    spared = {path for step in steps for path in step.spares}
    for path in (path for step in steps for path in step.changes):
        if path in spared or "*" in spared:
            raise Refusal(f"You ask me to change {path} and to leave it, or everything, alone")


def _not_understood(part: str) -> str:
    shown = part if len(part) <= 200 else f"{part[:200]}…"
    what = f"I did not understand {shown!r}" if shown else "I did not understand this"
    return (
        "I am the offline demo: a table of plain requests, not a language model. "
        f"{what}, so nothing was changed.\n\n{HELP}"
    )


def _mentioned(prompt: str) -> tuple[str, ...]:
    """Return the files that are named in a prompt which was not understood."""
    parts, quotes = commands(prompt[:5_000])
    found: list[str] = []
    for word in " ".join(parts).split():
        try:
            named = names(word, quotes, ()) if "." in quotes.plain(word).strip(".,!?") else None
        except Refusal:
            continue
        found += [name.path for name in named or () if name.sure]
    return tuple(dict.fromkeys(found))
