"""The tool `write_plan`."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.vocabulary import Kind
from north_lsp.workspace.workspace import Workspace


class WritePlanArgs(Arguments):
    content: str = Field(min_length=1, description="The whole plan, in Markdown.")


class WritePlan(Tool):
    """Writes the plan of a conversation, the only file that plan mode writes."""

    name = "write_plan"
    kind: Kind = "think"
    needs = frozenset({"plan"})
    modes = frozenset({"plan"})
    args = WritePlanArgs

    def title(self, args: dict[str, Any]) -> str:
        return "Write the plan"

    async def invoke(self, args: WritePlanArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.write_plan(args.content)
