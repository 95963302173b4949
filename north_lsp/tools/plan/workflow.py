"""The tool `workflow`."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.tools.workflows import WorkflowAction, WorkflowCall
from north_lsp.vocabulary import Kind
from north_lsp.workspace.workspace import Workspace


class WorkflowArgs(Arguments):
    action: WorkflowAction
    workflow: str = Field("", description="For `start`: clarify, plan, execute-and-verify or parallelize.")
    title: str = Field(
        "", description="For `start`: what it is about, in a few words, or the folder of an earlier one."
    )
    to: str = Field("", description="For `move`: the next phase.")
    note: str = Field("", description="For `move`: why.")
    document: str = Field("", description="For `write`: unknowns, spec, plan or packages.")
    content: str = Field("", description="For `write`: the whole document.")


class WorkflowTool(Tool):
    """Takes a conversation through a workflow, phase by phase."""

    name = "workflow"
    kind: Kind = "think"
    needs = frozenset({"plan"})
    modes = frozenset({"agent"})
    discoverable: bool = True
    args = WorkflowArgs

    def title(self, args: dict[str, Any]) -> str:
        match args.get("action"):
            case "start":
                return f"Begin the workflow {args.get('workflow', '…')}"
            case "move":
                return f"Continue with the phase {args.get('to', '…')}"
            case "write":
                return f"Write the workflow's {args.get('document', '…')}"
            case _:
                return "Look at the workflow"

    async def invoke(self, args: WorkflowArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        words = (args.workflow, args.title, args.to, args.note, args.document, args.content)
        return await host.change_workflow(WorkflowCall(args.action, *words))
