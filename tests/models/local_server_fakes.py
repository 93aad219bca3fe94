"""Model servers on loopback that speak the documented API of Ollama, LM Studio, llama.cpp and vLLM.

They run on the event loop of the test, so that whatever blocks that loop waits for them for ever.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

Call = tuple[str, dict[str, Any]]
CALLS: list[Call] = [("read", {"file_path": "notes.txt"})]
"""What a model calls first, when it is offered that."""
TEXT = "It says: "
PROMPT_TOKENS, ANSWER_TOKENS = 120, 9
"""What each response used."""


@dataclass
class Asked:
    """A request that arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Reply:
    """What to send: a whole body, or the pieces of a streamed one."""

    body: bytes = b""
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[bytes] | None = None


@dataclass
class Said:
    """What a model says."""

    texts: list[str]
    calls: list[Call]


def as_json(value: Any, status: int = 200) -> Reply:
    return Reply(json.dumps(value).encode(), status)


class LoopbackServer:
    """Answers HTTP on a free port; without a route of its own everything is a page that is not found.

    Attributes:
        asked: What arrived, in order.
        key: When set, requests without it are refused.
        calls: What its model calls first.
    """

    key: str | None = None
    calls = CALLS

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    async def __aenter__(self) -> Any:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def answer(self, asked: Asked) -> Reply:
        """Return what a server says that has nothing to do with models."""
        return Reply(b"<html>Not found</html>", 404, "text/html")

    def said(self, body: dict[str, Any]) -> Said:
        """Return what the model says: it calls tools when it may, and tells the result of the last one."""
        last = body["messages"][-1]
        if last["role"] == "tool":
            return Said([TEXT, last["content"]], [])
        offered = {tool["function"]["name"] for tool in body.get("tools") or ()}
        return Said([], self.calls) if self.calls[0][0] in offered else Said(["Hello", "."], [])

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.ensure_future(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                allowed = self.key is None or asked.headers.get("authorization") == f"Bearer {self.key}"
                reply = await self.answer(asked) if allowed else as_json({"error": "Unauthorized"}, 401)
                await _send(writer, reply)
        except ConnectionError:
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    method, path, _ = first.split(" ")
    return Asked(method, path, headers, json.loads(body or b"{}"))


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> None:
    size = "transfer-encoding: chunked" if reply.pieces is not None else f"content-length: {len(reply.body)}"
    more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
    writer.write(
        f"HTTP/1.1 {reply.status} X\r\ncontent-type: {reply.content_type}\r\n{more}{size}\r\n\r\n".encode()
    )
    if reply.pieces is None:
        writer.write(reply.body)
    else:
        for piece in reply.pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
    await writer.drain()


class Ollama(LoopbackServer):
    """Ollama: lists, details, and chat as lines of JSON whose tool arguments are objects."""

    capabilities: ClassVar = {
        "llama3.2:latest": ["completion", "tools"],
        "gemma:2b": ["completion"],
        "nomic-embed-text:latest": ["embedding"],
        "gpt-oss:120b-cloud": ["completion", "tools"],
    }
    models = tuple(capabilities)

    async def answer(self, asked: Asked) -> Reply:
        if asked.path == "/api/tags":
            return as_json({"models": [self._tag(name) for name in self.models]})
        name = str(asked.body.get("model", ""))
        found = next((model for model in self.models if name in (model, model.removesuffix(":latest"))), None)
        if asked.path not in ("/api/show", "/api/chat"):
            return Reply(b"404 page not found", 404, "text/plain")
        if found is None:
            return as_json({"error": f"model '{name}' not found"}, 404)
        return self._show(found) if asked.path == "/api/show" else self._chat(asked.body, found)

    def _tag(self, name: str) -> dict[str, Any]:
        family = "nomic-bert" if "embed" in name else "llama"
        cloud = {"remote_model": "gpt-oss:120b", "remote_host": "https://ollama.com:443"}
        details = {
            "format": "gguf",
            "family": family,
            "parameter_size": "3.2B",
            "quantization_level": "Q4_K_M",
        }
        return {
            "name": name, "model": name, "modified_at": "2026-05-04T17:37:44.706015396-07:00",
            "size": 2019393189, "digest": "a80c4f17acd5", "details": details,
        } | (cloud if name.endswith("-cloud") else {})  # fmt: skip

    def _show(self, name: str) -> Reply:
        info = {"general.architecture": "llama", "llama.context_length": 131072, "clip.context_length": 77}
        return as_json({"details": {}, "model_info": info, "capabilities": self.capabilities[name]})

    def _chat(self, body: dict[str, Any], name: str) -> Reply:
        if body.get("tools") and "tools" not in self.capabilities[name]:
            return as_json({"error": f"registry.ollama.ai/library/{name} does not support tools"}, 400)
        for message in body["messages"]:
            assert isinstance(message["content"], str)
            assert all(
                isinstance(call["function"]["arguments"], dict) for call in message.get("tool_calls", ())
            )
        said = self.said(body)
        messages = [{"role": "assistant", "content": piece} for piece in said.texts]
        if said.calls:
            calls = [{"function": {"name": called, "arguments": given}} for called, given in said.calls]
            messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        head = {"model": name, "created_at": "2026-05-04T19:22:45.499127Z"}
        lines: list[dict[str, Any]] = [{**head, "message": message, "done": False} for message in messages]
        counts = {
            "total_duration": 4883583458,
            "prompt_eval_count": PROMPT_TOKENS,
            "eval_count": ANSWER_TOKENS,
        }
        last = {"message": {"role": "assistant", "content": ""}, "done_reason": "stop", "done": True}
        lines.append({**head, **last, **counts})
        pieces = [json.dumps(line).encode() + b"\n" for line in lines]
        return Reply(content_type="application/x-ndjson", pieces=pieces)


class _OpenAILike(LoopbackServer):
    """What the other three share: chat in OpenAI's format under /v1."""

    models: tuple[str, ...] = ()
    takes_any_name = False

    async def answer(self, asked: Asked) -> Reply:
        if asked.path == "/v1/chat/completions":
            name = asked.body["model"]
            known = self.takes_any_name or name in self.models
            return self._chat(asked.body) if known else self.refuse(name)
        listing = self.listing(asked.path)
        return self.no_page(asked) if listing is None else as_json(listing)

    def listing(self, path: str) -> Any:
        """Return the JSON at a path, None for no such page."""

    def refuse(self, name: str) -> Reply:
        """Return the refusal of a model that the server does not have."""
        raise NotImplementedError

    def no_page(self, asked: Asked) -> Reply:
        return as_json({"detail": "Not Found"}, 404)

    def _chat(self, body: dict[str, Any]) -> Reply:
        assert body["stream"] and body["stream_options"]["include_usage"]
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        chunks = [{**head, "choices": [choice]} for choice in _choices(self.said(body))]
        usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": ANSWER_TOKENS,
                 "total_tokens": PROMPT_TOKENS + ANSWER_TOKENS}  # fmt: skip
        chunks.append({**head, "choices": [], "usage": usage})
        pieces = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks] + [b"data: [DONE]\n\n"]
        return Reply(content_type="text/event-stream", pieces=pieces)


class LMStudio(_OpenAILike):
    """LM Studio; `version` chooses the API of its own that it has. An unknown page is a 200 with an error."""

    models = ("qwen/qwen3-8b", "ibm/granite-4")

    def __init__(self, version: str = "v1") -> None:
        super().__init__()
        self.version = version

    def listing(self, path: str) -> Any:
        if path == "/api/v1/models" and self.version == "v1":
            loaded = [{"id": "qwen/qwen3-8b", "config": {"context_length": 8192}}]
            first = {
                "type": "llm",
                "key": "qwen/qwen3-8b",
                "max_context_length": 40960,
                "loaded_instances": loaded,
            }
            second = {
                "type": "llm",
                "key": "ibm/granite-4",
                "max_context_length": 131072,
                "loaded_instances": [],
            }
            third = {"type": "embedding", "key": "text-embedding-nomic", "max_context_length": 2048}
            return {"models": [first, second, {**third, "loaded_instances": []}]}
        if path == "/api/v0/models":
            first = {"id": "qwen/qwen3-8b", "type": "vlm", "state": "loaded", "max_context_length": 40960}
            second = {
                "id": "ibm/granite-4",
                "type": "llm",
                "state": "not-loaded",
                "max_context_length": 131072,
            }
            third = {"id": "text-embedding-nomic", "type": "embeddings", "state": "not-loaded"}
            return {"object": "list", "data": [first, second, third]}
        return None

    def no_page(self, asked: Asked) -> Reply:
        return as_json({"error": f"Unexpected endpoint or method. ({asked.method} {asked.path})"})

    def refuse(self, name: str) -> Reply:
        error = {"message": f'Invalid model identifier "{name}".', "type": "invalid_request_error",
                 "param": "model", "code": "model_not_found"}  # fmt: skip
        return as_json({"error": error}, 404)


class LlamaCpp(_OpenAILike):
    """llama-server with one model, which answers to any name; or with several, of which one is loaded."""

    def __init__(self, *models: str) -> None:
        super().__init__()
        self.models = models or ("gemma-4-E4B-Q8_0.gguf",)
        self.takes_any_name = len(self.models) == 1

    def listing(self, path: str) -> Any:
        if path == "/health":
            return {"status": "ok"}
        if path == "/props" and self.takes_any_name:
            return {
                "default_generation_settings": {"n_ctx": 16384},
                "total_slots": 1,
                "model_path": "/m.gguf",
            }
        if path != "/v1/models":
            return None
        if self.takes_any_name:
            meta = {"n_vocab": 262144, "n_ctx_train": 131072, "n_embd": 2560, "size": 8015415464}
            row = {
                "id": self.models[0],
                "object": "model",
                "created": 1,
                "owned_by": "llamacpp",
                "meta": meta,
            }
            kind = "embedding" if "embed" in self.models[0] else "completion"
            alike = {"name": self.models[0], "model": self.models[0], "digest": "", "capabilities": [kind]}
            return {"object": "list", "data": [row], "models": [alike]}
        return {"object": "list", "data": [self._row(name) for name in self.models]}

    def _row(self, name: str) -> dict[str, Any]:
        state = "loaded" if name == self.models[0] else "unloaded"
        return {"id": name, "object": "model", "owned_by": "llamacpp", "status": {"value": state}}

    def no_page(self, asked: Asked) -> Reply:
        return as_json({"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}}, 404)

    def refuse(self, name: str) -> Reply:
        error = {"code": 400, "message": f"model '{name}' not found", "type": "invalid_request_error"}
        return as_json({"error": error}, 400)


class VLLM(_OpenAILike):
    """vLLM with one model."""

    models = ("Qwen/Qwen3-8B",)

    def listing(self, path: str) -> Any:
        if path != "/v1/models":
            return None
        row = {"id": self.models[0], "object": "model", "created": 1, "owned_by": "vllm"}
        more = {"root": self.models[0], "parent": None, "max_model_len": 32768, "permission": []}
        return {"object": "list", "data": [row | more]}

    def refuse(self, name: str) -> Reply:
        error = {"message": f"The model `{name}` does not exist.", "type": "NotFoundError",
                 "param": "model", "code": 404}  # fmt: skip
        return as_json({"error": error}, 404)


def _choices(said: Said) -> Iterator[dict[str, Any]]:
    """Yield the choices in OpenAI's format, a call's arguments in two pieces."""
    for text in said.texts:
        yield {"index": 0, "delta": {"content": text}, "finish_reason": None}
    for index, (name, given) in enumerate(said.calls):
        written = json.dumps(given)
        first = {"index": index, "id": f"call{index}", "type": "function",
                 "function": {"name": name, "arguments": written[:5]}}  # fmt: skip
        rest = {"index": index, "function": {"arguments": written[5:]}}
        yield {"index": 0, "delta": {"role": "assistant", "tool_calls": [first]}, "finish_reason": None}
        yield {"index": 0, "delta": {"tool_calls": [rest]}, "finish_reason": None}
    yield {"index": 0, "delta": {}, "finish_reason": "tool_calls" if said.calls else "stop"}
