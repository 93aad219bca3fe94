"""How much a model thinks, in its provider's own control and never more than it offers (API 1, FACTS 16).

litellm turns the one word `reasoning_effort` into what each provider wants: OpenAI's effort, Claude's
budget or adaptive effort, Gemini's budget or level. What it does not do is look for a word that the model
takes: it drops one that the model refuses, and then the model thinks as much as it likes. So the word is
chosen here. A level that the model lacks becomes the next lower one that it has, or its lowest; "off" where
thinking cannot be switched off becomes the least there is. Nothing is sent to a model that is not known to
think, and nothing for a level that was not set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runcell_nb.core.gateway import ThinkingLevel
from runcell_nb.core.messages import AssistantMessage, Message, ReasoningBlock

from .catalogue import Target
from .litellm_wire import own_block

_OFF = "none"
_EFFORTS = ("minimal", "low", "medium", "high", "xhigh")
"""litellm's words from the least to the most; ours are the same but for "off"."""

_SERVES_CLAUDE = frozenset({"anthropic", "azure_ai", "bedrock", "vertex_ai"})
_SERVES_GEMINI = frozenset({"gemini", "vertex_ai", "vertex_ai_beta"})
_ALWAYS_THINKS = frozenset({"azure", "openai"})
"""Whose thinking models think unasked, so that "off" without a word for it asks for the least."""


def thinking_arguments(
    level: ThinkingLevel | None,
    target: Target,
    model_cost: Mapping[str, Mapping[str, Any]],
    messages: Sequence[Message],
) -> dict[str, Any]:
    """Return the keywords that ask litellm for a level; none where nothing is to be sent.

    Args:
        level: What the run asks for; None when it asks for nothing.
        target: The model.
        model_cost: `litellm.model_cost`. A model that one provider lists without its levels may have
            them in the entry of the provider that makes it.
        messages: The conversation.
    """
    info = {**model_cost.get(target.id, {}), **target.info}
    if level is None or not target.info.get("supports_reasoning"):
        return {}
    by_budget = _is_claude(target) and not info.get("supports_adaptive_thinking")
    if by_budget and level != "off" and not _may_think(messages, target.provider):
        return {}
    effort = _effort(level, _offered(target, info), _may_be_off(target, info))
    if effort is None:
        return {}
    if by_budget and effort != _OFF:
        # litellm would allow 4096 tokens beyond the budget, where the model writes far more.
        return {"reasoning_effort": effort, **_answer_tokens(info)}
    return {"reasoning_effort": effort}


def _effort(level: ThinkingLevel, offered: Sequence[str], may_be_off: bool | None) -> str | None:
    """Return the word for a level, or None for no word.

    Args:
        level: What the run asks for.
        offered: What the model offers, from the least to the most.
        may_be_off: Whether "none" is a word for it; None when a model thinks only if asked to.
    """
    if level == "off" and may_be_off is not False:
        return _OFF if may_be_off else None
    wanted = -1 if level == "off" else _EFFORTS.index(level)
    below = [effort for effort in offered if _EFFORTS.index(effort) <= wanted]
    return next(iter([*reversed(below), *offered]), None)


def _offered(target: Target, info: Mapping[str, Any]) -> list[str]:
    listed = info.get("reasoning_effort_levels")
    if isinstance(listed, Sequence):
        return [effort for effort in _EFFORTS if effort in listed]
    return list(_flagged(target, info))


def _flagged(target: Target, info: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an entry without a list of levels offers.

    A Claude that takes a budget takes any, and Gemini has a least budget or level for each model.
    """
    budget = _is_claude(target) and not info.get("supports_adaptive_thinking")
    if budget or _is_gemini(target) or info.get("supports_minimal_reasoning_effort"):
        yield "minimal"
    if info.get("supports_low_reasoning_effort") is not False:
        yield "low"
    yield from ("medium", "high")
    if budget or info.get("supports_xhigh_reasoning_effort"):
        yield "xhigh"


def _may_be_off(target: Target, info: Mapping[str, Any]) -> bool | None:
    listed = info.get("reasoning_effort_levels")
    if isinstance(listed, Sequence):
        return _OFF in listed
    if _is_claude(target):
        return not info.get("thinking_always_on")
    if _is_gemini(target):
        # "none" is a budget of 0, which the 2.5 Pro models refuse, or the least level of the later ones.
        return not target.id.rpartition("/")[2].startswith("gemini-2.5-pro")
    if info.get("supports_none_reasoning_effort"):
        return True
    return False if target.provider in _ALWAYS_THINKS else None


def _is_claude(target: Target) -> bool:
    return target.provider in _SERVES_CLAUDE and "claude" in target.id


def _is_gemini(target: Target) -> bool:
    return target.provider in _SERVES_GEMINI and not _is_claude(target)


def _answer_tokens(info: Mapping[str, Any]) -> dict[str, int]:
    most = info.get("max_output_tokens")
    return {"max_tokens": most} if isinstance(most, int) else {}


def _may_think(messages: Sequence[Message], provider: str) -> bool:
    """Return False when the last message of the model has calls and does not begin with signed thinking.

    A Claude that thinks by a budget refuses to think on then, also when the person has spoken since: a run
    can end with the results of its calls.
    """
    latest = next((message for message in reversed(messages) if isinstance(message, AssistantMessage)), None)
    if latest is None or not latest.calls:
        return True
    first = latest.content[0]
    return isinstance(first, ReasoningBlock) and bool(own_block(first, provider))
