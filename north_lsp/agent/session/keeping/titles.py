"""Names a conversation after its first answer, by a small model in the background. A failure changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio

from north_lsp.agent.costs.recorder import CostRecorder
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import AnswerEntry, PromptEntry
from north_lsp.agent.models.aside import AsideRequests
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.models.model_services import Models
from north_lsp.agent.prompts import render
from north_lsp.agent.session.keeping.saved import SavedConversation
from north_lsp.providers.base import Block, Done, Failed, ModelRequest, Text, UserMessage
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import Model
from north_lsp.storage.switches import is_on

_SECONDS = 30.0
_MOST_TOKENS = 1000  # some models think before they write a title
_LONGEST = 2000  # characters of the prompt, and of the answer
_SWITCH = "NORTH_NO_TITLE"


def title_model(choice: ModelChoice, known: Catalog, environ: Mapping[str, str]) -> Model | None:
    """Return the model that names conversations: that of the role `fast` if the user has set one, else the small one of
    the provider that answers; None if there is none, or it may not be used here."""
    provider = choice.model.provider
    if known.roles.get("fast") or environ.get("NORTH_FAST_MODEL", "").strip():
        selector = "fast"
    elif provider.fast is not None:
        selector = f"{provider.id}/{provider.fast}"
    else:
        return None
    try:
        model = known.find(selector)
    except UnknownModel:
        return None
    usable = model.api != "offline" and choice.allowed.allows(model) and known.is_available(model, environ)
    return model if usable else None


class Titles:
    """Names one conversation."""

    def __init__(
        self, log: Log, saved: SavedConversation, choice: ModelChoice, models: Models, costs: CostRecorder
    ) -> None:
        self._log = log
        self._saved = saved
        self._choice = choice
        self._models = models
        self._requests = AsideRequests(log, "title", costs.record)
        self._is_tried = False

    def wanted(self, environ: Mapping[str, str]) -> tuple[Model, str] | None:
        """Return the model to ask, and what to ask it, if the conversation has just got its first answer."""
        if self._is_tried or is_on(environ, _SWITCH):
            return None
        text = _first_exchange(self._log.path())
        model = title_model(self._choice, self._models.catalog, environ) if text is not None else None
        if model is None or text is None or not self._saved.is_named_by_north:
            return None
        self._is_tried = True
        return model, text

    async def name(self, model: Model, text: str) -> None:
        """Ask for a title and set it, unless the user has set one meanwhile."""
        title = ""
        with anyio.move_on_after(_SECONDS):
            try:
                provider = await self._models.providers.get(model)
            except MissingCredential:
                return
            lean = model.with_level("off")
            asked = (UserMessage(text),)
            request = ModelRequest(model.id, render("title"), asked, (), _MOST_TOKENS, reasoning=lean.reasoning)
            match await self._requests.ask(request, model, provider):
                case Done(_, message):
                    title = _line_of(message.blocks)
                case Failed():
                    pass
        if title:
            await self._saved.suggest(title)


def _first_exchange(path: Sequence[Logged]) -> str | None:
    """Return the prompt and the last text of the answer; None unless there is exactly one prompt so far."""
    prompts = [one.entry for one in path if isinstance(one.entry, PromptEntry) and not one.entry.by_north]
    answers = [one.entry for one in path if isinstance(one.entry, AnswerEntry) and one.entry.error is None]
    said = [block.text for entry in answers for block in entry.blocks if isinstance(block, Text) and block.text.strip()]
    if len(prompts) != 1 or not prompts[0].typed.strip() or not said:
        return None
    asked = prompts[0].typed.strip()[:_LONGEST]
    return f"The programmer wrote:\n\n{asked}\n\nThe assistant answered:\n\n{said[-1].strip()[:_LONGEST]}"


def _line_of(blocks: Sequence[Block]) -> str:
    """Return the first line with words, without quotation marks around it."""
    text = "\n".join(block.text for block in blocks if isinstance(block, Text))
    lines = [line.strip().strip("\"'`*#“”„«» ").removesuffix(".") for line in text.splitlines()]
    return next((line for line in lines if any(map(str.isalnum, line))), "")
