"""The engine's own log of a conversation.

Providers differ in what they accept; this log is the one form that the engine writes, gateways
translate and threads keep. `message_log.valid_log` is the validator that every log passes before it
leaves the engine.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")


class TextBlock(_Part):
    """Plain text."""

    type: Literal["text"] = "text"
    text: str


class ImageBlock(_Part):
    """An image as canonical base64 text."""

    type: Literal["image"] = "image"
    data: str
    media_type: str


class ReasoningBlock(_Part):
    """What a model thought; `provider` is what its own provider wants back, unread by anyone else."""

    type: Literal["reasoning"] = "reasoning"
    text: str
    provider: dict[str, Any] | None = None


class ToolCallBlock(_Part):
    """A call of a tool; `arguments` is the JSON text as the model wrote it, valid or not."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    arguments: str


class ToolResultBlock(_Part):
    """The one result of a call."""

    type: Literal["tool_result"] = "tool_result"
    call_id: str
    name: str
    content: tuple[TextBlock | ImageBlock, ...] = ()
    is_error: bool = False


class UserMessage(_Part):
    """What the person said."""

    role: Literal["user"] = "user"
    content: tuple[Annotated[TextBlock | ImageBlock, Field(discriminator="type")], ...]


class AssistantMessage(_Part):
    """One response of the model."""

    role: Literal["assistant"] = "assistant"
    content: tuple[Annotated[TextBlock | ReasoningBlock | ToolCallBlock, Field(discriminator="type")], ...]

    @property
    def calls(self) -> list[ToolCallBlock]:
        """The tool calls of this response, in order."""
        return [block for block in self.content if isinstance(block, ToolCallBlock)]


class ToolMessage(_Part):
    """The results of all calls of the response before it, in call order."""

    role: Literal["tool"] = "tool"
    content: tuple[ToolResultBlock, ...]


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


def user_text(text: str) -> UserMessage:
    """Return a user message with one text block."""
    return UserMessage(content=(TextBlock(text=text),))
