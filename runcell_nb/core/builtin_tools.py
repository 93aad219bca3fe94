"""The tools that every agent has, in the order in which a model sees them."""

from __future__ import annotations

from .builtin_tool import BuiltinTool, ToolWorkspace
from .file_tools import EDIT, LS, READ, WRITE
from .search_tools import GLOB, GREP
from .shell_tool import BASH

__all__ = ["BUILTIN_TOOLS", "RESERVED_NAMES", "BuiltinTool", "ToolWorkspace"]

BUILTIN_TOOLS: dict[str, BuiltinTool] = {
    tool.spec.name: tool for tool in (READ, WRITE, EDIT, BASH, GREP, GLOB, LS)
}

RESERVED_NAMES = frozenset({*BUILTIN_TOOLS, "submitResult", "fileChange"})
"""Names that no other tool may have (FACTS 4.1)."""
