"""Counts what requests use: the totals' file is written while the turn continues, several requests at once if need
be."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from north_lsp.background import Background
from north_lsp.providers.base import Usage
from north_lsp.providers.model import Model
from north_lsp.storage.costs import Costs, Spent


class CostRecorder:
    """Records costs; there is one per process."""

    def __init__(self, costs: Costs, background: Background) -> None:
        self._costs = costs
        self._background = background
        self._pending: list[Spent] = []
        self._underway: list[Spent] = []  # being written to the file, not yet in `_known`
        self._writing = anyio.Lock()
        self._aside: Path | None = None
        self._error: OSError | None = None  # of the last attempt
        self._is_told = False  # of an error that lasts
        self._known: dict[str, Any] | None = None  # the totals as they were read last

    def record(self, model: Model, usage: Usage) -> None:
        """Record what a request used; the offline model's requests are not counted."""
        counts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
        if model.provider.api != "offline" and any(counts):
            self._pending.append(Spent(model.selector, *counts, model.prices.cost(usage)))
            self._background.start_soon(self.finish)

    async def finish(self) -> None:
        """Wait until everything that was recorded is in the file, or has failed to be written."""
        async with self._writing:
            spent, self._pending = self._pending, []
            if not spent:
                return
            self._underway = spent
            try:
                with anyio.CancelScope(shield=True):
                    aside, self._known = await anyio.to_thread.run_sync(self._costs.add_and_read, spent)
                self._aside = aside or self._aside
                self._error, self._is_told = None, False
            except OSError as error:
                self._pending = [*spent, *self._pending]  # tried again with the next request
                self._error = error
            finally:
                self._underway = []

    def take_problem(self) -> str | None:
        """Return a problem that the user should be told of, once; if it lasts, not before something was stored."""
        aside, self._aside = self._aside, None
        if self._error is not None and not self._is_told:
            self._is_told = True
            return f"the costs could not be stored: {self._error.strerror or self._error}"
        return f"the costs could not be read; they were kept as {aside}" if aside is not None else None

    def not_stored(self) -> tuple[int, str] | None:
        """Return how many requests are missing in the totals because they could not be stored, and why; None if
        all are there."""
        if self._error is None or not self._pending:
            return None
        return len(self._pending), self._error.strerror or str(self._error)

    async def totals(self) -> dict[str, Any]:
        await self.finish()
        self._known = await anyio.to_thread.run_sync(self._costs.read)
        return self._known

    async def reset(self) -> None:
        """Forget all recorded costs. Raises OSError."""
        await self.finish()
        async with self._writing:
            await anyio.to_thread.run_sync(self._costs.reset)
        await self.totals()

    async def today(self) -> float:
        """Return the cost of all conversations since midnight UTC, in US dollars."""
        day = datetime.now(UTC).date().isoformat()
        return float((await self.totals())["byDay"].get(day, 0.0))

    async def look(self) -> None:
        """Read the totals if they have not been read yet, for `all_time`."""
        if self._known is None:
            await self.totals()

    def all_time(self) -> float | None:
        """Return the cost of all time in US dollars; None if the totals have not been read yet."""
        if self._known is None:
            return None
        uncounted = sum(spent.cost_usd for spent in (*self._underway, *self._pending))
        return float(self._known["allTimeCostUsd"]) + uncounted
