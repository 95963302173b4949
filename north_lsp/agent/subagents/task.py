"""`task`: has agents work on parts of what is to be done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from north_lsp.agent.subagents.definition import Definition
from north_lsp.agent.subagents.tool_words import TASK
from north_lsp.display import one_line
from north_lsp.tools.base import Caller, DescribedTool, Host, Output, R
from north_lsp.vocabulary import Mode
from north_lsp.workspace.workspace import Workspace

_MOST_NAMED = 20
_SHOWN = 120
_DESCRIPTION = (
    "Agents with a context of their own do tasks side by side. You get only their results, so a prompt must say "
    "everything. Agents: "
)
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "tasks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": _TEXT,
                    "agent": _TEXT,
                    "prompt": _TEXT,
                    "files": _TEXTS,
                    "skills": _TEXTS,
                    "schema": {"type": "object"},
                    "background": {"type": "boolean"},
                    "isolation": {"enum": ["none", "worktree"]},
                },
                "required": ["agent", "prompt"],
            },
        }
    },
    "required": ["tasks"],
}

Delegate = Callable[[Mapping[str, Any], Caller], Awaitable[Output]]


class Task(DescribedTool):
    """The tool. `delegate` has the tasks of a call done; `agents` are those that are told of."""

    name = TASK
    kind = "other"
    needs = frozenset({"agents"})
    modes: frozenset[Mode] = frozenset({"ask", "agent", "plan"})
    parallel = True
    schema = _SCHEMA

    def __init__(self, delegate: Delegate, agents: Sequence[Definition]) -> None:
        self._delegate = delegate
        self.description = _DESCRIPTION + _named(agents)

    def title(self, args: dict[str, Any]) -> str:
        tasks = args.get("tasks", [args] if "agent" in args else [])
        names = (
            [str(one.get("agent", "…")) for one in tasks if isinstance(one, Mapping)] if isinstance(tasks, list) else []
        )
        return one_line(f"Agents at work: {', '.join(names)}" if names else "Agents at work: …")

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.delegate(lambda caller: self._delegate(args, caller))


def _named(agents: Sequence[Definition]) -> str:
    """Name the agents; those that are not North's own, with what they are for."""
    own = [one.name for one in agents if one.source.family == "builtin"]
    others = [one for one in agents if one.source.family != "builtin"][:_MOST_NAMED]
    rows = [f"\n- {one_line(one.name, 60)}: {one_line(one.description, _SHOWN)}" for one in others]
    return f"{', '.join(own)}.{''.join(rows)}"
