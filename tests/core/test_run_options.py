"""The options of a run: a bad one fails before any request, in the result and without usage."""

from __future__ import annotations

import pytest

from runcell_nb import RuncellNotImplementedError, ScriptedModel, create_agent
from tests.conformance import cases, decoded

OPTIONS = {"maxAttachmentBytes": "max_attachment_bytes"}

CHAT_HISTORY = {
    "empty messages",
    "history ending with assistant",
    "last user message only whitespace",
    "last user message with no parts",
    "last message with plain content string",
    "remote attachment url",
}
"""Cases of `messages=`, which this version does not have; it says so in one sentence."""


def keywords(options):
    found = {OPTIONS.get(name, name): value for name, value in decoded(options).items()}
    if "pi" in found:
        found["thinking_level"] = found.pop("pi")["thinkingLevel"]
    return found


@pytest.mark.parametrize(("given", "expected"), cases("core_cases.json", "run_options"))
async def test_run_options(given, expected, request):
    model = ScriptedModel(["done"])
    run = create_agent(model).stream(**keywords(given["options"]))  # never raises here
    if any(request.node.name.endswith(f"{name}]") for name in CHAT_HISTORY):
        with pytest.raises(RuncellNotImplementedError, match="messages="):
            await run.result()
    elif expected == {"ok": True}:
        assert (await run.result()).text == "done"
        return
    else:
        with pytest.raises(Exception) as caught:
            await run.result()
        assert type(caught.value).__name__ == expected["error"]
        assert caught.value.usage is None
        for words in expected.get("message_has", []):
            assert words in str(caught.value)
    assert model.requests == []
