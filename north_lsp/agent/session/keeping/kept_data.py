"""What North keeps on the disk and in its log, for clients and slash commands."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread

from north_lsp.display import visible
from north_lsp.storage.areas import Area, Removal, areas, removal, remove
from north_lsp.storage.locations import Locations
from north_lsp.storage.log_view import MOST_LINES, last_events


class KeptData:
    """The data of all projects, in one store."""

    most_lines = MOST_LINES
    """How many events `log` returns at most."""

    def __init__(self, locations: Locations) -> None:
        self.locations = locations

    async def areas(self) -> list[Area]:
        """Measure what is kept, by area, the largest first."""
        return await anyio.to_thread.run_sync(areas, self.locations)

    async def spare(self) -> Removal:
        """Return what North can do without."""
        return await anyio.to_thread.run_sync(removal, self.locations, "spare")

    async def remove(self, what: Removal) -> list[tuple[Path, str]]:
        """Remove it; return what could not be, and why."""
        return await anyio.to_thread.run_sync(remove, what)

    async def log(self, lines: int, level: str, event: str) -> list[str]:
        """Return the last events at or above a level whose name begins with `event`, the oldest first."""
        rows = await anyio.to_thread.run_sync(last_events, self.locations, lines, level, event)
        return [visible(row) for row in rows]
