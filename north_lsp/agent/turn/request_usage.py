"""Tells North's log of each request of a turn, and the account what it used."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count

from north_lsp.agent.costs.account import Account
from north_lsp.agent.costs.estimates import estimated_usage
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.turn.raw_usage import counts_of
from north_lsp.agent.turn.request_builder import RequestBuilder
from north_lsp.agent.turn.request_text import answer_texts, request_texts
from north_lsp.agent.turn.streamed_answer import Streamed
from north_lsp.providers.base import AssistantMessage, Failed, ModelRequest, Usage
from north_lsp.providers.model import Model

_NUMBERS = count(1)


class RequestUsage:
    """Counts what the requests of one turn use. What a vendor does not count is estimated."""

    def __init__(self, builder: RequestBuilder, account: Account, ports: Ports) -> None:
        self._builder = builder
        self._account = account
        self._diagnostics = ports.diagnostics

    async def check(self, model: Model) -> None:
        """Raise LimitReached if the user's limit allows no further request."""
        await self._account.check(model)

    def begin(self, request: ModelRequest, model: Model, streamed: Streamed) -> None:
        """Note that a request is sent, whose answer is `streamed`."""
        streamed.request_id = f"req-{next(_NUMBERS)}"
        named = {"requestId": streamed.request_id, "provider": model.provider.id, "model": model.id}
        estimated, tools = self._builder.read, len(request.tools)
        self._diagnostics.event("model_request_start", **named, estimatedTokens=estimated, tools=tools)
        self._diagnostics.trace("model_request_text", partial(request_texts, request), requestId=streamed.request_id)

    def estimated(self, message: AssistantMessage, model: Model) -> tuple[AssistantMessage, bool]:
        """Estimate the tokens of an answer if the vendor did not count them; returns whether it did not."""
        if model.provider.api == "offline" or _is_counted(message.usage):
            return message, False
        with self._diagnostics.guarded("estimating tokens"):
            message = replace(message, usage=estimated_usage(self._builder.read, message))
        return message, True

    async def answered(self, message: AssistantMessage, model: Model, streamed: Streamed, *, estimated: bool) -> None:
        """Count and show what a whole answer used."""
        if not estimated:
            self._builder.note_counted(model, message.usage)
        with self._diagnostics.guarded("counting what was used"):
            self._diagnostics.trace("model_answer_text", partial(answer_texts, message), requestId=streamed.request_id)
            self._diagnostics.event(
                "model_request_complete",
                requestId=streamed.request_id,
                durationMs=streamed.duration_ms,
                firstTokenMs=streamed.first_ms,
                usage=counts_of(message.usage),
                cost=model.prices.cost(message.usage) if model.prices.known else None,
                stopReason=message.stop_reason,
            )
            await self.stopped(message.usage, model)

    async def stopped(self, usage: Usage, model: Model) -> None:
        """Count and show what an answer used that North stopped."""
        self._account.record(model, usage)
        await self._account.report(model)

    def cancelled(self, model: Model, streamed: Streamed) -> None:
        """Count what was used until the user cancelled."""
        self._account.record(model, streamed.message().usage)

    def failed(self, end: Failed, model: Model, streamed: Streamed) -> None:
        """Count what a failed request used."""
        if _is_counted(end.partial.usage):
            self._account.record(model, end.partial.usage)
        self._diagnostics.event(
            "model_request_error",
            requestId=streamed.request_id,
            kind=end.kind,
            status=end.status,
            retryable=end.retryable,
            durationMs=streamed.duration_ms,
        )

    async def finalize(self, model: Model) -> None:
        """Show what was used by a request that was cancelled or failed. Call it once, after the turn."""
        with self._diagnostics.guarded("counting what was used"):
            await self._account.report_rest(model)


def _is_counted(usage: Usage) -> bool:
    return any((usage.input, usage.output, usage.cache_read, usage.cache_write))
