"""Keeps the catalog current while a process lives: models.yml was edited, keys were stored, servers came and went.
Listeners are told of each change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.background import Background
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.discovery import Discoverer
from north_lsp.providers.catalog.models_path import NAMES
from north_lsp.providers.pool import ProviderPool
from north_lsp.storage.noting import note_problem

Listener = Callable[[], Awaitable[None]]


class CatalogRefresh:
    """Updates the catalog. `load` reads models.yml again; the file and the key store are checked only on `refresh`.
    `notes` are further messages for the user."""

    def __init__(
        self,
        catalog: Catalog,
        load: Callable[[], Catalog],
        config_dir: Path,
        pool: ProviderPool,
        discoverer: Discoverer,
        background: Background,
        notes: Sequence[str] = (),
    ) -> None:
        self.catalog = catalog
        self._load = load
        self._folder = config_dir
        self._pool = pool
        self._discoverer = discoverer
        self._background = background
        self._listeners: list[Listener] = []
        self._notes = tuple(notes)
        self._told: set[str] = set()
        self._stamp = self._files()
        self._refreshing = anyio.Lock()

    def listen(self, listener: Listener) -> None:
        """Call `listener` after each change to the set of models."""
        self._listeners.append(listener)

    async def refresh(self, *, again: bool = False) -> None:
        """Apply what was edited or stored since the last time. Costs nothing if nothing was. `again`: read the files
        even if they look the same."""
        async with self._refreshing:
            if again:
                self._stamp = ()
            changed = await self._read_again()
            keys = self.catalog.keys
            if keys.is_stale and await anyio.to_thread.run_sync(keys.refresh, abandon_on_cancel=True):
                changed = True
        if changed:
            await self.changed()

    async def changed(self) -> None:
        """Drop the providers that were made and tell the listeners, since keys or addresses have changed."""
        self._pool.forget()
        await self._tell()

    async def discover(self) -> None:
        """Ask servers for their models if their last answer is no longer fresh."""
        if await self._discoverer.refresh():
            await self._tell()

    def discover_soon(self) -> None:
        """Start `discover` in the background."""
        self._background.start_soon(self.discover)

    def news(self) -> list[str]:
        """Return the problems with the user's settings, models and keys that are new since the last call."""
        problems = [
            *self._notes,
            *self.catalog.problems,
            *([self.catalog.keys.problem] if self.catalog.keys.problem else []),
        ]
        new = [problem for problem in problems if problem not in self._told]
        self._told = set(problems)
        return new

    async def _read_again(self) -> bool:
        stamp = self._files()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        self.catalog.take(await anyio.to_thread.run_sync(self._load))
        for problem in self.catalog.problems:
            note_problem(problem)
        return True

    async def _tell(self) -> None:
        for listener in self._listeners:
            await listener()

    def _files(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_stamp(self._folder / name) for name in NAMES)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
