"""`shell_run`: runs one command in the session's shell, after the user's approval."""

from __future__ import annotations

import math
import os
import re
import shlex
from typing import Any

from pydantic import Field, model_validator

from north_lsp.errors import ToolError
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Command, ShellTool
from north_lsp.workspace.workspace import Workspace

MAX_COMMAND_BYTES = 32 * 1024
_MIN_SECONDS, _MAX_SECONDS = 1.0, 3600.0
_MAX_LINES = 10_000
_MAX_DESCRIPTION = 80


class ShellRunArgs(Arguments):
    command: str = Field(min_length=1)
    cwd: str | None = Field(None, description="For this command only; relative to the workspace root.")
    timeout: float | None = Field(None, description="Seconds, 1 to 3600; usually 60 by default.")
    head: int | None = Field(None, description="Only the first lines of the output.")
    tail: int | None = Field(None, description="Only the last lines of the output.")
    background: bool = Field(False, description="Start it as a job and continue; it can read what job input sends.")
    keep: bool = Field(False, description="With background: ask the user to let it keep running after North ends.")
    outside_sandbox: bool = Field(False, description="After a denial by the sandbox: ask the user to run it outside.")
    description: str | None = Field(None, description="Why, in at most 80 characters, shown to the user.")

    @model_validator(mode="before")
    @classmethod
    def _milliseconds(cls, values: Any) -> Any:
        """Accept `timeoutMs`, which models that were trained on other tools send."""
        if isinstance(values, dict) and "timeout" not in values:
            given = values.get("timeoutMs")
            if isinstance(given, int | float) and not isinstance(given, bool):
                return {**values, "timeout": given / 1000}
        return values


_SKILL_WORD = lazy_pattern(  # text in quotes, and what is behind a backslash, stays as it is
    r"""(?<![^\s=;|&(<>])(?P<mark>["']?)skill://(?P<address>[\w.:%/-]+)(?P=mark)(?![^\s;|&)<>])"""
    r"""|\\.|'[^']*'|"(?:[^"\\]|\\.)*\"""",
    re.DOTALL,
)


def _with_skill_files(command: str, workspace: Workspace) -> str:
    """Put the real paths in place of words like `skill://name/file`. Raises ToolError for one that is not there."""
    skills = workspace.addresses.skills
    if skills is None or "skill://" not in command:
        return command

    def put(match: re.Match[str]) -> str:
        return match[0] if match["address"] is None else shlex.quote(str(skills.skill_path(match["address"])))

    return _SKILL_WORD.sub(put, command)


class ShellRun(ShellTool):
    name = "shell_run"
    args = ShellRunArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"{'Starting' if args.get('background') is True else 'Running'} {args.get('command', '…')}"

    def command(self, args: ShellRunArgs, workspace: Workspace) -> Command:
        check_command(args.command)
        if args.keep and not args.background:
            raise ToolError("INVALID_INPUT", "keep is for commands in the background", "set background: true")
        cwd = None
        if args.cwd is not None:
            resolved = workspace.trees.resolve_readable(args.cwd)
            if not os.path.isdir(resolved.path):
                state = "is not a folder" if resolved.exists else "does not exist"
                raise ToolError("NOT_FOUND", f"cwd {args.cwd!r} ({resolved.path}) {state}")
            cwd = resolved.path
        notices: list[str] = []
        seconds = workspace.settings.command_seconds
        if args.timeout is not None:
            seconds = _within(args.timeout, _MIN_SECONDS, _MAX_SECONDS, "timeout", notices, seconds)
        head, tail = (
            None if given is None else round(_within(given, 1, _MAX_LINES, name, notices))
            for name, given in (("head", args.head), ("tail", args.tail))
        )
        description = args.description
        if description is not None and len(description) > _MAX_DESCRIPTION:
            description = f"{description[: _MAX_DESCRIPTION - 1]}…"
            notices.append(f"description was cut to {_MAX_DESCRIPTION} characters")
        return Command(
            _with_skill_files(args.command, workspace),
            cwd,
            seconds,
            description,
            args.outside_sandbox,
            head,
            tail,
            args.background,
            args.keep,
            tuple(notices),
        )


def check_command(command: str) -> None:
    """Check that a command could be run at all. Raises ToolError."""
    if not command.strip():
        raise ToolError("INVALID_INPUT", "the command is blank")
    if "\0" in command:
        raise ToolError("INVALID_INPUT", "the command contains a NUL character")
    if len(command.encode("utf-8", "replace")) > MAX_COMMAND_BYTES:
        raise ToolError("TOO_LARGE", f"the command is longer than {MAX_COMMAND_BYTES} bytes", "write a script file")


def _within(
    given: float, least: float, most: float, name: str, notices: list[str], otherwise: float = math.nan
) -> float:
    used = otherwise if math.isnan(given) else min(max(given, least), most)
    if used != given:
        notices.append(f"{name} {given:g} is out of range; {used:g} was used")
    return used
