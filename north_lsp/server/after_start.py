"""What is done once a connection is open, beside whatever its client asks: loading what the first prompt needs,
clearing away, and reading conversations for searches."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.session.factory import Defaults
from north_lsp.providers.catalog_refresh import CatalogRefresh
from north_lsp.providers.pool import ProviderPool
from north_lsp.server.allocator import share_allocator
from north_lsp.server.code_bundle import write_code_bundle
from north_lsp.server.garbage import resume_collector
from north_lsp.server.timing import StartTimes
from north_lsp.storage.edit_settings import EditVariant
from north_lsp.storage.locations import Locations
from north_lsp.storage.settings import Settings

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry


_WARM_UP_AFTER_SECONDS = 0.2  # a client that opens or loads a session at once does not share the interpreter with it
_CLEAR_AFTER_SECONDS = 5.0
_PORTION_SECONDS = 0.25
_PAUSE_SECONDS = 0.05


@functools.cache
def load_tools(variant: EditVariant = "anchors") -> Registry:
    """Load the table of shipped tools."""
    from north_lsp.tools.shipped import shipped_tools

    return shipped_tools(variant)


async def warm_up(
    defaults: Defaults,
    providers: ProviderPool,
    tools: Callable[[], Registry],
    catalog_refresh: CatalogRefresh,
    times: StartTimes,
) -> None:
    """Load on a thread what the first prompt needs; then ask servers for their models."""
    try:
        early = frozenset(sys.modules)
        await anyio.sleep(_WARM_UP_AFTER_SECONDS)
        await anyio.to_thread.run_sync(share_allocator, abandon_on_cancel=True)
        await anyio.to_thread.run_sync(tools, abandon_on_cancel=True)
        await anyio.to_thread.run_sync(import_module, "north_lsp.agent.session.services.wiring", abandon_on_cancel=True)
        times.reached("tools")
        with contextlib.suppress(Exception):  # the first prompt reports what is wrong
            await providers.get(defaults.model)
        times.reached("model")
        await anyio.to_thread.run_sync(write_code_bundle, early, abandon_on_cancel=True)
    finally:
        resume_collector()
    await catalog_refresh.discover()


async def clear_away(locations: Locations, settings: Settings, diagnostics: Diagnostics) -> None:
    """Remove what is no longer needed, some seconds after the start so as not to slow it down; most of it once a
    day."""
    await anyio.sleep(_CLEAR_AFTER_SECONDS)
    from north_lsp.storage.janitor import clear_daily

    if await anyio.to_thread.run_sync(locations.work_trees.is_dir):
        from north_lsp.agent.subagents.work_tree import clear_left_trees

        await anyio.to_thread.run_sync(clear_left_trees, locations.work_trees)
    for one in await anyio.to_thread.run_sync(clear_daily, locations, settings.keeping.max_age_days):
        diagnostics.event("cleared_away", kind=one.kind, name=one.name, bytes=one.size)


async def fill_search(locations: Locations, after: float = _CLEAR_AFTER_SECONDS) -> None:
    """Read the words of conversations that were changed without this process, in portions that leave room for a turn.
    Whatever is in the way is met again by the next search."""
    await anyio.sleep(after)
    from north_lsp.storage.search import Search

    search = Search(locations)
    with contextlib.suppress(OSError):
        while not await anyio.to_thread.run_sync(search.fill, _PORTION_SECONDS, abandon_on_cancel=True):
            await anyio.sleep(_PAUSE_SECONDS)
