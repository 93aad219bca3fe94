"""Agents that work in a sandbox of files, in a Jupyter notebook or as a plain library.

Everything public is importable from here and loaded on first use (PEP 562), so that
`import runcell_nb` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ._version import __version__ as __version__

_MODULES = {
    ".core.agent": ("Agent", "create_agent"),
    ".core.callbacks": ("AgentEvents",),
    ".core.errors": (
        "CredentialError",
        "ExtensionError",
        "IncompleteResultError",
        "InvalidOptionError",
        "LimitExceededError",
        "RuncellError",
        "RuncellNotImplementedError",
        "TurnError",
    ),
    ".core.events": (
        "CompactionEvent",
        "ErrorEvent",
        "FileChangeEvent",
        "FinishEvent",
        "ReasoningEvent",
        "RepairEvent",
        "RequestFinishedEvent",
        "RequestStartedEvent",
        "RetryEvent",
        "RunEvent",
        "RunStartedEvent",
        "TextEvent",
        "ToolCallEvent",
        "ToolInputEvent",
        "ToolResultEvent",
    ),
    ".core.files": ("ChangedFile", "FileInput", "normalize_files"),
    ".core.gateway": (
        "ContextOverflowError",
        "ErrorDelta",
        "FinishDelta",
        "ModelDelta",
        "ModelGateway",
        "ModelInfo",
        "ModelRequest",
        "ReasoningDelta",
        "RetryDelta",
        "TextDelta",
        "ThinkingLevel",
        "ToolArgumentsDelta",
        "ToolCallDelta",
        "UsageDelta",
    ),
    ".core.credential_store": ("CredentialStore",),
    ".core.credentials": ("normalize_credentials",),
    ".core.limits": ("RunLimits",),
    ".core.paths": ("assert_safe_workspace_path",),
    ".core.result": ("RunResult",),
    ".core.run": ("AgentRun",),
    ".core.sandbox": ("ExecResult", "FileInfo", "Sandbox", "SandboxProvider", "SandboxSession"),
    ".core.sandbox_options": (
        "SandboxOption",
        "create_sandbox",
        "create_sandbox_provider",
        "create_virtual_sandbox",
        "resolve_sandbox_config",
        "restore_sandbox",
    ),
    ".core.snapshot": ("SandboxSnapshot",),
    ".core.thread": ("Thread", "ThreadMessage", "ThreadState", "create_thread", "thread_from_dict"),
    ".core.tool_content": (
        "TOOL_CONTENT_TYPE",
        "ToolContent",
        "ToolContentImageInput",
        "ToolContentImageMediaType",
        "ToolContentImagePart",
        "ToolContentPart",
        "ToolContentPartInput",
        "ToolContentTextPart",
        "is_tool_content",
        "tool_content",
    ),
    ".core.function_tool": ("tool",),
    ".core.tools": ("Identity", "ToolContext", "ToolDefinition"),
    ".core.usage": ("RequestUsage", "RunUsage", "get_run_usage"),
    ".models.recording_gateway": ("RecordingGateway",),
    ".models.replay_gateway": ("ReplayGateway",),
    ".models.scripted": ("ScriptedModel",),
    ".notebook.extension": ("load_ipython_extension", "unload_ipython_extension"),
    ".notebook.file_browser": ("FileBrowser",),
    ".notebook.run_view": ("RunView",),
    ".notebook.thread_browser": ("ThreadBrowser",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
