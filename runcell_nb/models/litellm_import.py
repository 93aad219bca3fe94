"""litellm, imported once, in a thread, and only when a model of its is used.

The import takes 2-8 s and some 200 MB, and its first call imports for another second, so neither runs on
the event loop; `preload` starts them early.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import threading
from concurrent.futures import Future
from typing import Any

_BEFORE_IMPORT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise the import fetches prices over the network
    "LITELLM_MODE": "PRODUCTION",  # otherwise the import reads a `.env` of the working directory
}

_lock = threading.Lock()
_loading: Future[Any] | None = None


def preload() -> Future[Any]:
    """Start the import in a background thread unless it has begun.

    Returns:
        The future of the module; a failed import is tried again by the next call.
    """
    global _loading
    with _lock:
        if _loading is None or (_loading.done() and _loading.exception() is not None):
            _loading = Future()
            _loading.set_running_or_notify_cancel()  # so that a cancelled waiter cannot cancel the import
            threading.Thread(target=_import, args=(_loading,), name="import litellm", daemon=True).start()
        return _loading


async def load() -> Any:
    """Return the module without blocking the event loop.

    Raises:
        ImportError: litellm, or something that it needs, is not installed.
    """
    future = preload()
    return future.result() if future.done() else await asyncio.wrap_future(future)


def _import(future: Future[Any]) -> None:
    try:
        for name, value in _BEFORE_IMPORT.items():
            os.environ.setdefault(name, value)
        module = importlib.import_module("litellm")
        _quieten(module)
        with contextlib.suppress(Exception):  # it only saves time
            asyncio.run(_warm_up(module))
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(module)


def _quieten(module: Any) -> None:
    """Stop what litellm does on the side: lines it prints (they can hold keys), tokenizers it downloads.

    For each model of Ollama's it also asks a server about the model, several times a call and once of them
    on the event loop, and not always the server of the call. All it would learn is that the price is 0.
    """
    module.suppress_debug_info = True
    module.disable_hf_tokenizer_download = True
    ollama = importlib.import_module("litellm.llms.ollama.common_utils")
    ollama.OllamaModelInfo.get_model_info = _no_model_info
    if "LITELLM_LOG" not in os.environ:
        logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)


def _no_model_info(*_: object, **__: object) -> None:
    """Have nothing to tell, upon which litellm goes by its own table."""


async def _warm_up(module: Any) -> None:
    """Make litellm's first call, which imports 200 modules, without sending anything."""
    stream = await module.acompletion(
        model="openai/gpt-4o",
        messages=[{"role": "user", "content": "Hi."}],
        api_key="none",
        mock_response="Hi.",
        stream=True,
        stream_options={"include_usage": True},
    )
    async for chunk in stream:
        if getattr(chunk, "usage", None) is not None:
            break  # past its usage the stream would wake litellm's logging worker
    await stream.aclose()
