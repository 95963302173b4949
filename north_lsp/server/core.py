"""Puts together what the services of a connection share."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from north_lsp import __version__
from north_lsp.agent.calls.abandoned_tasks import AbandonedTasks
from north_lsp.agent.costs.recorder import CostRecorder
from north_lsp.agent.models.fallback import Fallbacks
from north_lsp.agent.models.model_services import Models
from north_lsp.agent.models.saved import SavedModel
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.extension_events import ExtensionEvents
from north_lsp.agent.ports.servers import Connect, Connection, Listener, ServerSpec
from north_lsp.agent.secrets.masked_pool import MaskedPool
from north_lsp.agent.secrets.masking import secrets_in
from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.agent.session.factory import Defaults
from north_lsp.agent.session.process.environment import Environment, ProcessParts
from north_lsp.agent.session.process.switching import Switches
from north_lsp.agent.turn.retry import RetrySettings
from north_lsp.background import guarded_tasks
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Timeouts
from north_lsp.providers.catalog.catalog import Catalog, secret_names
from north_lsp.providers.catalog.discovery import Discoverer
from north_lsp.providers.catalog.extension_places import places_of
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.providers.catalog.model_selection import Allowed, Choice, prepared
from north_lsp.providers.catalog.models_cache import ModelsCache
from north_lsp.providers.catalog_refresh import CatalogRefresh
from north_lsp.providers.model import Extras
from north_lsp.providers.pool import ProviderPool
from north_lsp.server.after_start import clear_away, fill_search, load_tools, warm_up
from north_lsp.server.ending import Ending
from north_lsp.server.options import Options
from north_lsp.server.timing import StartTimes, is_wanted, watch_loop
from north_lsp.shell.pool import ShellPool
from north_lsp.storage.costs import Costs
from north_lsp.storage.diagnostics_log import DiagnosticsLog
from north_lsp.storage.locations import Locations
from north_lsp.storage.noting import note_problem, take_notes
from north_lsp.storage.settings import Settings
from north_lsp.storage.settings_file import SettingsFile

if TYPE_CHECKING:
    from north_lsp.server.telemetry import Exported


_CLOSE_SECONDS = 0.2


@dataclass(frozen=True)
class Core:
    """What the services of a connection share."""

    environment: Environment
    defaults: Defaults
    diagnostics: Diagnostics
    ending: Ending


@asynccontextmanager
async def open_core(
    options: Options, protocol: str, client: str, ending: Ending, settings_of_editor: Mapping[str, object] | None = None
) -> AsyncIterator[Core]:
    """Make it for one connection, and end all of it with that."""
    locations = Locations.from_environment(options.environ)
    settings_file = SettingsFile(locations, settings_of_editor)
    settings = settings_file.current()
    level = options.log_level or options.environ.get("NORTH_LOG_LEVEL") or settings.log_level
    log = DiagnosticsLog(locations, level, max_bytes=settings.log_max_bytes, files=settings.log_files)
    diagnostics = Diagnostics(log)
    take_notes(log.event)
    ending.connected(diagnostics)
    diagnostics.event(
        "app_start",
        version=__version__,
        projectPath=options.path,
        cwd=os.getcwd(),
        client=client,
        protocol=protocol,
        python=sys.version.partition(" ")[0],
        os=sys.platform,
    )
    telemetry, missing = await anyio.to_thread.run_sync(_telemetry, settings, options.environ)
    if telemetry is not None:
        log.observer, log.observes_texts = telemetry.observe, settings.telemetry.content
    times = StartTimes(diagnostics, options.environ)
    times.reached("settings")
    models = settings.models
    if options.environ.get("NORTH_CACHE_RETENTION") == "long":
        models = replace(models, cache_retention="long")
    notes = settings_file.take_problems() + missing
    known = prepared(await anyio.to_thread.run_sync(options.load_catalog, models), models)
    for problem in (*missing, *known.problems):
        note_problem(problem)
    try:
        async with guarded_tasks(diagnostics.failure) as background:
            timeouts = Timeouts(
                idle=settings.provider_idle_timeout_s or None, request=settings.provider_request_timeout_s or None
            )
            note = functools.partial(_note, diagnostics)
            extras = Extras(models.service_tier, models.cache_retention == "long", note)
            providers = ProviderPool(options.environ, timeouts, known.keys, extras)
            tools = functools.partial(load_tools, settings.edits.variant)
            connector = _Connector(options.environ, lambda: secret_names(known), locations)
            masked = MaskedPool(providers, _secrets(locations, options.environ, known, settings_file, connector))
            fallbacks = Fallbacks(settings.retry_fallback_chains, known, masked, revert=settings.turns.fallback_revert)
            notes += fallbacks.problems
            for problem in fallbacks.problems:
                note_problem(problem)
            discoverer = Discoverer(
                known,
                options.environ,
                cache=ModelsCache(locations.data / "models-cache.db"),
                asks_local=models.discover_local,
            )
            await anyio.to_thread.run_sync(discoverer.recall)
            reload = functools.partial(load_catalog, locations.config, options.environ, models)
            upkeep = CatalogRefresh(
                known, lambda: prepared(reload(), models), locations.config, providers, discoverer, background, notes
            )
            saved = SavedModel(locations, settings.selected_model)
            environment = Environment(
                locations,
                options.environ,
                Models(known, masked, upkeep, fallbacks, saved.save),
                background,
                CostRecorder(Costs(locations), background),
                settings_file,
                ProcessParts(
                    tools,
                    _retry(settings),
                    AbandonedTasks(background),
                    Switches(ExtensionEvents(places_of(locations.config, models))),
                    ShellPool(background),
                    connector,
                ),
            )

            def allowed(folder: Path | None) -> Allowed:
                return Allowed.by(settings_file.current().models, folder)

            def choose(folder: Path | None) -> Choice:
                return options.model_to_serve(saved.selector, known, allowed(folder))

            mode = options.mode or settings.mode_default
            defaults = Defaults(choose(options.path).model, mode, None, choose, allowed)
            background.start_soon(warm_up, defaults, providers, tools, upkeep, times)
            if log.is_debug or is_wanted(options.environ):
                background.start_soon(watch_loop, diagnostics)
            times.reached("connection")
            background.start_soon(clear_away, locations, settings, diagnostics)
            background.start_soon(fill_search, locations)
            yield Core(environment, defaults, diagnostics, ending)
            ending.step = "background work"
            if environment.process.abandoned.count:
                ending.hurry()
            background.cancel()
            with anyio.CancelScope(shield=True), anyio.move_on_after(_CLOSE_SECONDS):
                await providers.aclose()
    finally:
        ending.log_exit()
        if telemetry is not None:
            await anyio.to_thread.run_sync(telemetry.close)


def _secrets(
    locations: Locations, environ: Mapping[str, str], known: Catalog, settings: SettingsFile, connector: _Connector
) -> Secrets:
    """Return the placeholders for what models are asked outside of all conversations."""
    return secrets_in((), locations, environ, known, lambda: settings.current().secrets, lambda: connector.given)


def _telemetry(settings: Settings, environ: Mapping[str, str]) -> tuple[Exported | None, list[str]]:
    """Begin to send telemetry, if the user wants that. Returns also what is missing for it."""
    wanted = settings.telemetry
    if not wanted.enabled:
        return None, []
    from north_lsp.server.telemetry import MISSING, NO_ENDPOINT, Exported, endpoint_of

    if (endpoint := endpoint_of(wanted.endpoint, environ)) is None:
        return None, [NO_ENDPOINT]
    try:
        return Exported(endpoint), []
    except ImportError:
        return None, [MISSING]


def _note(diagnostics: Diagnostics, text: str) -> None:
    diagnostics.event("model_advice", message=text)


class _Connector:
    """Opens connections to MCP servers; its modules are loaded with the first server."""

    def __init__(self, environ: Mapping[str, str], names: Callable[[], frozenset[str]], locations: Locations) -> None:
        self._made: Connect | None = None
        self._arguments = environ, names, locations

    def __call__(
        self, spec: ServerSpec, roots: Sequence[Path], listener: Listener
    ) -> AbstractAsyncContextManager[Connection]:
        return self._loaded()(spec, roots, listener)

    @property
    def given(self) -> Collection[str]:
        return self._made.given if self._made is not None else ()

    async def sign_in(self, spec: ServerSpec, show: Callable[[str, Sequence[str]], Awaitable[None]]) -> None:
        await self._loaded().sign_in(spec, show)

    async def sign_out(self, spec: ServerSpec) -> bool:
        return await self._loaded().sign_out(spec)

    def _loaded(self) -> Connect:
        from north_lsp.mcp.connect import Connector

        self._made = self._made or Connector(*self._arguments)
        return self._made


def _retry(settings: Settings) -> RetrySettings:
    return RetrySettings(
        settings.retry_enabled,
        settings.retry_request_max,
        settings.retry_stream_max,
        settings.retry_max,
        settings.retry_base_delay_ms,
        settings.retry_max_delay_ms,
        settings.retry_max_elapsed_ms,
    )
