"""Asks the user about hosts of the web, unless an earlier answer allows them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from urllib.parse import unquote

import anyio.to_thread

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.log.questions import HostRequest
from north_lsp.agent.log.reviews import StoredDecision
from north_lsp.agent.ports.editor import Choice, Editor
from north_lsp.agent.ports.events import CallEnded
from north_lsp.agent.ports.results import Result, ok
from north_lsp.display import fenced, one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.web.addresses import Target

_OPTIONS = (("run", "Fetch"), ("always", "Always fetch from this host in this project"), ("deny", "Deny"))
_STATUSES = {"run": "ran", "always": "always"}


@dataclass(frozen=True, slots=True)
class HostQuestion:
    """A request that a call wants to make. `place` says where its host leads if that is not the public internet, with
    the `addresses` there; `proxy` is the host of a proxy that looks the name up, and `source` the address that
    redirected here."""

    target: Target
    place: str = ""
    addresses: frozenset[str] = frozenset()
    proxy: str = ""
    source: str = ""

    @property
    def is_downgrade(self) -> bool:
        """Whether a redirect leaves https for http."""
        return self.target.scheme == "http" and self.source.startswith("https:")


@dataclass(frozen=True, slots=True)
class HostApprover:
    """Approves the hosts of one session's calls. `has_secret` tells whether values have something in them that no model
    is told: that a host gets it needs approval every time."""

    reviews: ReviewRecord
    has_secret: Callable[[dict[str, object]], bool]
    editor: Editor

    async def permit(self, call: ToolCall, title: str, question: HostQuestion) -> Result | None:
        """Ask about a request; a result means that it is not made."""
        reviews, approvals, target = self.reviews, self.reviews.approvals, question.target
        sent: dict[str, object] = {"url": target.url, "path": unquote(target.path), "written": target.written}
        has_secret = await anyio.to_thread.run_sync(self.has_secret, sent)
        every_time = has_secret or question.is_downgrade
        if not every_time:
            allowed = await anyio.to_thread.run_sync(approvals.host_allowed, target.approved_as)
            if allowed is not None and question.addresses <= allowed:
                return None
        asked = HostRequest(target.authority, target.url, tuple(sorted(question.addresses)))
        review = reviews.open(call.id, asked).id
        await reviews.sync_question()
        host = one_line(target.authority, 300)
        options = (_OPTIONS[0], _OPTIONS[-1]) if every_time else _OPTIONS
        scope = f"every page of {one_line(target.approved_as, 300)}, in this project" + (
            f", as long as it resolves to {question.place}" if question.place else ""
        )
        detail = _detail(question, has_secret=has_secret)
        choice = Choice(call.id, f"Fetch from {host}?", options, detail, scope=scope, call_id=call.id if title else "")
        decided = await self.editor.decide(choice)
        decision, comment = decided.option, decided.comment
        if decision == "always" and not every_time:
            await reviews.remember(partial(approvals.allow_host, target.approved_as, question.addresses))
        status = _STATUSES.get(decision or "", "denied")
        reviews.close(review, StoredDecision(status, comment))
        if status != "denied":
            return None
        answer: dict[str, object] = {"denied": True} | ({"comment": comment} if comment else {})
        return Result(ok(answer), False, CallEnded(call.id, title, False, "Denied; nothing was fetched."))


def _detail(question: HostQuestion, *, has_secret: bool) -> str:
    parts = []
    if has_secret:
        parts.append("**The address has a secret of yours, which this host would get.**")
    if question.is_downgrade:
        parts.append("**The redirect leaves https: anyone on the network path can read and alter the response.**")
    if question.place:
        numbers = ", ".join(sorted(question.addresses))
        parts.append(
            f"**It resolves to {question.place} ({numbers}).** Services there may trust requests from this machine."
        )
    if question.proxy:
        proxy = one_line(question.proxy, 200)
        parts.append(f"The proxy {proxy} looks the name up, so North cannot tell what it resolves to.")
    if question.source:
        parts.append(f"Redirected from:\n\n{fenced(question.source)}")
    return "\n\n".join([*parts, fenced(question.target.url)])
