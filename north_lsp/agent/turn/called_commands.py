"""Runs the commands whose output a template wants, before its turn asks a model: each as a call of that model's would
run, with the same questions, and recorded like a command of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio

from north_lsp.agent.calls.dispatch import ToolRunner
from north_lsp.agent.calls.open_calls import OpenCalls
from north_lsp.agent.log.command_details import CommandDetails
from north_lsp.agent.log.projection import own_command_began, own_command_ended
from north_lsp.agent.log.results import OwnCommandEntry
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.results import Result
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.shell.own_commands import KeptCommands
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.storage.entries import now_ms

_MOST = 10
_MOST_BYTES = 8 * 1024


class CalledCommands:
    """Runs the commands of the templates that one turn calls."""

    def __init__(
        self, context: TurnContext, tools: ToolRunner, calls: OpenCalls, kept: KeptCommands, editor: Editor
    ) -> None:
        settings = replace(context.settings, shell_interceptor=False)  # no tool can be used in place of one of these
        self._context = replace(context, settings=settings)
        self._tools = tools
        self._calls = calls
        self._kept = kept
        self._editor = editor

    async def run(self, name: str, commands: Sequence[str]) -> None:
        """Run the commands that `/name` wants the output of, one after the other. What is not run is recorded, too.
        Raises StopTurn."""
        for at, command in enumerate(commands):
            await self._run(name, command, is_one_too_many=at >= _MOST)

    async def _run(self, name: str, command: str, *, is_one_too_many: bool) -> None:
        id = self._kept.reserve()
        entry = OwnCommandEntry(command, cancelled=True, at_ms=now_ms(), called_by=name)
        try:
            for event in own_command_began(id, command):
                await self._editor.show(event)
            if is_one_too_many:
                raise ToolError("TOO_LARGE", f"/{name} has more than {_MOST} commands")
            call = ToolCall(id, "shell_run", {"command": command, "description": f"/{name} wants its output"})
            entry = _ended(entry, await self._tools.run(self._context, call, self._calls))
        except ToolError as error:
            entry = replace(entry, cancelled=False, output=f"(not run: {error.message})")
        finally:
            with anyio.CancelScope(shield=True):  # what was shown as begun is shown as ended
                await self._kept.add(id, entry)
                await self._editor.show(own_command_ended(id, entry))


def _ended(entry: OwnCommandEntry, result: Result) -> OwnCommandEntry:
    told = CommandDetails.of(result.details)
    if told.exit_code is None:
        return replace(entry, cancelled=False, output="(not run: the user denied it)")
    text = result.text.encode("utf-8", "replace")
    if len(text) <= _MOST_BYTES:
        output = result.text
    else:
        lines = text[:_MOST_BYTES].decode("utf-8", "ignore").rpartition("\n")[0]
        output = f"{lines}\n(the first of {len(text):,} bytes)"
    return replace(entry, cancelled=told.timed_out, exit_code=told.exit_code, output=output)
