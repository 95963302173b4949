"""`remember`: notes a fact for later conversations, if the user agrees."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from north_lsp.display import one_line
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.workspace.workspace import Workspace


class RememberArgs(Arguments):
    text: str = Field(min_length=1, max_length=2000, description="The fact, understandable alone.")
    kind: Literal["decision", "constraint", "preference", "failure", "workflow", "fact"] = "fact"


class Remember(Tool):
    name = "remember"
    kind = "think"
    needs = frozenset({"ask"})
    modes = frozenset({"ask", "agent", "plan"})
    args = RememberArgs

    def title(self, args: dict[str, Any]) -> str:
        return one_line(f"Remembering: {args.get('text', '…')}")

    async def invoke(self, args: RememberArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        note = await host.remember(args.kind, args.text)
        return Output(self.title({"text": args.text}), {"noted": note})
