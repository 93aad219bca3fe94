"""What tests of recording in kernels share: a model that counts what it is asked, and cells that ask it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from .kernels import PATIENCE, Done, Kernel
from .test_keeping import run_cell

MakeKernel = Callable[..., Kernel]

MODEL = """
from runcell_nb import ModelInfo, FinishDelta, RequestUsage, TextDelta, ToolCallDelta
from runcell_nb.core.messages import ToolMessage
asked = []
class Live:
    name = "live/model"
    def __init__(self): self.answer = "one"
    async def stream(self, request):
        asked.append(request)
        tools = [spec.name for spec in request.tools]
        usage = RequestUsage(100, 10, cost_usd=0.25, priced=True)
        if "stock" in tools and not isinstance(request.messages[-1], ToolMessage):
            yield ToolCallDelta("c1", "stock", '{"item": "nuts"}')
            yield FinishDelta("tool-calls", usage)
            return
        if self.answer is None:
            raise RuntimeError("the model is away")
        yield TextDelta(self.answer)
        yield FinishDelta("stop", usage)
    async def describe(self, name):
        return ModelInfo(name, input_price=1.0)
live = Live()
"""
STOCK = 'called = []\ndef stock(item: str) -> str:\n    """Count."""\n    called.append(item)\n    return "7"'
SESSION = "get_ipython().magics_manager.registry['RuncellMagics'].session"


def ask(kernel: Kernel, prompt: str = "go", cell: str = "cell-a", options: str = "-m live") -> Done:
    return run_cell(kernel, f"%%runcell {options}\n{prompt}", cell)


def answered(kernel: Kernel, answer: str, options: str) -> Done:
    """Run a cell that asks the person something."""
    client = kernel.client
    content = {
        "code": f"%%runcell {options}\ngo",
        "silent": False,
        "store_history": True,
        "allow_stdin": True,
    }
    message = client.session.msg("execute_request", content)
    message["metadata"]["cellId"] = "cell-a"
    client.shell_channel.send(message)
    assert "Run it?" in client.get_stdin_msg(timeout=PATIENCE)["content"]["prompt"]
    client.input(answer)
    return kernel.finish(message["header"]["msg_id"])


def shown(done: Done) -> str:
    return "\n".join(str(data.get("text/plain")) + str(data.get("text/html")) for data in done.displays)


def saved(kernel: Kernel, path: Path) -> None:
    """Write the notebook as a front end would, with what the kernel keeps."""
    state = kernel.run(f"import json; print(json.dumps({SESSION}._keeping.memory._widget().state))").text
    cells = [
        {"cell_type": "code", "id": name, "metadata": {}, "source": "", "outputs": []}
        for name in ("cell-a", "cell-b")
    ]
    notebook = {
        "cells": cells,
        "metadata": {"runcell": json.loads(state)},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(notebook))
