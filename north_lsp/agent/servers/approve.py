"""Asks the user about calls of other programs' tools, unless an earlier answer allows them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import anyio.to_thread

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.log.reviews import StoredDecision, ToolRequest
from north_lsp.agent.ports.editor import Choice
from north_lsp.agent.ports.events import CallEnded
from north_lsp.agent.ports.results import Result, ok
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.display import fenced, one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.tools.base import Question

_STATUSES = {"run": "ran", "always": "always"}
_OPTIONS = (("run", "Run"), ("always", "Always run this tool in this project"), ("deny", "Deny"))


@dataclass(frozen=True, slots=True)
class ToolApprover:
    """Approves the calls of one session. `has_secret` tells whether arguments have a value in them that no model is
    told: that a server gets it needs approval every time."""

    reviews: ReviewRecord
    has_secret: Callable[[dict[str, object]], bool]
    ports: Ports

    async def permit(self, call: ToolCall, title: str, question: Question) -> Result | None:
        """Ask about a call; a result means that it is not made."""
        reviews, approvals = self.reviews, self.reviews.approvals
        has_secret = await anyio.to_thread.run_sync(self.has_secret, question.arguments)
        if not has_secret and not question.asks:
            return None
        if not has_secret and await anyio.to_thread.run_sync(approvals.tool_allowed, question.name, question.digest):
            return None
        request = ToolRequest(question.name, question.server, question.tool, question.arguments)
        review = reviews.open(call.id, request).id
        await reviews.sync_question()
        asked = f"Run {one_line(question.tool, 100)} of the MCP server {one_line(question.server, 100)}?"
        options = _OPTIONS if question.asks and not has_secret else (_OPTIONS[0], _OPTIONS[-1])
        scope = "this tool, as its server describes it now, with any arguments, in this project"
        choice = Choice(call.id, asked, options, _detail(question, has_secret=has_secret), scope=scope, call_id=call.id)
        decided = await self.ports.editor.decide(choice)
        decision, comment = decided.option, decided.comment
        if decision == "always":
            await reviews.remember(partial(approvals.allow_tool, question.name, question.digest, question.server))
        status = _STATUSES.get(decision or "", "denied")
        reviews.close(review, StoredDecision(status, comment))
        if status != "denied":
            return None
        data: dict[str, object] = {"denied": True} | ({"comment": comment} if comment else {})
        return Result(ok(data), False, CallEnded(call.id, title, False, "Denied; the tool was not run."))


def _detail(question: Question, *, has_secret: bool) -> str:
    arguments = json.dumps(question.arguments, ensure_ascii=False, indent=2)
    warning = "**The arguments have a secret of yours, which this server would get.** " if has_secret else ""
    return f"{warning}The server comes from {one_line(question.origin, 300)}.\n\n{fenced(arguments, 'json')}"
