"""Asks a model for a summary: the first of several candidates that answers, a conversation that is too long for it in
several parts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from north_lsp.agent.compaction.answer import Summary, raw_summary, read_summary
from north_lsp.agent.compaction.limits import has_limit
from north_lsp.agent.compaction.serialize import cut_in_the_middle, first_rows
from north_lsp.agent.costs.account import Account
from north_lsp.agent.costs.estimates import characters_of
from north_lsp.agent.costs.sizes import RequestSizes
from north_lsp.agent.log.log import Log
from north_lsp.agent.models.aside import AsideRequests, Progress, until_done
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.models.model_services import Models
from north_lsp.agent.prompts import render
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import (
    AssistantMessage,
    Done,
    Failed,
    Message,
    ModelRequest,
    Provider,
    Text,
    Usage,
    UserMessage,
)
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import DEFAULT_WINDOW, SUMMARIES, Model, summary_endpoint
from north_lsp.storage.compaction_settings import CompactionSettings

_LONGEST_ANSWER = 8_192
_ANSWER_SHARE = 0.25
_FRAME_TOKENS = 1_500
_LEAST_TOKENS = 500
_TOO_SHORT = 0.5
_SMALLER_TRIES = 3


class NoSummary(ValueError):
    """No model wrote a summary; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is to be summarized by one prompt file, with the summary of what came before it, if there is one."""

    prompt: str
    rows: Sequence[str]
    previous: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a summary must be like: the user's `instructions`; of extensions, a `prompt` in place of North's own if it
    is not empty, and `context` that is told with the conversation."""

    instructions: str = ""
    prompt: str = ""
    context: str = ""

    @property
    def added(self) -> str:
        """What comes before the conversation."""
        parts = (("additional-instructions", self.instructions), ("additional-context", self.context))
        return "".join(f"\n<{tag}>\n{text}\n</{tag}>\n" for tag, text in parts if text)


class Summarizer:
    """Writes the summaries of one conversation. What it asks for is counted like any other request."""

    def __init__(
        self,
        log: Log,
        choice: ModelChoice,
        models: Models,
        account: Account,
        sizes: RequestSizes,
        first_wait_seconds: float,
    ) -> None:
        self._requests = AsideRequests(log, "compaction", account.record)
        self._choice = choice
        self._models = models
        self._account = account
        self._sizes = sizes
        self._first_wait_seconds = first_wait_seconds

    async def summarize(
        self, parts: Sequence[Part], wanted: Wanted, candidates: Sequence[Model], progress: Progress
    ) -> tuple[list[Summary], Model]:
        """Return a summary of each part, and the model that wrote them. Raises NoSummary, LimitReached."""
        failures: list[str] = []
        for model in candidates:
            try:
                provider = await self._models.providers.get(model)
                writer = _Writer(self, model, provider, progress, wanted)
                return [await writer.write(part) for part in parts], model
            except MissingCredential as error:
                failures.append(f"{model.title}: {error}")
            except _Refused as refused:
                failures.append(f"{model.title}: {refused.failure.message}")
        if not failures:
            raise NoSummary("there is no model that can write it: choose one with `/model`, or set compaction.model")
        raise NoSummary("; ".join(failures))

    def candidates(self, settings: CompactionSettings, answering: Model) -> list[Model]:
        """Return the models to ask, in order, each once: the one that the settings name, the one that answers, those
        of the roles `fast` and `default` if the user has set them. No other company gets to see the conversation; where
        the user has a server for summaries, nobody else. Raises NoSummary if the settings name one that does not
        exist."""
        if settings.remote_endpoint is not None:
            return [summary_endpoint(settings.remote_endpoint, answering.window)]
        catalog, found, named = self._models.catalog, list[Model](), settings.model
        if named is not None:
            try:
                found.append(catalog.find(named))
            except UnknownModel as error:
                raise NoSummary(f"compaction.model: {error}") from None
        found.append(answering)
        for role in ("fast", "default"):
            if role not in catalog.roles:
                continue
            try:
                found.append(catalog.find(role))
            except UnknownModel:
                continue
        usable = [
            model
            for model in found
            if model.api != "offline" and self._choice.allowed.allows(model) and catalog.is_available(model)
        ]
        return list({model.selector: model for model in reversed(usable)}.values())[::-1]

    async def ask(self, request: ModelRequest, model: Model, provider: Provider, progress: Progress) -> str:
        """Return a model's answer to one request, asked again after failures that may be temporary. Raises _Refused,
        LimitReached."""

        async def ask() -> Done | Failed:
            await self._account.check(model)
            return await self._requests.ask(request, model, provider, progress)

        end = await until_done(ask, self._first_wait_seconds)
        if isinstance(end, Failed):
            raise _Refused(end)
        if end.message.usage != Usage():
            self._sizes.learn(request, model, end.message.usage)
        return end.message.text

    def characters(self, tokens: int, model: Model) -> int:
        """Return how many characters fit into so many tokens of a model."""
        return math.floor(characters_of(tokens) / self._sizes.correction(model))


class _Refused(Exception):
    """A model did not give an answer."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


class _Writer:
    """One model that writes summaries."""

    def __init__(
        self, summarizer: Summarizer, model: Model, provider: Provider, progress: Progress, wanted: Wanted
    ) -> None:
        self._summarizer = summarizer
        self._model = model.with_level("off")
        self._provider = provider
        self._progress = progress
        self._wanted = wanted
        window = model.window if has_limit(model) else DEFAULT_WINDOW
        self._longest = min(_LONGEST_ANSWER, self._model.output_limit, int(window * _ANSWER_SHARE))
        self._room = max(window - self._longest - _FRAME_TOKENS, _LEAST_TOKENS)

    async def write(self, part: Part) -> Summary:
        """Summarize a part, piece by piece if it is too long: each piece with the summary of those before it. If the
        vendor refuses a piece for its length, the rest is asked for in smaller ones."""
        previous, last, room = part.previous, None, self._summarizer.characters(self._room, self._model)
        added = self._wanted.added
        rows, refusals = part.rows, 0
        while rows:
            earlier = cut_in_the_middle(previous, room // 3)
            text, count = first_rows(rows, max(room - len(earlier) - len(added), _LEAST_TOKENS))
            try:
                last = await self._piece(part.prompt, text, earlier, added)
            except _Refused as refused:
                refusals += 1
                if refused.failure.kind != "context_overflow" or refusals > _SMALLER_TRIES:
                    raise
                room = int(room * _TOO_SHORT)
                continue
            previous, rows = last.text, rows[count:]
        if last is None:
            raise _Refused(Failed("bad_request", "there was nothing to summarize", AssistantMessage(())))
        return last

    async def _piece(self, prompt: str, text: str, previous: str, added: str) -> Summary:
        if previous:
            asked = render("compaction_update", conversation=text, previous=previous, instructions=added)
        else:
            asked = render(prompt, conversation=text, instructions=added)
        messages: list[Message] = [UserMessage(asked)]
        answer = await self._ask(messages)
        if (read := read_summary(answer)) is not None:
            return read
        if not answer.strip():
            raise _Refused(Failed("bad_request", "it returned no text", AssistantMessage(())))
        repaired: Summary | None = None
        if self._model.provider.api != SUMMARIES and not self._wanted.prompt:  # those choose the form themselves
            messages += [AssistantMessage((Text(answer),)), UserMessage(render("compaction_repair"))]
            repaired = read_summary(await self._ask(messages))
        summary = repaired or raw_summary(answer)
        assert summary is not None
        return summary

    async def _ask(self, messages: Sequence[Message]) -> str:
        model = self._model
        system = self._wanted.prompt or render("compaction_system")
        request = ModelRequest(model.id, system, list(messages), (), self._longest, reasoning=model.reasoning)
        return await self._summarizer.ask(request, model, self._provider, self._progress)
