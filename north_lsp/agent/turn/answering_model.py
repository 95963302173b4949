"""Tracks which model answers now: the one that the user has chosen meanwhile, or another one in its place."""

from __future__ import annotations

from north_lsp.agent.log.choices import ModelEntry
from north_lsp.agent.log.log import Log
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.events import ContextPromoted, FallbackUsed, Notice
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.providers.base import Failed, Provider
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import Model


class AnsweringModel:
    """The answering model of one turn: `model`, and the `provider` through which it is reached."""

    def __init__(self, choice: ModelChoice, model: Model, provider: Provider, log: Log, ports: Ports) -> None:
        self.model, self.provider = model, provider
        self._choice = choice
        self._chosen = choice.model
        self._log = log
        self._ports = ports
        self._fell_from = ""  # the model in whose place another one answers
        self._was_too_long_for: set[str] = set()

    @property
    def chosen(self) -> Model:
        """The model that the user has chosen, which the next turn asks first."""
        return self._choice.model

    async def follow_choice(self) -> bool:
        """Switch to the model that the user has chosen meanwhile, if it can be used; obstacles are reported when it is
        chosen. A change of the thinking level alone applies to whichever model answers. Returns whether the model
        changed."""
        before, self._chosen = self._chosen, self._choice.model
        if self._chosen.selector == before.selector:
            if self._chosen.level != before.level:
                self.model = self.model.with_level(self._chosen.level)
            return False
        try:
            self.provider = await self._choice.provider_of(self._chosen)
        except MissingCredential:
            return False
        self.model, self._fell_from = self._chosen, ""
        return True

    async def fallback(self, end: Failed) -> tuple[Model, Provider] | None:
        """Find another model, if the user has named one for this case."""
        return await self._choice.after(self.model, end)

    async def fall_back_to(self, found: tuple[Model, Provider], end: Failed) -> None:
        """Continue with another model after a failure."""
        before = self._switch_model(found, "retry")
        self._ports.diagnostics.event("retry_fallback_applied", **{"from": before.selector, "to": self.model.selector})
        text = f"{before.title} failed ({end.message}); {self.model.title} answers instead"
        await self._ports.show(Notice("warning", text))
        self._fell_from = before.selector
        await self._ports.show(FallbackUsed("applied", before.selector, self.model.selector))

    async def larger(self) -> tuple[Model, Provider] | None:
        """Find a model with a larger window, if there is one; each is tried once."""
        self._was_too_long_for.add(self.model.selector)
        return await self._choice.larger(self.model, self._was_too_long_for)

    async def promote_to(self, found: tuple[Model, Provider]) -> None:
        """Continue with a model that has a larger window."""
        before = self._switch_model(found, "promotion")
        self._ports.diagnostics.event("context_promoted", **{"from": before.selector, "to": self.model.selector})
        text = f"the conversation is too long for {before.title}; {self.model.title} answers, with a larger window"
        await self._ports.show(Notice("warning", text))
        await self._ports.show(ContextPromoted(before.selector, self.model.selector))

    def _switch_model(self, found: tuple[Model, Provider], reason: str) -> Model:
        """Switch to another model; returns the one that answered before."""
        before, (self.model, self.provider) = self.model, found
        self._log.append(ModelEntry(self.model.selector, reason, temporary=True))
        return before

    async def ended(self, *, failed: bool) -> None:
        """Show that a fallback has answered, if one has."""
        before, self._fell_from = self._fell_from, ""
        if before and not failed:
            await self._ports.show(FallbackUsed("succeeded", before, self.model.selector))
