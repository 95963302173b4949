"""The slash commands about agents, as far as they need a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from north_lsp.agent.prompts import render
from north_lsp.display import money, one_line, visible
from north_lsp.errors import ToolError
from north_lsp.slash.base import CommandError

if TYPE_CHECKING:
    from north_lsp.agent.ports.events import TaskRow
    from north_lsp.agent.session.live import LiveSession

_LONGEST = 40_000


class AgentsHost:
    """The part of a slash command's `Host` that is about agents. Every method may raise CommandError."""

    def __init__(self, session: LiveSession) -> None:
        self._worker = session

    async def agents(self) -> str:
        from north_lsp.agent.subagents.sources import Agents  # loads what agents are made of

        known, kind = await self._worker.agents.known(), Agents()
        rows = [
            f"- **{visible(one.name)}** ({kind.placed(one, visible(one.source.shown))}"
            f"{f', not used: {visible(one.why)}' if one.why else ''}): {visible(one.description)}"
            for one in known.all
        ]
        problems = [f"- {visible(problem)}" for problem in known.problems]
        told = ["", "**Problems**", *problems] if problems else []
        return "\n".join([*rows, *told])

    def draft_of_agent(self, text: str) -> str:
        return render("draft_agent", text=text)

    async def tasks(self) -> str:
        rows = self._worker.agents.listed()
        return "\n".join(map(_line, rows)) or "No agent has been given a task in this conversation."

    async def task(self, id: str) -> str:
        try:
            text = await self._worker.agents.transcript(id)
        except ToolError as error:
            raise CommandError(error.message) from None
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n\n[{len(text) - _LONGEST:,} more characters]"

    def cancel_task(self, id: str) -> str:
        if not self._worker.agents.cancel(id):
            raise CommandError(f"no agent works on a task {one_line(id, 60)}: `/tasks` lists them")
        return f"The task `{id}` is cancelled."


def _line(row: TaskRow) -> str:
    from north_lsp.agent.subagents.progress import WORDS

    action = f": {visible(row.action)}" if row.action and row.state == "running" else ""
    described = f" – {visible(row.description)}" if row.description else ""
    cost = f", {money(row.cost_usd)}" if row.cost_usd else ""
    state = WORDS.get(row.state, row.state)
    return f"- `{row.id}` **{visible(row.agent)}**{described}: {state}{action} ({row.tokens:,} tokens{cost})"
