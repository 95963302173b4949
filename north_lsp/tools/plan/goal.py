"""The tool `goal`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.tools.goals import GoalAction, GoalChange
from north_lsp.vocabulary import Kind
from north_lsp.workspace.workspace import Workspace


class _Criterion(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    text: str
    command: str = ""


class GoalArgs(Arguments):
    action: GoalAction
    statement: str = Field("", description="For `set`: what is to be reached.")
    criteria: list[_Criterion] = Field(default_factory=list, description="For `set`.")
    id: str = Field("", description="For `evidence`: the criterion.")
    text: str = Field("", description="The criterion, what you saw, or what blocks the goal.")
    command: str = Field("", description="For `add_criterion`: a command that has to exit with 0.")


class GoalTool(Tool):
    """Keeps the goal of a conversation, and the evidence that it is reached."""

    name = "goal"
    kind: Kind = "think"
    needs = frozenset({"todo"})
    modes = frozenset({"ask", "agent", "plan"})
    discoverable: bool = True
    args = GoalArgs

    def title(self, args: dict[str, Any]) -> str:
        return {"view": "Look at the goal", "complete": "Complete the goal"}.get(str(args.get("action")), "Goal")

    async def invoke(self, args: GoalArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        rows = tuple((one.text, one.command) for one in args.criteria)
        return await host.change_goal(GoalChange(args.action, args.statement, rows, args.id, args.text, args.command))
