"""The commands for what is planned: the todo list, plan mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.slash.base import Command, Reply, UsageError

_CHANGES = ("add", "start", "done", "drop", "rm")


class HostForPlanning(Protocol):
    """What commands about plans and the todo list ask of a session. Every method may raise CommandError."""

    async def set_mode(self, id: str) -> None: ...

    def plan(self) -> str:
        """Show the plan and where it is kept, in Markdown."""
        ...

    def todo(self) -> str:
        """Return the todo list in Markdown; empty if there is none."""
        ...

    async def open_todo(self) -> None:
        """Have a client in which the todo list can be edited open it."""
        ...

    async def set_todo(self, text: str) -> None:
        """Replace the todo list by one in Markdown."""
        ...

    async def change_todo(self, op: str, text: str) -> None:
        """Add a task, or start, finish, drop or remove the one whose text begins so."""
        ...


async def _todo(host: HostForPlanning, words: Sequence[str]) -> Reply:
    op, _, rest = (words[0] if words else "").partition(" ")
    first, _, below = (words[0] if words else "").partition("\n")
    if first.strip() == "set":
        await host.set_todo(below)
    elif op == "set":
        await host.set_todo(words[0].removeprefix("set").strip())
    elif words == ("clear",):
        await host.set_todo("")
    elif op in _CHANGES and rest.strip():
        await host.change_todo(op, rest.strip())
    elif words:
        raise UsageError("A list is in Markdown.")
    else:
        await host.open_todo()
    return Reply(host.todo() or "The todo list is empty.")


async def _plan(host: HostForPlanning, words: Sequence[str]) -> Reply:
    match list(words):
        case []:
            return Reply(host.plan())
        case ["on" | "resume"]:
            await host.set_mode("plan")
            return Reply("Plan mode, from the next prompt on: nothing but the plan is written until you approve it.")
        case ["off"]:
            await host.set_mode("agent")
            return Reply("Agent mode, from the next prompt on. The plan is kept: `/plan resume` continues it.")
        case _:
            raise UsageError


PLANNING = (
    Command("plan", "Show the plan, or switch plan mode on or off", _plan, "[on|off|resume]"),
    Command(
        "todo",
        "Show or change the list of what is to be done",
        _todo,
        "[add|start|done|drop|rm <task>|set <list>|clear]",
        takes_text=True,
    ),
)
