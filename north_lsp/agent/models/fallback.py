"""Decides which model answers when another one cannot, by the user's settings; shared by all sessions of a process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy

from north_lsp.agent.secrets.masked_pool import MaskedPool
from north_lsp.errors import Problem
from north_lsp.providers.base import ErrorKind, Failed, Provider
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.catalog.model_selection import Allowed
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import Model
from north_lsp.storage.turn_settings import RevertPolicy

_COOL_DOWN_SECONDS = 300.0
_KINDS: frozenset[ErrorKind] = frozenset({"network", "rate_limit", "overloaded", "quota_exhausted"})


class Fallbacks:
    """The fallbacks of a process. `chains` maps a model's selector or alias to the selectors to try instead, in order.
    A model that failed is left alone until the time that its vendor names, or for five minutes, or permanently if
    `revert` is "never"."""

    def __init__(
        self,
        chains: Mapping[str, Sequence[str]],
        catalog: Catalog,
        providers: MaskedPool,
        now: Callable[[], float] = time.monotonic,
        revert: RevertPolicy = "cooldown-expiry",
    ) -> None:
        self._providers = providers
        self._now = now
        self._revert = revert
        self._cooling: dict[str, float] = {}
        self._chains: dict[str, list[Model]] = {}
        self.problems: list[str] = []
        for key, selectors in chains.items():
            model = self._known(key, catalog)
            chain = [self._known(selector, catalog) for selector in selectors]
            if model is not None:
                self._chains[model.selector] = [one for one in chain if one is not None]

    def of(self, providers: MaskedPool) -> Fallbacks:
        """Return the same fallbacks, reached through other providers."""
        same = copy(self)
        same._providers = providers
        return same

    async def instead_of(self, model: Model, allowed: Allowed) -> tuple[Model, Provider] | None:
        """Return another model if this one has failed lately and there is one that can and may be used."""
        return await self._next(model, allowed) if self._is_cooling(model) else None

    async def after(self, model: Model, failure: Failed, allowed: Allowed) -> tuple[Model, Provider] | None:
        """Return the model to continue with after a lasting failure; None if there is none."""
        if failure.kind not in _KINDS:
            return None
        wait = (failure.retry_after_ms or 0) / 1000 or _COOL_DOWN_SECONDS
        self._cooling[model.selector] = self._now() + wait if self._revert != "never" else math.inf
        return await self._next(model, allowed)

    async def _next(self, model: Model, allowed: Allowed) -> tuple[Model, Provider] | None:
        for other in self._chain(model):
            if self._is_cooling(other) or not allowed.allows(other):
                continue
            try:
                return other, await self._providers.get(other)
            except MissingCredential:
                continue
        return None

    def _known(self, selector: str, catalog: Catalog) -> Model | None:
        """Find a model; an unknown one is skipped and added to `problems`."""
        try:
            return catalog.find(selector)
        except UnknownModel as error:
            self.problems.append(Problem(f"retry.fallbackChains: {error}", key="retry.fallbackChains"))
            return None

    def _chain(self, model: Model) -> list[Model]:
        """Return the chain of a model, or else the chain that contains it."""
        own = self._chains.get(model.selector)
        if own is not None:
            return own
        chains = self._chains.values()
        return next((chain for chain in chains if model.selector in (one.selector for one in chain)), [])

    def _is_cooling(self, model: Model) -> bool:
        return self._cooling.get(model.selector, 0.0) > self._now()
