"""What a request asked, in the one form by which a recording finds it again.

Ids, reasoning and whatever else differs from run to run is not in it. Requests of one conversation share
their beginning, so each message is read, and its digest made, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any

from runcell_nb.core.builtin_tools import BUILTIN_TOOLS
from runcell_nb.core.gateway import ModelRequest, ToolSpec
from runcell_nb.core.messages import Message
from runcell_nb.core.prompt import own_part
from runcell_nb.core.submission import SUBMIT_RESULT

from .normal_message import digest_of, key_digest, normal_json, normal_message, normal_text

_MAX_KNOWN = 1000
"""Tools of which a digest is remembered: each new agent brings specs of its own."""

_CONVERSATIONS = 64
"""Conversations of which the last request is remembered."""


@dataclass(frozen=True, slots=True)
class RequestHead:
    """What a request asks besides its messages.

    Attributes:
        digest: Of all the rest.
        model: As the gateway names it.
        system: The agent's own part of the system prompt; what the package tells the model does not count.
        thinking_level: None when it is not sent.
        tools: Digests of the tools' specs, in order.
    """

    digest: str
    model: str
    system: str | None
    thinking_level: str | None
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NormalRequest:
    """A request in its normal form.

    Attributes:
        head: Model, system prompt, thinking level, tools.
        messages: In normal form, plain JSON.
        keys: `keys[i]` is the key of a request with the first `i` messages.
    """

    head: RequestHead
    messages: tuple[dict[str, Any], ...]
    keys: tuple[str, ...]

    @property
    def key(self) -> str:
        """By which a recording holds this request."""
        return self.keys[-1]


@dataclass(slots=True)
class _Conversation:
    """The last request of a conversation, for the next one to go on from."""

    head: RequestHead
    sources: tuple[Message, ...]
    messages: list[dict[str, Any]]
    digests: list[str]
    keys: list[str]


class RequestReader:
    """Brings the requests of a gateway into normal form.

    Attributes:
        tools: The specs of all tools seen so far, by digest: plain JSON.
    """

    def __init__(self) -> None:
        self.tools: dict[str, dict[str, Any]] = {}
        self._specs: dict[tuple[str, str, int], tuple[str, dict[str, Any]]] = {}
        self._heads: dict[tuple[Any, ...], RequestHead] = {}
        self._conversations: dict[int, _Conversation] = {}

    def read(self, request: ModelRequest) -> NormalRequest:
        """Return the normal form of a request; cheap for one that goes on from the one before it."""
        head = self._head(request)
        sources = request.messages
        first = id(sources[0]) if sources else 0
        before = self._conversations.pop(first, None)
        talk = _continued(before, head, sources)
        self._conversations[first] = talk  # it holds the messages, so that no other gets the same id
        if len(self._conversations) > _CONVERSATIONS:
            del self._conversations[next(iter(self._conversations))]
        return NormalRequest(head, tuple(talk.messages), tuple(talk.keys))

    def _head(self, request: ModelRequest) -> RequestHead:
        tools = tuple(self._tool(spec) for spec in request.tools)
        asked = (request.model, request.system, request.thinking_level, tools)
        head = self._heads.get(asked)
        if head is None:
            system = None if request.system is None else normal_text(own_part(request.system))
            head = self._heads[asked] = head_of(
                normal_text(request.model), system, request.thinking_level, tools
            )
        return head

    def _tool(self, spec: ToolSpec) -> str:
        known = (spec.name, spec.description, id(spec.parameters))
        if known not in self._specs:
            if len(self._specs) > _MAX_KNOWN:
                self._specs.clear()
            stored = normal_json(_told_of(spec))
            digest = digest_of(stored)
            self.tools[digest] = stored
            self._specs[known] = digest, spec.parameters  # held, so that no other gets the same id
        return self._specs[known][0]


def _told_of(spec: ToolSpec) -> dict[str, Any]:
    """Return what of a tool counts: of those that come with the package only what the user decides.

    Otherwise every release that words one of them better would make all recordings useless.
    """
    if spec.name in BUILTIN_TOOLS:
        return {"name": spec.name}
    if spec.name == SUBMIT_RESULT:
        return {"name": spec.name, "parameters": spec.parameters}
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}


def head_of(
    model: str, system: str | None, thinking_level: str | None, tools: tuple[str, ...]
) -> RequestHead:
    """Return the head of a request with its digest."""
    return RequestHead(
        digest_of([model, system, thinking_level, list(tools)]), model, system, thinking_level, tools
    )


def normal_request(
    head: RequestHead, messages: Sequence[dict[str, Any]], start: str | None = None
) -> NormalRequest:
    """Return a request whose messages are in normal form already, with its keys.

    Args:
        head: Of the request.
        messages: All, or those after the request whose key is `start`.
        start: Key of the request that it continues; None for none.
    """
    keys = [start or head.digest]
    for message in messages:
        keys.append(key_after(keys[-1], digest_of(message)))
    return NormalRequest(head, tuple(messages), tuple(keys))


def key_after(key: str, message_digest: str) -> str:
    """Return the key of a request that has one message more."""
    return key_digest(key + message_digest)


def _continued(before: _Conversation | None, head: RequestHead, sources: Sequence[Message]) -> _Conversation:
    same = 0 if before is None else _same(before.sources, sources)
    messages = [] if before is None else before.messages[:same]
    digests = [] if before is None else before.digests[:same]
    for message in sources[same:]:
        messages.append(normal_message(message))
        digests.append(digest_of(messages[-1]))
    known = before is not None and before.head is head
    keys = before.keys[: same + 1] if known and before is not None else [head.digest]
    for digest in digests[len(keys) - 1 :]:
        keys.append(key_after(keys[-1], digest))
    return _Conversation(head, tuple(sources), messages, digests, keys)


def _same(before: Sequence[Message], now: Sequence[Message]) -> int:
    """Return how many messages at the beginning are the very same objects."""
    alike = list(map(is_, before, now))
    return alike.index(False) if False in alike else len(alike)
