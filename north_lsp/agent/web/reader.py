"""Has a model answer a question about a page, beside the conversation."""

from __future__ import annotations

import re

from north_lsp.agent.costs.account import Account
from north_lsp.agent.costs.limits import LimitReached
from north_lsp.agent.log.log import Log
from north_lsp.agent.models.aside import AsideRequests, until_done
from north_lsp.agent.models.model_services import Models
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.prompts import render
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import Done, Failed, ModelRequest, UserMessage
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.catalog.model_selection import Allowed
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import Model

_ANSWER_TOKENS = 4000
_MOST_CHARACTERS = 400_000
_FRAME = lazy_pattern(r"<(?=\s*(?:/\s*)?page\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PageReader:
    """Asks the model of the role `fast` if the user has set it, else the one that answers."""

    log: Log
    models: Models
    account: Account

    async def answer(self, context: TurnContext, prompt: str, text: str, address: str) -> str:
        """Return the answer to a question about a text. Raises ToolError."""
        model = self._model(context).with_level("off")
        said = render("page_question", prompt=prompt, address=address, text=_plain(text[:_MOST_CHARACTERS]))
        longest = min(_ANSWER_TOKENS, model.output_limit)
        system = render("page_system")
        request = ModelRequest(model.id, system, (UserMessage(said),), (), longest, reasoning=model.reasoning)
        requests = AsideRequests(self.log, "web_fetch", self.account.record)
        try:
            provider = await self.models.providers.get(model)
        except MissingCredential as error:
            raise ToolError("UNAVAILABLE", str(error), "fetch the page without a prompt") from None

        async def ask() -> Done | Failed:
            await self.account.check(model)
            return await requests.ask(request, model, provider)

        try:
            end = await until_done(ask, context.settings.retry_base_delay_ms / 1000)
        except LimitReached as reached:
            raise ToolError("BLOCKED", str(reached), "fetch the page without a prompt") from None
        if isinstance(end, Done):
            return end.message.text
        hint = "fetch the page without a prompt"
        raise ToolError("REMOTE_ERROR", f"the page was fetched, but {model.title} did not answer: {end.message}", hint)

    def _model(self, context: TurnContext) -> Model:
        catalog = self.models.catalog
        if catalog.roles.get("fast"):
            try:
                found = catalog.find("fast")
            except UnknownModel:
                return context.model
            allowed = Allowed.by(context.settings.models, context.workspace.roots.main)
            can = found.api != "offline" and not found.problem and catalog.is_available(found)
            if can and allowed.allows(found):
                return found
        return context.model


def _plain(text: str) -> str:
    """Return a text in which nothing looks like the end of its frame."""
    return _FRAME.sub("&lt;", text)
