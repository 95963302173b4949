"""Counting what requests use: the totals' file is written beside the turn, several requests at once if need be."""

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
    """One for a process. `problem` is what the user should be told, once."""

    def __init__(self, costs: Costs, background: Background) -> None:
        self._costs = costs
        self._background = background
        self._pending: list[Spent] = []
        self._underway: list[Spent] = []  # on its way into the file, and not yet in `_known`
        self._writing = anyio.Lock()
        self._aside: Path | None = None
        self._error: OSError | None = None
        self._known: dict[str, Any] | None = None  # the totals as they were read last

    def record(self, model: Model, usage: Usage) -> None:
        """A request's use; the offline model's counts nothing."""
        counts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
        if model.provider.api != "offline" and any(counts):
            self._pending.append(Spent(model.selector, *counts, model.prices.cost(usage)))
            self._background.start_soon(self.finish)

    async def finish(self) -> None:
        """Wait until everything that was recorded is in the file, or cannot be written now."""
        async with self._writing:
            spent, self._pending = self._pending, []
            if not spent:
                return
            self._underway = spent
            try:
                with anyio.CancelScope(shield=True):
                    aside, self._known = await anyio.to_thread.run_sync(self._costs.add_and_read, spent)
                self._aside = aside or self._aside
                self._error = None
            except OSError as error:
                self._pending = [*spent, *self._pending]  # tried again with the next request
                self._error = error
            finally:
                self._underway = []

    def take_problem(self) -> str | None:
        """What the user should be told, once."""
        error, aside = self._error, self._aside
        self._error, self._aside = None, None
        if error is not None:
            return f"the costs could not be stored: {error.strerror or error}"
        return f"the costs could not be read; they were kept as {aside}" if aside is not None else None

    async def totals(self) -> dict[str, Any]:
        await self.finish()
        self._known = await anyio.to_thread.run_sync(self._costs.read)
        return self._known

    async def reset(self) -> None:
        """Forget all that was counted. Raises OSError."""
        await self.finish()
        async with self._writing:
            await anyio.to_thread.run_sync(self._costs.reset)
        await self.totals()

    async def today(self) -> float:
        """US dollars, of all conversations, since midnight (UTC)."""
        day = datetime.now(UTC).date().isoformat()
        return float((await self.totals())["byDay"].get(day, 0.0))

    async def look(self) -> None:
        """Make `all_time` known."""
        if self._known is None:
            await self.totals()

    def all_time(self) -> float | None:
        """US dollars, as far as it is known without reading."""
        if self._known is None:
            return None
        uncounted = sum(spent.cost_usd for spent in (*self._underway, *self._pending))
        return float(self._known["allTimeCostUsd"]) + uncounted
