"""What the tests of recordings share."""

from __future__ import annotations

import json
from typing import Any

from runcell_nb import RecordingGateway, ReplayGateway, ScriptedModel, create_agent
from runcell_nb.models.recording import Recording


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """A step of a script that calls a tool."""
    return {"tool": tool, "input": arguments}


def file(text: str, path: str = "notes.txt") -> dict[str, str]:
    """A file for a run."""
    return {"path": path, "text": text}


async def recorded(script: list[Any], prompt: str = "Go.", *, files: Any = (), **options: Any) -> Recording:
    """Record one run of a script and return what a file would give back."""
    recorder = RecordingGateway(ScriptedModel(script))
    run_options = {name: options.pop(name) for name in ("schema", "thread") if name in options}
    await create_agent(recorder, **options).run(prompt, files=list(files), **run_options)
    return through_json(recorder.recording)


async def replayed(recording: Recording, prompt: str = "Go.", *, files: Any = (), **options: Any) -> Any:
    """Replay a run strictly, check that all was used, and return its result."""
    gateway = options.pop("gateway", None) or ReplayGateway(recording)
    run_options = {name: options.pop(name) for name in ("schema", "thread") if name in options}
    result = await create_agent(gateway, **options).run(prompt, files=list(files), **run_options)
    gateway.check_all_used()
    return result


def through_json(recording: Recording) -> Recording:
    """Write a recording as a notebook would and read it again."""
    return Recording.from_dict(json.loads(json.dumps(recording.to_dict(), sort_keys=True)))


READ_THEN_ANSWER = [["Let me look. ", call("read", file_path="notes.txt")], "Two lines.\nThat is all."]
"""A script that reads a file and answers."""
