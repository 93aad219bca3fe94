"""The built-in tool that runs shell commands (FACTS 4.12)."""

from __future__ import annotations

from pydantic import Field

from .builtin_tool import ToolArguments, ToolWorkspace, builtin_tool
from .outcome import ToolOutcome, text_outcome
from .output_text import MAX_OUTPUT_CHARS
from .sandbox import ExecResult

DEFAULT_TIMEOUT = 120.0
MAX_TIMEOUT = 3600.0


class _Bash(ToolArguments):
    command: str = Field(min_length=1, description="Shell command; it starts in the workspace.")
    timeout: float = Field(
        DEFAULT_TIMEOUT, gt=0, le=MAX_TIMEOUT, description="Seconds after which it is stopped."
    )


async def _bash(arguments: _Bash, workspace: ToolWorkspace) -> ToolOutcome:
    await workspace.watch.baseline()
    result = await workspace.sandbox.exec(arguments.command, timeout=arguments.timeout)
    changes = tuple(await workspace.watch.changes())
    text = await workspace.outputs.fitted(_text(result))
    return text_outcome(text, exit_code=result.exit_code, changes=changes)


def _text(result: ExecResult) -> str:
    text = result.stdout
    for part in (result.stderr, f"(exit {result.exit_code})" if result.exit_code else ""):
        if part:
            text += ("\n" if text and not text.endswith("\n") else "") + part
    return text or "(no output)"


BASH = builtin_tool(
    "bash",
    "Run a shell command and read its output, errors and exit code. Neither cd nor export lasts until the "
    f"next call. Output longer than {MAX_OUTPUT_CHARS} characters is cut in the middle and kept in a file.",
    _Bash,
    _bash,
    serial=True,
)
