"""The tool `enter_plan_mode`."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.vocabulary import Kind
from north_lsp.workspace.workspace import Workspace


class EnterPlanModeArgs(Arguments):
    reason: str = Field(min_length=1, description="Why a plan is needed first, in a sentence.")


class EnterPlanMode(Tool):
    """Proposes plan mode to the user, who decides."""

    name = "enter_plan_mode"
    kind: Kind = "other"
    needs = frozenset({"plan", "ask"})
    modes = frozenset({"agent", "ask"})
    discoverable: bool = True
    args = EnterPlanModeArgs

    def title(self, args: dict[str, Any]) -> str:
        return "Propose plan mode"

    async def invoke(self, args: EnterPlanModeArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.propose_planning(args.reason)
