"""Threads and files as runs leave them, for the tests of what a notebook keeps."""

from __future__ import annotations

import hashlib
import random
from typing import Any

from runcell_nb.core.message_log import valid_log
from runcell_nb.core.messages import (
    AssistantMessage,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolMessage,
    ToolResultBlock,
    user_text,
)
from runcell_nb.core.sandbox import Sandbox
from runcell_nb.core.sandbox_options import create_sandbox
from runcell_nb.notebook.kept_sandboxes import KeptSandbox, KeptShelf
from runcell_nb.notebook.turns import NotebookThread, ThreadBook

NO_FILES: dict[str, Any] = {"states": {}, "blobs": {}}


def exchange(
    number: int, prompt: str, answer: str, output: str = "", argument: str = "ls"
) -> tuple[Message, ...]:
    """What one run adds to a log: a prompt, a call with its result, an answer."""
    call = ToolCallBlock(id=f"call_{number}", name="bash", arguments=f'{{"command":"{argument}"}}')
    result = ToolResultBlock(call_id=call.id, name="bash", content=(TextBlock(text=output or "(no output)"),))
    said = [
        user_text(prompt),
        AssistantMessage(content=(call,)),
        ToolMessage(content=(result,)),
        AssistantMessage(content=(TextBlock(text=answer),)),
    ]
    return valid_log(said).messages


def say(
    book: ThreadBook,
    thread: NotebookThread,
    cell: str,
    prompt: str = "Hello",
    answer: str = "Hi",
    *,
    files: tuple[str | None, str | None] = (None, None),
    sandbox: str = "main",
    **more: Any,
) -> None:
    """Run a cell in a thread, as the session does."""
    book.run_again(thread, cell)
    before = thread.mark()
    log = [*(thread.thread.log or ()), *exchange(thread.thread.message_count, prompt, answer, **more)]
    thread.thread.record(prompt, answer, log)
    turn = {"cell": cell, "prompt": prompt, "model": "local/demo", "tokens": 12, "cost": "local"}
    turn["sandbox"] = sandbox
    book.add_turn(thread, before, files_before=files[0], files_after=files[1], **turn)


def told_book(turns: int, **more: Any) -> ThreadBook:
    """A book whose main thread has some turns."""
    book = ThreadBook()
    for number in range(turns):
        say(book, book.active, f"cell-{number}", f"Prompt {number}", f"Answer {number}", **more)
    return book


def noise(size: int, seed: int = 0) -> str:
    """Text that hardly compresses."""
    return random.Random(seed).randbytes(size // 2).hex()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main_with(files: str | None) -> KeptShelf:
    """The sandboxes of a notebook that has the main one alone."""
    return KeptShelf({"main": KeptSandbox(files=files)})


async def sandbox_with(**files: bytes) -> Sandbox:
    sandbox = await create_sandbox("virtual")
    for name, data in files.items():
        await sandbox.write_file(name.replace("__", "."), data)
    return sandbox
