"""The user's limits for what models may cost, per conversation and per day (UTC). Before each request it is looked at
what was spent; a request beyond a limit is not made."""

from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime

import anyio.to_thread

from north_lsp.agent.costs import CostKeeper
from north_lsp.providers.base import AssistantMessage, Failed, ModelRequest, Provider, StreamEvent
from north_lsp.storage.locations import Locations
from north_lsp.storage.model_settings import ModelSettings
from north_lsp.storage.settings import SettingsError, load_settings

_SHARE_TO_WARN_AT = 0.8


class Spending:
    """For one conversation; `spent_here` gives what it has cost, in US dollars."""

    def __init__(
        self, settings: ModelSettings, locations: Locations, costs: CostKeeper, spent_here: Callable[[], float]
    ) -> None:
        self._settings = settings
        self._locations = locations
        self._costs = costs
        self._spent_here = spent_here
        self._warned: set[str] = set()

    def guard(self, provider: Provider) -> Provider:
        """The provider, which makes no request beyond a limit."""
        limited = self._settings.session_limit_usd or self._settings.day_limit_usd
        return _Guarded(provider, self) if limited else provider

    async def reached(self) -> str | None:
        """Why no request may be made, as one line for the user. A limit that was raised meanwhile counts."""
        if not any(spent >= limit for _, _, spent, limit in await self._rows()):
            return None
        self._settings = await anyio.to_thread.run_sync(self._read_again)
        for key, what, spent, limit in await self._rows():
            if spent >= limit:
                return (
                    f"the limit of ${limit:,.2f} for {what} is reached (${spent:,.2f} were spent): raise {key} in the "
                    "settings and say `go on`, or go on with a model that is free"
                )
        return None

    async def warning(self) -> str | None:
        """Once for each limit: that most of it is spent."""
        for key, what, spent, limit in await self._rows():
            if limit * _SHARE_TO_WARN_AT <= spent < limit and key not in self._warned:
                self._warned.add(key)
                return f"${spent:,.2f} of the ${limit:,.2f} for {what} are spent ({key})"
        return None

    async def _rows(self) -> list[tuple[str, str, float, float]]:
        """The key of each limit, what it is for, what was spent, and the limit."""
        rows = []
        if limit := self._settings.session_limit_usd:
            rows.append(("cost.sessionLimitUsd", "this conversation", self._spent_here(), limit))
        if limit := self._settings.day_limit_usd:
            by_day = (await self._costs.totals()).get("byDay", {})
            spent = by_day.get(datetime.now(UTC).date().isoformat(), 0.0)
            rows.append(("cost.dayLimitUsd", "today", float(spent), limit))
        return rows

    def _read_again(self) -> ModelSettings:
        try:
            return load_settings(self._locations).models
        except SettingsError:
            return self._settings


class _Guarded:
    def __init__(self, provider: Provider, spending: Spending) -> None:
        self._provider = provider
        self._spending = spending

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        reason = await self._spending.reached()
        if reason is not None:
            yield Failed("bad_request", reason, AssistantMessage((), "error"))
            return
        events = self._provider.stream(request)
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()

    async def aclose(self) -> None:
        await self._provider.aclose()
