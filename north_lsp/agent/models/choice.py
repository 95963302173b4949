"""The model that a session asks: the user's choice, obstacles to using it, and the model that answers instead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import anyio.to_thread

from north_lsp.agent.log.choices import ModeEntry, ModelEntry, ThinkingEntry
from north_lsp.agent.log.log import Log
from north_lsp.agent.models.model_services import Models
from north_lsp.agent.models.notices import clamped, obstacles
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import ModelChanged, Notice, UsageChanged
from north_lsp.providers.base import Failed, Provider
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.catalog.model_selection import ALL_MODELS, Allowed, larger_models
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import Model
from north_lsp.providers.thinking import LEVELS, Level, as_level
from north_lsp.storage.settings import Settings

_PLAN = "plan"


class ModelChoice:
    """The choice of one session. `model` is the user's current choice, `allowed` the models that the settings
    permit."""

    def __init__(
        self,
        model: Model,
        models: Models,
        settings: Callable[[], Settings],
        log: Log,
        editor: Editor,
        usage: Callable[[int], UsageChanged | None],
        allowed: Allowed = ALL_MODELS,
    ) -> None:
        """`usage` returns what the conversation fills of a context window, whose size in tokens it is given."""
        self.model = model
        self.allowed = allowed
        self._models = models
        self._settings = settings
        self._log = log
        self._editor = editor
        self._usage = usage
        self._notices: list[str] = []

    @property
    def models(self) -> Models:
        """The model services of the process."""
        return self._models

    @property
    def offered(self) -> Sequence[Model]:
        """The models that the user can choose from."""
        return [model for model in self._models.catalog.available() if self.allowed.allows(model)]

    # -- the user chooses --------------------------------------------------------------------------------------------

    async def find(self, selector: str) -> Model:
        """Find the model that a selector picks now. Raises UnknownModel, or ValueError if the model may not be used
        here."""
        await self._models.catalog_refresh.refresh()
        model = self._models.catalog.find(selector)
        if (reason := self.allowed.reason_against(model)) is not None:
            raise ValueError(f"{model.selector} may not be used here: {reason}")
        return model

    async def choose(self, model: Model) -> None:
        """Choose a model for the next request on, and for new conversations. If the selector names a thinking level,
        that is set, too."""
        level = model.level or self.model.level
        changed, self.model = model.selector != self.model.selector, model.with_level(self.model.level)
        if changed:
            self._log.append(ModelEntry(model.selector, "user"))
            await self._tell(await self._clamped(model))
        if level != self.model.level:
            await self.set_thinking_level(level)
        elif changed:
            await self._editor.show(ModelChanged(model.selector))

    async def _clamped(self, model: Model) -> list[str]:
        """Make the model the default; returns what gets in the way of using it here."""
        usage = self._usage(model.window)
        told = obstacles(model, self._models.catalog, usage, self._settings().models.service_tier)
        try:
            await anyio.to_thread.run_sync(self._models.save, model.selector)
        except OSError as error:
            told.append(f"the choice of the model could not be saved: {error.strerror or error}")
        if usage is not None:
            await self._editor.show(usage)
        return told

    async def choose_thinking(self, text: str) -> None:
        """Set the thinking level for the next request on. Raises ValueError if there is no such level."""
        level = as_level(text)
        if level is None:
            raise ValueError(f"must be one of {', '.join(LEVELS)}")
        await self.set_thinking_level(level)

    async def set_thinking_level(self, level: Level | None) -> None:
        """Set the thinking level for the next request on; a level that the model does not have is kept for one that has
        it."""
        if level != self.model.level and level is not None:
            self._log.append(ThinkingEntry(level))
            self.model = self.model.with_level(level)
            await self._editor.show(ModelChanged(self.model.selector))
        await self._tell(clamped(self.model))

    def record_again(self, selector: str, level: Level | None) -> None:
        """Record the choice where the log continues after another entry; `selector` and `level` are what it says
        there."""
        if self.model.selector != selector:
            self._log.append(ModelEntry(self.model.selector, "user"))
        if self.model.level is None:
            self.model = self.model.with_level(level)
        elif self.model.level != level:
            self._log.append(ThinkingEntry(self.model.level))

    def last_thinking(self) -> Level | None:
        """Return the level at which the model thought before thinking was switched off."""
        entries = (one.entry for one in reversed(self._log.path()))
        levels = (as_level(one.level) for one in entries if isinstance(one, ThinkingEntry))
        return next((level for level in levels if level != "off"), None)

    # -- what has changed meanwhile ----------------------------------------------------------------------------------

    def note(self, notices: Iterable[str]) -> None:
        """Add notices on how the model was chosen, to be shown to the user later."""
        self._notices += notices

    def take_notices(self) -> list[str]:
        """Return the notices on models and keys that the user should see, once."""
        told, self._notices = [*self._notices, *self._models.catalog_refresh.news()], []
        return told

    async def look_after(self) -> None:
        """Adopt changes to the catalog that were made meanwhile, and tell the user."""
        await self._models.catalog_refresh.refresh()
        before, self.model = self.model, self._models.catalog.current(self.model)
        if self.model.selector != before.selector:  # the model that was asked for is available now
            self._log.append(ModelEntry(self.model.selector, "restore"))
            await self._editor.show(ModelChanged(self.model.selector))
        await self._tell(self.take_notices())

    async def _tell(self, texts: Iterable[str]) -> None:
        for text in texts:
            await self._editor.show(Notice("warning", text))

    # -- who answers -------------------------------------------------------------------------------------------------

    async def answering(self) -> tuple[Model, Provider]:
        """Return the model to ask first: the choice, or a fallback if the choice has failed lately. Raises
        MissingCredential."""
        other = await self._models.fallbacks.instead_of(self.model, self.allowed)
        if other is not None:
            return other[0].with_level(self.model.level), other[1]
        return self.model, await self.provider_of(self.model)

    async def planning(self) -> tuple[Model, Provider] | None:
        """Return the model that the user has named for the role `plan`, which answers in plan mode; None without one.
        The user is told where it cannot be used, and once where it begins."""
        if self._models.catalog.is_left_open(_PLAN):
            return None
        try:
            found = await self.find(_PLAN)
            provider = await self.provider_of(found)
        except (UnknownModel, ValueError, MissingCredential) as error:
            await self._tell([f"the model for the role plan cannot be used ({error}); {self.model.title} plans"])
            return None
        if _last_choice(self._log) != ModelEntry(found.selector, _PLAN, temporary=True):
            self._log.append(ModelEntry(found.selector, _PLAN, temporary=True))
            await self._editor.show(Notice("info", f"{found.title} works out the plan: it has the role plan."))
        return found.with_level(found.level or self.model.level), provider

    async def provider_of(self, model: Model) -> Provider:
        """Return the provider of a model. Raises MissingCredential."""
        return await self._models.providers.get(model)

    async def after(self, model: Model, failure: Failed) -> tuple[Model, Provider] | None:
        """Return the model to continue with when a model has failed permanently; None if there is none."""
        found = await self._models.fallbacks.after(model, failure, self.allowed)
        return None if found is None else (found[0].with_level(model.level), found[1])

    async def larger(self, model: Model, without: Collection[str]) -> tuple[Model, Provider] | None:
        """Return a larger model to continue with when the conversation is too long for this one, except for the
        selectors in `without`; None if there is none."""
        if not self._settings().turns.context_promotion:
            return None
        for larger in larger_models(self._models.catalog, model):
            if larger.selector in without or not self.allowed.allows(larger):
                continue
            try:
                return larger.with_level(model.level), await self.provider_of(larger)
            except MissingCredential:
                continue
        return None


def _last_choice(log: Log) -> ModeEntry | ModelEntry | None:
    """Return the last change of mode or model."""
    entries = (one.entry for one in reversed(log.path()))
    return next((one for one in entries if isinstance(one, ModeEntry | ModelEntry)), None)
