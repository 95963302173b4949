"""The tool `exit_plan_mode`."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.vocabulary import Kind
from north_lsp.workspace.workspace import Workspace


class ExitPlanModeArgs(Arguments):
    summary: str = Field("", description="What the plan comes to, in a sentence or two.")


class ExitPlanMode(Tool):
    """Presents the plan to the user, who alone ends plan mode."""

    name = "exit_plan_mode"
    kind: Kind = "other"
    needs = frozenset({"plan", "ask"})
    modes = frozenset({"plan"})
    args = ExitPlanModeArgs

    def title(self, args: dict[str, Any]) -> str:
        return "Present the plan"

    async def invoke(self, args: ExitPlanModeArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.present_plan(args.summary)
