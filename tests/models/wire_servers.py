"""A server on loopback that sends exactly the bytes it was given, for faults that llmock does not have."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Part = bytes | float
"""Bytes to send, or seconds to wait."""


@dataclass
class Seen:
    """A request that arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class WireServer:
    """Answers each request with the next script; the last one again when they run out.

    Attributes:
        scripts: Lists of parts to send after the head of an event stream, or `(status, headers, body)`.
        requests: What arrived, in order.
        connections: How many connections were opened.
        hung_up: Set once a client has left before its response was complete.
    """

    scripts: Sequence[Any]
    requests: list[Seen] = field(default_factory=list)
    connections: int = 0
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aenter__(self) -> WireServer:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _request(reader)) is not None:
                self.requests.append(request)
                script = self.scripts[min(len(self.requests), len(self.scripts)) - 1]
                await self._answer(script, reader, writer)
        except ConnectionError:
            self.hung_up.set()
        finally:
            writer.close()

    async def _answer(self, script: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if isinstance(script, tuple):
            status, headers, body = script
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            writer.write(f"HTTP/1.1 {status} X\r\n{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            return
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        for part in script:
            if isinstance(part, bytes):
                writer.write(b"%x\r\n%s\r\n" % (len(part), part))
                await writer.drain()
            else:
                await self._wait(part, reader)
        writer.write(b"0\r\n\r\n")

    async def _wait(self, seconds: float, reader: asyncio.StreamReader) -> None:
        """Wait, or notice at once that the client has left."""
        try:
            if await asyncio.wait_for(reader.read(1), seconds) == b"":
                raise ConnectionResetError
        except TimeoutError:
            pass


async def _request(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Seen(first.split(" ")[1], headers, json.loads(body or b"{}"))


def event(data: dict[str, Any]) -> bytes:
    """One server-sent event, with the name that Anthropic wants."""
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def openai_stream(
    *deltas: dict[str, Any], finish: str | None = "stop", usage: dict[str, Any] | None = None
) -> list[Part]:
    """The parts of one response in OpenAI's format."""
    parts: list[Part] = [_openai_chunk([{"index": 0, "delta": delta}]) for delta in deltas]
    if finish is not None:
        parts.append(_openai_chunk([{"index": 0, "delta": {}, "finish_reason": finish}]))
    if usage is not None:
        parts.append(_openai_chunk([], usage=usage))
    if finish is not None:
        parts.append(b"data: [DONE]\n\n")
    return parts


def call_piece(
    index: int, call_id: str | None = None, name: str | None = None, arguments: str = ""
) -> dict[str, Any]:
    """A delta with one piece of a tool call in OpenAI's format."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    piece = {"index": index, "type": "function", "function": function} | ({"id": call_id} if call_id else {})
    return {"tool_calls": [piece]}


def anthropic_stream(
    *blocks: list[dict[str, Any]], stop: str = "end_turn", output_tokens: int = 40
) -> list[Part]:
    """The parts of one response in Anthropic's format.

    Args:
        blocks: For each content block its start and its deltas.
        stop: The stop reason.
        output_tokens: As the provider counts them.
    """
    usage = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 30,
             "cache_creation_input_tokens": 20}  # fmt: skip
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m",
               "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
    parts: list[Part] = [event({"type": "message_start", "message": message})]
    for index, (start, *deltas) in enumerate(blocks):
        parts.append(event({"type": "content_block_start", "index": index, "content_block": start}))
        parts.extend(
            event({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas
        )
        parts.append(event({"type": "content_block_stop", "index": index}))
    parts.append(
        event(
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
                "usage": {"output_tokens": output_tokens},
            }
        )
    )
    parts.append(event({"type": "message_stop"}))
    return parts


def gemini_chunk(
    *parts: dict[str, Any], finish: str | None = None, usage: dict[str, Any] | None = None, **more: Any
) -> bytes:
    """One chunk of a response in Gemini's format, with the line ends that Gemini sends.

    Args:
        parts: Of the one candidate, which has no content without them.
        finish: The finish reason; None before the end.
        usage: The figures so far.
        more: Further members of the chunk.
    """
    candidate: dict[str, Any] = {"index": 0} | ({"finishReason": finish} if finish else {})
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    chunk = {"candidates": [candidate], "modelVersion": "m", "responseId": "r"} | more
    return f"data: {json.dumps(chunk | ({'usageMetadata': usage} if usage else {}))}\r\n\r\n".encode()


def gemini_call(name: str, arguments: dict[str, Any] | None, signature: str | None = None) -> dict[str, Any]:
    """A part with a function call; no arguments leave their member out, as its definition allows."""
    call = {"name": name} | ({} if arguments is None else {"args": arguments})
    return {"functionCall": call} | ({"thoughtSignature": signature} if signature else {})


def _openai_chunk(choices: list[dict[str, Any]], **more: Any) -> bytes:
    return event(
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}
    )
