"""Gets one answer of the model: asks, and asks again where that helps, this model or another one."""

from __future__ import annotations

from dataclasses import replace

import anyio

from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.turn.answering_model import AnsweringModel
from north_lsp.agent.turn.context_event import with_extensions
from north_lsp.agent.turn.failure import ModelFailed
from north_lsp.agent.turn.history import History
from north_lsp.agent.turn.remedies import Remedies
from north_lsp.agent.turn.request_builder import RequestBuilder
from north_lsp.agent.turn.request_usage import RequestUsage
from north_lsp.agent.turn.retry import RetryExhausted, Wait
from north_lsp.agent.turn.retry_wait import RetryWait
from north_lsp.agent.turn.stream import AnswerStreams
from north_lsp.agent.turn.streamed_answer import Streamed
from north_lsp.providers.base import AssistantMessage, Done, Failed

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
        usage: RequestUsage,
        ports: Ports,
    ) -> None:
        self._builder = builder
        self._history = history
        self._answering = answering
        self._streams = streams
        self._log = streams.log
        self._waiting, self._retries = waiting, waiting.retries
        self._usage = usage
        self._ports = ports
        self._remedies = Remedies(builder, history, answering, streams.log, self._keep_cancelled, ports)

    def exclude_last_prompt(self) -> None:
        """Keep a prompt that the model refused from models."""
        self._history.exclude_last_prompt()

    async def request_answer(self) -> AssistantMessage:
        """Get the next answer, stored and shown. Raises ModelFailed, LimitReached."""
        await self._usage.check(self._answering.model)
        while True:
            if await self._answering.follow_choice():
                self._retries.succeeded()
            streamed, end = await self._try_once()
            if streamed.broken:
                await self._start_over(streamed)
                await self._usage.check(self._answering.model)
                continue
            if isinstance(end, Done):
                return await self._succeeded(end.message, streamed)
            self._usage.failed(end, self._answering.model, streamed)
            if self._remedies.drop_orphan(end):
                continue
            if end.kind == "context_overflow":
                if await self._remedies.make_fit(end, streamed):
                    continue
                end = replace(end, message=f"the context cannot be reduced further: {end.message}")
            if streamed.broke_in_file:
                later = self._retries.after(end, started=True, delivered=True)
                if not isinstance(later, RetryExhausted):
                    return await self._retry_or_give_up(end, streamed, later)
            step = self._retries.after(end, started=streamed.began, delivered=streamed.delivered)
            if isinstance(step, RetryExhausted) and await self._remedies.fall_back(end, streamed):
                continue
            if isinstance(step, RetryExhausted):
                failure = replace(end, message=f"{end.message} ({step.note})") if step.note else end
                await self._log.keep_failed(failure, streamed, self._answering.model)
                await self._report_end(failure.message)
                raise ModelFailed(failure)
            await self._log.keep_broken(end, streamed, self._answering.model)
            if not await self._waiting.wait(step, end):
                failure = replace(end, message=f"{end.message} (cancelled by the user)")
                if not streamed.delivered:
                    await self._log.keep_failed(failure, streamed, self._answering.model)
                await self._report_end("cancelled by the user")
                raise ModelFailed(failure)

    async def finalize(self) -> None:
        """Show what was used by a request that was cancelled or failed. Call it once, after the turn."""
        await self._usage.finalize(self._answering.model)

    async def make_room_for_next(self) -> None:
        """Shorten the conversation if the next turn would have too little room."""
        await self._builder.shorten_for_next(self._answering.chosen)

    async def _try_once(self) -> tuple[Streamed, Done | Failed]:
        """Send one request, unless it would leave no room for an answer."""
        model = self._answering.model
        request = await self._builder.build(model)
        if isinstance(request, Failed):
            return self._streams.nothing(), request
        request = await self._builder.with_pictures(await with_extensions(request, self._ports), model)
        await self._ports.status.set("streaming")
        stream = self._streams.open(model)
        self._usage.begin(request, model, stream.streamed)
        try:
            return stream.streamed, await stream.run(self._answering.provider, request)
        except anyio.get_cancelled_exc_class():
            self._keep_cancelled(stream.streamed)
            raise

    async def _succeeded(self, message: AssistantMessage, streamed: Streamed) -> AssistantMessage:
        """Store and report an answer."""
        model = self._answering.model
        message, estimated = self._usage.estimated(message, model)
        self._retries.succeeded()
        self._remedies.answered()
        self._log.store(message, model, streamed, estimated=estimated)
        if message.stop_reason == "refusal":
            await self._log.decline(message)
        await self._usage.answered(message, model, streamed, estimated=estimated)
        await self._report_end()
        return message

    async def _start_over(self, streamed: Streamed) -> None:
        """Store an answer that went against a rule and was stopped for it, carry nothing of it out, and tell the model.
        What the vendor has not counted until then is estimated: the request was paid for."""
        rules, model = self._streams.rules, self._answering.model
        message, estimated = self._usage.estimated(replace(streamed.message(), stop_reason="aborted"), model)
        self._log.store(message, model, streamed, estimated=estimated, excluded=not rules.keeps_stopped)
        await self._usage.stopped(message.usage, model)
        await self._log.fail_unrun(message.calls, _AGAINST_RULE)
        await self._streams.files.abandon(_AGAINST_RULE)
        await rules.interrupt(streamed.broken)

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

    def _keep_cancelled(self, streamed: Streamed) -> None:
        """Store what arrived before a cancel, even if nothing did: the next request must not look as if the model had
        not been asked."""
        model = self._answering.model
        self._usage.cancelled(model, streamed)
        self._log.keep_cancelled(streamed, model, in_file=self._streams.in_file)
