"""What the calls of an agent are carried out with: as those of the conversation, under the agent's name, so that its
edits are among those that can be undone there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from north_lsp.agent.calls.host import CallHost, HostServices
from north_lsp.agent.edits.review import EditReviewer
from north_lsp.agent.ports.results import Result
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.subagents.agent_editor import Names
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.tools.base import Tool
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.workspace import Workspace


class AgentServices(HostServices):
    """The services of one agent."""

    def __init__(self, services: HostServices, names: Names) -> None:
        super().__init__(services.edits, services.carriers, services.abandoned, services.ports)
        self._names = names

    def for_call(
        self, context: TurnContext, tool: Tool, call: ToolCall, title: str, keep: Callable[[str, Result], None]
    ) -> CallHost:
        def kept(_: str, result: Result) -> None:
            keep(call.id, result)

        named = replace(call, id=self._names.call(call.id))
        return super().for_call(context, tool, named, self._names.title(title), kept)


class AgentEdits(EditReviewer):
    """Reviews the edits of one agent under its name, also those in the text of its answers."""

    names: Names

    async def undone(self, workspace: Workspace, path: str | None, steps: int) -> Sequence[FileChange]:
        raise ToolError("UNAVAILABLE", "nothing is kept here that could be undone")

    async def review(
        self,
        workspace: Workspace,
        call: ToolCall,
        title: str,
        changes: Sequence[FileChange],
        keep: Callable[[Result], None] = lambda result: None,
        asks: Sequence[str] = (),
    ) -> Result:
        named = replace(call, id=self.names.call(call.id))
        return await super().review(workspace, named, self.names.title(title), changes, keep, asks)
