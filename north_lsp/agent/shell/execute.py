"""Runs one approved command: in the session's shell, in the sandbox, or in a terminal of the editor."""

from __future__ import annotations

import time
from functools import partial

from north_lsp.agent.ports.events import CallRunning
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.shell.approve import Approved
from north_lsp.agent.shell.change_observer import ChangeObserver
from north_lsp.agent.shell.terminals import in_terminal
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.shell.output import OutputSink
from north_lsp.shell.port import Runner
from north_lsp.shell.results import CommandResult
from north_lsp.storage.artifacts import Artifacts
from north_lsp.tools.base import Command

_INTERACTIVE_SECONDS = 3600.0


class CommandExecution:
    """Runs the commands of one session."""

    def __init__(self, runner: Runner, observer: ChangeObserver, artifacts: Artifacts | None, ports: Ports) -> None:
        self._runner = runner
        self._observer = observer
        self._artifacts = artifacts
        self._ports = ports

    def log_start(self, call: ToolCall, command: Command) -> None:
        """Log the start of a command; its text is only logged at level `debug`."""
        diagnostics = self._ports.diagnostics
        diagnostics.event("shell_run_start", callId=call.id, cwd=command.cwd, background=command.background)
        diagnostics.debug("shell_run_start_text", command=command.command)

    async def run(self, context: TurnContext, call: ToolCall, command: Command, approved: Approved) -> CommandResult:
        """Run a command until it ends, is cancelled or takes too long. Raises ToolError."""
        self.log_start(call, command)
        started, ran = time.monotonic(), None
        try:
            ran = await self._run(context, call, command, approved)
        finally:
            code, size, late = (
                (None, None, None) if ran is None else (ran.exit_code, ran.output.total_bytes, ran.timed_out)
            )
            took = round((time.monotonic() - started) * 1000)
            self._ports.diagnostics.event(
                "shell_run_complete", callId=call.id, durationMs=took, exitCode=code, bytes=size, timedOut=late
            )
        return ran

    async def _run(self, context: TurnContext, call: ToolCall, command: Command, approved: Approved) -> CommandResult:
        started = time.monotonic()
        runner, workspace = self._runner, context.workspace
        main = workspace.roots.main

        async def on_output(text: str) -> None:
            passed = time.monotonic() - started
            clock = f"[{passed:.0f} s of at most {command.timeout:g} s]" if passed >= 1 else ""
            await self._ports.show(CallRunning(call.id, visible("\n".join(filter(None, (text, clock))))))

        in_client = context.settings.shell_client_terminal and not runner.is_contained(approved.shell)
        if approved.interactive or (in_client and not approved.auto):
            cwd = command.cwd or runner.state(main).cwd
            argv = runner.argv_without_shell(command.command)
            added = {} if approved.interactive else runner.added
            terminal = await self._ports.editor.open_terminal(argv, cwd, added)
            if terminal is None and approved.interactive:
                raise ToolError("UNAVAILABLE", "a terminal that the user types into is not available here")
            if terminal is not None:
                await self._ports.show(CallRunning(call.id, terminal=terminal.id))
                seconds = _INTERACTIVE_SECONDS if approved.interactive else command.timeout
                async with self._observer.around(workspace, call.id, command.command):
                    return await in_terminal(terminal, seconds, cwd)
        spill = None if self._artifacts is None else partial(self._artifacts.stream, "shell_run")
        async with self._observer.around(workspace, call.id, command.command):
            return await runner.run(
                command.command,
                command.cwd,
                command.timeout,
                on_output,
                approved.shell,
                main,
                OutputSink(spill),
                enough=command.head if command.tail is None else None,
            )
