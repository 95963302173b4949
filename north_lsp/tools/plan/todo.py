"""The tool `todo`."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.tools.todo_list import Action, Change, Phase, Task
from north_lsp.vocabulary import Kind
from north_lsp.workspace.workspace import Workspace


def _absent() -> Any:
    return None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        return {key: one for key, one in value.items() if one is not None} if isinstance(value, dict) else value


class _NewPhase(_Strict):
    phase: str
    items: list[str] = Field(min_length=1)


class _Operation(_Strict):
    """Describe one operation. What may be left out is None then, which its schema need not say."""

    op: Action
    phases: list[_NewPhase] = Field(default_factory=_absent, alias="list")
    task: str = Field(default_factory=_absent)
    phase: str = Field(default_factory=_absent)
    items: list[str] = Field(default_factory=_absent)

    def change(self) -> Change:
        phases: tuple[Phase, ...] | None = None
        if self.phases is not None:
            phases = tuple(Phase(one.phase, tuple(map(Task, one.items))) for one in self.phases)
        return Change(self.op, phases, self.task, self.phase, tuple(self.items) if self.items is not None else None)


class TodoArgs(Arguments):
    ops: list[_Operation] = Field(min_length=1)


class Todo(Tool):
    """Keeps the list of what is to be done in a conversation."""

    name = "todo"
    also = ("todo_write",)
    kind: Kind = "think"
    needs = frozenset({"todo"})
    modes = frozenset({"ask", "agent", "plan"})
    args = TodoArgs

    def title(self, args: dict[str, Any]) -> str:
        ops = args.get("ops")
        names = {one.get("op") for one in ops if isinstance(one, dict)} if isinstance(ops, list) else set()
        return "Look at the todo list" if names == {"view"} else "Update the todo list"

    async def invoke(self, args: TodoArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.change_todo([one.change() for one in args.ops])
