"""Where the model servers of this machine listen: their documented defaults and variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from runcell_nb.core.errors import InvalidOptionError

_EVERY_INTERFACE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""A server that listens on every interface is asked on this one."""

_HOST = re.compile(r"[\w.:%-]+")


@dataclass(frozen=True, slots=True)
class LocalKind:
    """A kind of model server.

    Attributes:
        label: Its name for a person.
        provider: litellm's name of it, with which tools and streaming work.
        port: On which it listens unless told otherwise.
        path: Where its chat API begins, as litellm wants it.
        variables: That may hold its address, the first that is set counts.
    """

    label: str
    provider: str
    port: int
    path: str
    variables: tuple[str, ...]

    @property
    def default(self) -> str:
        """Its base URL when no variable is set."""
        return f"http://127.0.0.1:{self.port}{self.path}"


OLLAMA = LocalKind("Ollama", "ollama_chat", 11434, "", ("OLLAMA_BASE_URL", "OLLAMA_API_BASE", "OLLAMA_HOST"))
LM_STUDIO = LocalKind("LM Studio", "lm_studio", 1234, "/v1", ("LM_STUDIO_BASE_URL", "LM_STUDIO_API_BASE"))
LLAMA_CPP = LocalKind("llama.cpp", "llamafile", 8080, "/v1", ("LLAMAFILE_BASE_URL", "LLAMAFILE_API_BASE"))
VLLM = LocalKind("vLLM", "hosted_vllm", 8000, "/v1", ("HOSTED_VLLM_BASE_URL", "HOSTED_VLLM_API_BASE"))
LOCAL_KINDS = (OLLAMA, LM_STUDIO, LLAMA_CPP, VLLM)
"""The servers that are noticed. llama.cpp's goes by the name of llamafile, which is built from it."""

_BY_PROVIDER = {"ollama": OLLAMA, **{kind.provider: kind for kind in LOCAL_KINDS}}


def kind_of(provider: str) -> LocalKind | None:
    """Return the kind of server that a provider of litellm's stands for, or None."""
    return _BY_PROVIDER.get(provider)


def chosen_address(kind: LocalKind, environ: Mapping[str, str]) -> str | None:
    """Return the base URL that the environment sets for a kind of server, or None.

    Args:
        kind: Of server.
        environ: The environment. `host`, `host:port` and URLs are all taken.

    Raises:
        InvalidOptionError: The variable holds no address.
    """
    for variable in kind.variables:
        value = environ.get(variable, "").strip(" \"'")
        if value:
            return _base_url(value, kind, variable)
    return None


def _base_url(value: str, kind: LocalKind, variable: str) -> str:
    has_scheme = "://" in value
    try:
        parts = urlsplit(value if has_scheme else f"http://{value}")
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        raise _no_address(value, kind, variable) from None
    if parts.scheme not in ("http", "https") or not parts.netloc or not _HOST.fullmatch(host):
        raise _no_address(value, kind, variable)
    host = _EVERY_INTERFACE.get(host, host)
    port = port or (None if has_scheme else kind.port)
    user, at, _ = parts.netloc.rpartition("@")
    netloc = f"{user}{at}{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"
    return f"{parts.scheme}://{netloc}{parts.path.rstrip('/') or kind.path}"


def _no_address(value: str, kind: LocalKind, variable: str) -> InvalidOptionError:
    shown = "what it holds" if "@" in value else repr(value)  # a password may stand before the @
    return InvalidOptionError(f"{variable} is no address: {shown}; give it like {kind.default}.")
