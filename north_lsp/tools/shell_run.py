"""`shell_run`: one command in the session's shell, after the user's approval."""

from typing import Any

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.base import Command, ShellTool, Workspace
from north_lsp.tools.registry import Arguments

_MAX_COMMAND_BYTES = 32 * 1024


class ShellRunArgs(Arguments):
    command: str = Field(min_length=1)
    cwd: str | None = Field(None, description="For this command only; relative to the workspace root.")
    timeout: float = Field(60, ge=1, le=3600, description="Seconds.")
    outside_sandbox: bool = Field(False, description="After a denial by the sandbox: ask the user to run it outside.")
    description: str | None = Field(None, max_length=80, description="Why, shown to the user.")


class ShellRun(ShellTool):
    name = "shell_run"
    args = ShellRunArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Running {args.get('command', '…')}"

    def command(self, args: ShellRunArgs, workspace: Workspace) -> Command:
        if not args.command.strip():
            raise ToolError("INVALID_INPUT", "the command is blank")
        if "\0" in args.command:
            raise ToolError("INVALID_INPUT", "the command contains a NUL character")
        if len(args.command.encode("utf-8", "replace")) > _MAX_COMMAND_BYTES:
            raise ToolError(
                "TOO_LARGE", f"the command is longer than {_MAX_COMMAND_BYTES} bytes", "write a script file"
            )
        cwd = None
        if args.cwd is not None:
            resolved = workspace.roots.resolve(args.cwd)
            if not resolved.path.is_dir():
                state = "is not a folder" if resolved.exists else "does not exist"
                raise ToolError("NOT_FOUND", f"cwd {args.cwd!r} ({resolved.path}) {state}")
            cwd = resolved.path
        return Command(args.command, cwd, args.timeout, args.description, args.outside_sandbox)
