"""A local server that streams canned OpenAI chat completions: tool calls (10 unless told), then an answer."""

from __future__ import annotations

import asyncio
import json
import sys

CALLS = 10


def chunks(deltas: int, call: int | None) -> bytes:
    """One response as server-sent events."""

    def event(delta: dict[str, object], finish: str | None = None) -> bytes:
        body = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-4o",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }
        return b"data: " + json.dumps(body).encode() + b"\n\n"

    parts = [event({"role": "assistant", "content": ""})]
    parts += [event({"content": f"word{number} "}) for number in range(deltas)]
    if call is not None:
        function = {"name": "lookup", "arguments": json.dumps({"key": call})}
        parts.append(
            event(
                {"tool_calls": [{"index": 0, "id": f"call_{call}", "type": "function", "function": function}]}
            )
        )
    parts.append(event({}, "stop" if call is None else "tool_calls"))
    usage = {"prompt_tokens": 100, "completion_tokens": deltas, "total_tokens": 100 + deltas}
    last = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-4o",
        "choices": [],
    }
    parts.append(b"data: " + json.dumps({**last, "usage": usage}).encode() + b"\n\n")
    return b"".join([*parts, b"data: [DONE]\n\n"])


async def serve(deltas: int, calls: int = CALLS) -> None:
    """Serve until the process is ended; the port is the first line printed."""
    each = deltas // (calls + 1)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            )
            request = json.loads(await reader.readexactly(length))
            done = sum(message["role"] == "tool" for message in request["messages"])
            body = chunks(each, done if done < calls else None)
            headers = (
                f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
            )
            writer.write(headers.encode() + body)
            await writer.drain()

    async def safe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(safe, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(*map(int, sys.argv[1:])))
