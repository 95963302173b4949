"""Gets one answer of the model: asks, and asks again where that helps, this model or another one."""

from collections.abc import Awaitable
from dataclasses import replace
from functools import partial
from itertools import count

import anyio

from north_lsp.agent.costs.account import Account
from north_lsp.agent.costs.estimates import estimated_usage
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.turn.answering_model import AnsweringModel
from north_lsp.agent.turn.failure import ModelFailed
from north_lsp.agent.turn.history import History
from north_lsp.agent.turn.raw_usage import counts_of
from north_lsp.agent.turn.request_builder import RequestBuilder
from north_lsp.agent.turn.request_text import request_texts
from north_lsp.agent.turn.retry import RetryExhausted, Wait
from north_lsp.agent.turn.retry_wait import RetryWait
from north_lsp.agent.turn.stream import AnswerStreams
from north_lsp.agent.turn.streamed_answer import Streamed
from north_lsp.providers.base import AssistantMessage, Done, Failed, Provider, Usage
from north_lsp.providers.model import Model
from north_lsp.providers.orphans import orphaned_call

_NUMBERS = count(1)
_AGAINST_RULE = "the answer was stopped, since it goes against a rule"


class ModelRequester:
    """Asks for the answers of one turn."""

    def __init__(
        self,
        builder: RequestBuilder,
        history: History,
        answering: AnsweringModel,
        streams: AnswerStreams,
        waiting: RetryWait,
        account: Account,
        ports: Ports,
    ) -> None:
        self._builder = builder
        self._history = history
        self._answering = answering
        self._streams = streams
        self._log = streams.log
        self._waiting, self._retries = waiting, waiting.retries
        self._account = account
        self._ports = ports
        self._request_id = ""
        self._shortened = False  # since the model has refused the conversation for its length
        self._recovered = False  # from a call that the vendor reported as having no result

    def exclude_last_prompt(self) -> None:
        """Keep a prompt that the model refused from models."""
        self._history.exclude_last_prompt()

    async def request_answer(self) -> AssistantMessage:
        """Get the next answer, stored and shown. Raises ModelFailed, LimitReached."""
        await self._account.check(self._answering.model)
        while True:
            if await self._answering.follow_choice():
                self._retries.succeeded()
            streamed, end = await self._try_once()
            if streamed.broken:
                await self._start_over(streamed)
                await self._account.check(self._answering.model)
                continue
            if isinstance(end, Done):
                return await self._succeeded(end.message, streamed)
            self._note_failure(end, streamed)
            if (
                not self._recovered
                and (orphan := orphaned_call(end)) is not None
                and self._history.exclude_answer_with(orphan)
            ):
                self._recovered = True
                self._ports.diagnostics.event("orphaned_tool_recovered", callId=orphan)
                continue
            if end.kind == "context_overflow":
                if await self._promote(end, streamed) or await self._shorten(end, streamed):
                    continue
                end = replace(end, message=f"the context cannot be reduced further: {end.message}")
            if streamed.broke_in_file:
                later = self._retries.after(end, started=True, delivered=True)
                if not isinstance(later, RetryExhausted):
                    return await self._retry_or_give_up(end, streamed, later)
            step = self._retries.after(end, started=streamed.began, delivered=streamed.delivered)
            if isinstance(step, RetryExhausted) and await self._fall_back(end, streamed):
                continue
            if isinstance(step, RetryExhausted):
                failure = replace(end, message=f"{end.message} ({step.note})") if step.note else end
                await self._keep_failed(failure, streamed)
                await self._report_end(failure.message)
                raise ModelFailed(failure)
            if streamed.delivered:
                await self._keep_broken(end, streamed)
            if not await self._waiting.wait(step, end):
                failure = replace(end, message=f"{end.message} (cancelled by the user)")
                if not streamed.delivered:
                    await self._keep_failed(failure, streamed)
                await self._report_end("cancelled by the user")
                raise ModelFailed(failure)

    async def finalize(self) -> None:
        """Show what was used by a request that was cancelled or failed. Call it once, after the turn."""
        with self._ports.diagnostics.guarded("counting what was used"):
            await self._account.report_rest(self._answering.model)

    async def make_room_for_next(self) -> None:
        """Shorten the conversation if the next turn would have too little room."""
        await self._builder.shorten_for_next(self._answering.chosen)

    # -- one attempt ---------------------------------------------------------------------------------------------------

    async def _try_once(self) -> tuple[Streamed, Done | Failed]:
        """Send one request, unless it would leave no room for an answer."""
        model, ports = self._answering.model, self._ports
        request = await self._builder.build(model)
        if isinstance(request, Failed):
            return self._streams.nothing(), request
        request = await self._builder.with_pictures(request, model)
        await ports.status.set("streaming")
        self._request_id = f"req-{next(_NUMBERS)}"
        named = {"requestId": self._request_id, "provider": model.provider.id, "model": model.id}
        estimated, tools = self._builder.read, len(request.tools)
        ports.diagnostics.event("model_request_start", **named, estimatedTokens=estimated, tools=tools)
        ports.diagnostics.trace("model_request_text", partial(request_texts, request), requestId=self._request_id)
        stream = self._streams.open(model)
        stream.streamed.request_id = self._request_id
        try:
            return stream.streamed, await stream.run(self._answering.provider, request)
        except anyio.get_cancelled_exc_class():
            self._keep_cancelled(stream.streamed)
            raise

    async def _succeeded(self, message: AssistantMessage, streamed: Streamed) -> AssistantMessage:
        """Store and report an answer; if the vendor did not count its tokens, they are estimated."""
        model, diagnostics = self._answering.model, self._ports.diagnostics
        estimated = model.provider.api != "offline" and not _is_reported(message.usage)
        if estimated:
            with diagnostics.guarded("estimating tokens"):
                message = replace(message, usage=estimated_usage(self._builder.read, message))
        self._retries.succeeded()
        self._shortened = False
        self._log.store(message, model, streamed, estimated=estimated)
        if not estimated:
            self._builder.note_counted(model, message.usage)
        with diagnostics.guarded("counting what was used"):
            diagnostics.event(
                "model_request_complete",
                requestId=self._request_id,
                durationMs=streamed.duration_ms,
                firstTokenMs=streamed.first_ms,
                usage=counts_of(message.usage),
                cost=model.prices.cost(message.usage) if model.prices.known else None,
                stopReason=message.stop_reason,
            )
            self._account.record(model, message.usage)
            await self._account.report(model)
        await self._report_end()
        return message

    def _note_failure(self, end: Failed, streamed: Streamed) -> None:
        if _is_reported(end.partial.usage):
            self._account.record(self._answering.model, end.partial.usage)
        self._ports.diagnostics.event(
            "model_request_error",
            requestId=self._request_id,
            kind=end.kind,
            status=end.status,
            retryable=end.retryable,
            durationMs=streamed.duration_ms,
        )

    # -- another model -----------------------------------------------------------------------------------------------

    async def _fall_back(self, end: Failed, streamed: Streamed) -> bool:
        found = await self._searched(self._answering.fallback(end), streamed)
        if found is None:
            return False
        await self._keep_delivered(end, streamed)
        await self._answering.fall_back_to(found, end)
        return True

    async def _promote(self, end: Failed, streamed: Streamed) -> bool:
        found = await self._searched(self._answering.larger(), streamed)
        if found is None:
            return False
        await self._keep_delivered(end, streamed)
        await self._answering.promote_to(found)
        return True

    async def _shorten(self, end: Failed, streamed: Streamed) -> bool:
        """Shorten the conversation, once until the model answers."""
        if self._shortened:
            return False
        self._shortened = True
        try:
            is_shorter = await self._builder.shorten_refused(self._answering.model)
        except anyio.get_cancelled_exc_class():
            self._keep_cancelled(streamed)
            raise
        if is_shorter:
            await self._keep_delivered(end, streamed)
        return is_shorter

    async def _searched(
        self, search: Awaitable[tuple[Model, Provider] | None], streamed: Streamed
    ) -> tuple[Model, Provider] | None:
        """Search for another model; if the user cancels meanwhile, what had arrived is kept."""
        try:
            return await search
        except anyio.get_cancelled_exc_class():
            self._keep_cancelled(streamed)
            raise

    # -- trying again ------------------------------------------------------------------------------------------------

    async def _retry_or_give_up(self, end: Failed, streamed: Streamed, step: Wait) -> AssistantMessage:
        """Keep an answer that was cut off inside a file instead of asking for it again; after the wait, the file is
        continued. Raises ModelFailed if the user gives up."""
        message = replace(streamed.message(), stop_reason="length")
        self._log.store(message, self._answering.model, streamed)
        await self._log.fail_unrun(message.calls, end.message)
        if not await self._waiting.wait(step, end):
            await self._report_end("cancelled by the user")
            raise ModelFailed(replace(end, message=f"{end.message} (cancelled by the user)"))
        return message

    async def _report_end(self, error: str = "") -> None:
        """Show how the retries ended, and that a fallback has answered, as far as either happened."""
        await self._waiting.ended(error)
        await self._answering.ended(failed=bool(error))

    # -- keeping what arrived ----------------------------------------------------------------------------------------

    def _keep_cancelled(self, streamed: Streamed) -> None:
        """Store what arrived before a cancel, even if nothing did: the next request must not look as if the model had
        not been asked."""
        model = self._answering.model
        self._account.record(model, streamed.message().usage)
        self._log.keep_cancelled(streamed, model, in_file=self._streams.in_file)

    async def _start_over(self, streamed: Streamed) -> None:
        """Store an answer that went against a rule and was stopped for it, carry nothing of it out, and tell the model.
        What the vendor has not counted until then is estimated: the request was paid for."""
        rules, model = self._streams.rules, self._answering.model
        message = replace(streamed.message(), stop_reason="aborted")
        estimated = model.provider.api != "offline" and not _is_reported(message.usage)
        if estimated:
            message = replace(message, usage=estimated_usage(self._builder.read, message))
        self._account.record(model, message.usage)
        excluded = not rules.keeps_stopped
        self._log.store(message, model, streamed, estimated=estimated, excluded=excluded)
        await self._account.report(model)
        await self._log.fail_unrun(message.calls, _AGAINST_RULE)
        await self._streams.files.abandon(_AGAINST_RULE)
        await rules.interrupt(streamed.broken)

    async def _keep_failed(self, end: Failed, streamed: Streamed) -> None:
        await self._log.keep_failed(end, streamed, self._answering.model)

    async def _keep_broken(self, end: Failed, streamed: Streamed) -> None:
        await self._log.keep_broken(end, streamed, self._answering.model)

    async def _keep_delivered(self, end: Failed, streamed: Streamed) -> None:
        if streamed.delivered:
            await self._keep_broken(end, streamed)


def _is_reported(usage: Usage) -> bool:
    return any((usage.input, usage.output, usage.cache_read, usage.cache_write))
