"""Asks another gateway: by its model id or as an object, as leniently as the engine asks."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator
from typing import Any

from runcell_nb.core.backends import load_gateway
from runcell_nb.core.errors import InvalidOptionError
from runcell_nb.core.gateway import ModelDelta, ModelGateway, ModelInfo, ModelRequest


class AskedGateway:
    """A gateway behind another one.

    Args:
        model: A model id, with keys from the environment, or a gateway.

    Attributes:
        name: By which the model is asked.

    Raises:
        InvalidOptionError: It is neither.
    """

    def __init__(self, model: str | ModelGateway) -> None:
        if isinstance(model, str) and model.strip():
            self.name, self._gateway = model, load_gateway(model)
        elif not isinstance(model, (str, type)) and isinstance(model, ModelGateway):
            self.name, self._gateway = str(getattr(model, "name", type(model).__name__)), model
        else:
            raise InvalidOptionError(
                f"gateway must be a name like 'anthropic/claude-sonnet-5-5' or a ModelGateway, got {model!r}."
            )

    @property
    def inner(self) -> ModelGateway:
        """The gateway itself."""
        return self._gateway

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta, None]:
        """Pass a request on; whoever closes this closes the inner stream, too.

        Raises:
            InvalidOptionError: The inner gateway returns no stream.
        """
        stream: Any = self._gateway.stream(request)
        if inspect.isawaitable(stream):
            stream = await stream
        if not hasattr(stream, "__aiter__"):
            raise InvalidOptionError(
                f"stream of a gateway must return an async iterator of deltas, got {stream!r}."
            )
        try:
            async for delta in stream:
                yield delta
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    async def describe(self, name: str) -> ModelInfo:
        """Describe the model, by the inner gateway."""
        described: Any = self._gateway.describe(name)
        info = await described if inspect.isawaitable(described) else described
        if not isinstance(info, ModelInfo):
            raise InvalidOptionError(f"describe of a gateway must return a ModelInfo, got {info!r}.")
        return info
