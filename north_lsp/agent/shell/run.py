"""Runs the commands that the model asks for, and reports on them to the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import anyio
import anyio.to_thread

from north_lsp.agent.edits.unsaved import unsaved_files, unsaved_for_model
from north_lsp.agent.log.command_details import details_of_command
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import CallEnded, CallRunning
from north_lsp.agent.ports.results import Result
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.shell.approve import Approved, CommandApprover
from north_lsp.agent.shell.execute import CommandExecution
from north_lsp.agent.shell.jobs import JobCommands
from north_lsp.agent.shell.output import denied_by_sandbox, notes_of, report_to_model
from north_lsp.agent.shell.quarantine import Quarantine
from north_lsp.agent.shell.strip_head_tail import strip_head_tail
from north_lsp.command_policy.looking import only_looks
from north_lsp.display import one_line, visible
from north_lsp.providers.base import ToolCall
from north_lsp.shell.port import Runner
from north_lsp.shell.results import CommandResult
from north_lsp.storage.artifacts import Artifacts
from north_lsp.tools.base import Command


class ShellCommands:
    """The commands of one session."""

    def __init__(
        self,
        approver: CommandApprover,
        execution: CommandExecution,
        jobs: JobCommands,
        quarantine: Quarantine,
        runner: Runner,
        editor: Editor,
        artifacts: Artifacts | None,
    ) -> None:
        self._approver = approver
        self._execution = execution
        self._jobs = jobs
        self._quarantine = quarantine
        self._runner = runner
        self._editor = editor
        self._artifacts = artifacts

    async def run(self, context: TurnContext, call: ToolCall, title: str, command: Command) -> Result:
        """Run a command, after asking about it unless an earlier answer allows it. Raises StopTurn, ToolError."""
        workspace = context.workspace
        before = self._runner.state(workspace.roots.main)
        approved = await self._approver.approve(context, call, title, command)
        if isinstance(approved, Result):
            return approved
        title, command = _title_of(context, call, title, command, approved), approved.command
        if unsaved := await unsaved_files(workspace):
            approved = replace(approved, notes=(*approved.notes, unsaved_for_model(unsaved, "The command read")))
        await self._editor.show(CallRunning(call.id))
        if command.background and not approved.interactive:
            cwd = command.cwd or self._runner.state(workspace.roots.main).cwd
            self._execution.log_start(call, command)
            return await self._jobs.start(call, title, replace(command, cwd=cwd), approved.shell, [*approved.notes])
        shorter = await anyio.to_thread.run_sync(strip_head_tail, command)
        ran = await self._execution.run(context, call, shorter, approved)
        taken = [*ran.taken]
        notes = [*approved.notes]
        if approved.auto and (why := denied_by_sandbox(ran)) is not None:
            again = await self._approver.approve_outside(context, call, title, command, why)
            if isinstance(again, Approved):
                notes += [
                    f"This failed in the sandbox ({why}); with the user's approval, it ran again outside of it.",
                    *again.notes,
                ]
                title = _title_of(context, call, title, command, again)
                approved, command = again, again.command
                shorter = await anyio.to_thread.run_sync(strip_head_tail, command)
                ran = await self._execution.run(context, call, shorter, approved)
                taken += ran.taken
            else:
                notes += again
        notes += [*notes_of(ran, shorter, offered=approved.auto)]
        notes += await self._quarantine.review(workspace, call, taken)
        notes += [*await self._quarantine.review_late(workspace, call), *self._runner.jobs.take_news()]
        changes = () if approved.shell in ("clean", "bare") else before.changes
        looks = not changes and await anyio.to_thread.run_sync(only_looks, command.command)
        at_root = (command.cwd or before.cwd) == workspace.roots.main
        unfit = _unfit(command, ran, changes, at_root=at_root)
        details_of = partial(details_of_command, ran, looks=looks, unfit=unfit, auto=approved.auto)
        return await self._result(context, call, title, shorter, ran, notes, details_of)

    async def _result(
        self,
        context: TurnContext,
        call: ToolCall,
        title: str,
        command: Command,
        ran: CommandResult,
        notes: list[str],
        details_of: Callable[..., dict[str, object]],
    ) -> Result:
        reading, minimizes = context.settings.reading, context.settings.shell.minimize
        most = None if reading.digest else reading.limits.output_lines
        keep = partial(report_to_model, ran, command, self._artifacts, minimizes=minimizes, notes=notes, most=most)
        text = await anyio.to_thread.run_sync(keep)
        bad = ran.timed_out or (ran.exit_code != 0 and not ran.enough)
        details = details_of(text.number, truncated=text.shortened)
        ended = CallEnded(call.id, title, not bad, visible(text.text), truncation=text.truncation)
        return Result(text.text, bad, ended, details)


def _title_of(context: TurnContext, call: ToolCall, title: str, asked: Command, approved: Approved) -> str:
    """Return the call's title, which is about what runs where the user changed the command."""
    tool = context.tools.find(call.name)
    if tool is None or approved.command.command == asked.command:
        return title
    return one_line(tool.title({**call.arguments, "command": approved.command.command}))


def _unfit(command: Command, ran: CommandResult, changes: Sequence[str], *, at_root: bool) -> str:
    """Say why the exit code of a run does not show what the command alone would; empty if it does."""
    if not at_root:
        return "it ran in another folder; run it in the workspace's root (`cwd`)"
    if command.head is not None or command.tail is not None or ran.enough:
        return "it was run for a part of its output; run it without `head` and `tail`"
    if changes:
        return f"an earlier command {', '.join(changes)}; undo that in the shell, then run it again"
    return ""
