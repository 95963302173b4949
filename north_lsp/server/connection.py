"""Assembles a connection: a peer, the core, and the services of its protocol.

`initialize` is already answered when this module is imported, so it may import heavy modules.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from north_lsp import __version__
from north_lsp.acp import initialize as acp_initialize
from north_lsp.acp.agent import AcpAgent
from north_lsp.acp.files import ClientFiles
from north_lsp.agent.calls.abandoned_tasks import AbandonedTasks
from north_lsp.agent.costs.recorder import CostRecorder
from north_lsp.agent.log.modes import MODES, find_mode
from north_lsp.agent.models.fallback import Fallbacks
from north_lsp.agent.models.model_services import Models
from north_lsp.agent.models.saved import SavedModel
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.extension_events import ExtensionEvents
from north_lsp.agent.ports.servers import Connect, Connection, Listener, ServerSpec
from north_lsp.agent.secrets.masked_pool import MaskedPool
from north_lsp.agent.secrets.masking import secrets_in
from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.agent.session.factory import Defaults, SessionFactory
from north_lsp.agent.session.process.environment import Environment, ProcessParts
from north_lsp.agent.session.process.switching import Switches
from north_lsp.agent.turn.retry import RetrySettings
from north_lsp.background import guarded_tasks
from north_lsp.display import visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lsp import initialize as lsp_initialize
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
from north_lsp.rpc.opening import Opening
from north_lsp.rpc.peer import Peer, Service
from north_lsp.rpc.pipe import Pipe, descriptor_pipe
from north_lsp.server import lingering
from north_lsp.server.allocator import share_allocator
from north_lsp.server.code_bundle import write_code_bundle
from north_lsp.server.ending import Ending
from north_lsp.server.garbage import resume_collector
from north_lsp.server.opening import Protocol
from north_lsp.server.options import Options
from north_lsp.server.timing import StartTimes, is_wanted, watch_loop
from north_lsp.shell.pool import ShellPool
from north_lsp.storage.costs import Costs
from north_lsp.storage.diagnostics_log import DiagnosticsLog
from north_lsp.storage.edit_settings import EditVariant
from north_lsp.storage.locations import Locations
from north_lsp.storage.noting import note_problem, take_notes
from north_lsp.storage.settings import Settings
from north_lsp.storage.settings_file import SettingsFile

if TYPE_CHECKING:
    from north_lsp.server.telemetry import Exported
    from north_lsp.tools.registry import Registry


_WARM_UP_AFTER_SECONDS = 0.2  # a client that opens or loads a session at once does not share the interpreter with it
_PYGLS_AFTER_SECONDS = 2.0
"""The first session and the first prompt do not share the interpreter with it, unless the client asks for it before."""
_CLEAR_AFTER_SECONDS = 5.0
_PORTION_SECONDS = 0.25
_PAUSE_SECONDS = 0.05
_CLOSE_SECONDS = 0.2
_SWITCH_SECONDS = 0.0005
_REST_SECONDS = 0.05


@functools.cache
def load_tools(variant: EditVariant = "anchors") -> Registry:
    """Load the table of shipped tools."""
    from north_lsp.tools.shipped import shipped_tools

    return shipped_tools(variant)


@dataclass(frozen=True)
class Core:
    """What the services of a connection share."""

    environment: Environment
    defaults: Defaults
    diagnostics: Diagnostics
    ending: Ending


@asynccontextmanager
async def _core(
    options: Options, protocol: str, client: str, ending: Ending, settings_of_editor: Mapping[str, object] | None = None
) -> AsyncIterator[Core]:
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
            background.start_soon(_warm_up, defaults, providers, tools, upkeep, times)
            if log.is_debug or is_wanted(options.environ):
                background.start_soon(watch_loop, diagnostics)
            times.reached("connection")
            background.start_soon(_clear_away, locations, settings, diagnostics)
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


async def _clear_away(locations: Locations, settings: Settings, diagnostics: Diagnostics) -> None:
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


async def _warm_up(
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


async def serve_acp(opening: Opening, pipe: Pipe, options: Options, ending: Ending | None = None) -> int:
    """Serve ACP until the client leaves; returns the exit code."""
    client = acp_initialize.read_client(opening.params)
    settings = acp_initialize.read_settings(opening.params)
    async with _core(options, "acp", _label(client), ending or Ending(), settings) as core:
        # ACP has no way to announce that requests can be withdrawn, and some clients complain about it.
        failure, tells = core.diagnostics.failure, client.knows_north
        peer: Peer
        if client.protocol == acp_initialize.DRAFT:
            from north_lsp.acp.v2_peer import V2Peer

            peer = V2Peer(client, pipe, opening.framing, "$/cancel_request", failure, tells_cancel=tells)
            client = replace(client, hears_events=True)  # the peer makes version 2's states of them
        else:
            peer = Peer(pipe, opening.framing, "$/cancel_request", failure, tells_cancel=tells)
        agent = AcpAgent(
            peer,
            core.environment,
            client,
            lambda session_id: ClientFiles(peer, session_id, client, Diagnostics(core.diagnostics.log, session_id)),
            core.defaults,
            core.diagnostics.log,
        )
        end = functools.partial(lingering.end, agent, client, peer, core.environment, core.ending)
        service: Service = agent
        if client.protocol == acp_initialize.DRAFT:
            from north_lsp.acp.v2_service import service_for

            service = service_for(agent, peer, core.environment.background)
        return await peer.serve([service], first=opening.rest, on_end=end)


async def serve_lsp(opening: Opening, pipe: Pipe, options: Options, ending: Ending | None = None) -> int:
    """Serve LSP, and ACP's methods alongside for a client that opted in; returns the exit code."""
    from north_lsp.lsp.bridge import PyglsBridge
    from north_lsp.lsp.broken_code import BrokenCode
    from north_lsp.lsp.chat import Chat
    from north_lsp.lsp.chat_edits import ChatEdits
    from north_lsp.lsp.chat_features import ChatFeatures
    from north_lsp.lsp.configuration import EditorSettings
    from north_lsp.lsp.confirming import EditorConfirmation
    from north_lsp.lsp.conversation import CurrentConversation
    from north_lsp.lsp.documents import OpenDocuments
    from north_lsp.lsp.editor import PlainEditor
    from north_lsp.lsp.inline_completion import InlineCompletion
    from north_lsp.lsp.log_messages import LogMessages
    from north_lsp.lsp.own_chat import OwnChat
    from north_lsp.lsp.progress import Progress
    from north_lsp.lsp.service import LspService

    client = lsp_initialize.read_client(opening.params)
    if client.uses_features:
        resume_collector()  # pygls leaves more behind than the rest of a start
    acp_client = replace(acp_initialize.read_client(client.acp or {}), knows_north=client.acp is not None)
    settings = lsp_initialize.read_settings(opening.params)
    async with _core(options, "lsp", _label(acp_client), ending or Ending(), settings) as core:
        peer = Peer(pipe, opening.framing, "$/cancelRequest", core.diagnostics.failure)
        if client.loses_messages:
            peer.rest_after_answers(_REST_SECONDS)
        bridge = PyglsBridge(peer, client.encoding, core.diagnostics.failure)
        environment = core.environment
        messages = LogMessages(peer)
        core.diagnostics.log.listener = messages.take
        environment.background.start_soon(messages.run)
        documents = OpenDocuments(
            peer, bridge, client, core.diagnostics, saves=lambda: environment.settings.edits.save_after_apply
        )
        defaults = core.defaults
        if client.mode is not None and any(mode.id == client.mode for mode in MODES):
            defaults = replace(defaults, mode=find_mode(client.mode))
        agent = None
        if client.acp is not None:
            agent = AcpAgent(peer, core.environment, acp_client, lambda _: documents, defaults, core.diagnostics.log)
        end_agent = agent.shut_down if agent is not None else None
        progress = Progress(peer, is_shown=client.progress)
        plain = PlainEditor(peer, documents, client, progress)
        plain.confirmation = EditorConfirmation(
            peer,
            documents,
            client,
            is_wanted=lambda: environment.settings.edits.confirm_in_editor,
        )
        plain.broken = BrokenCode(plain.marks, documents, bridge.changed)
        folders = list(client.folders) or ([options.path] if options.path is not None else [])
        factory = SessionFactory(environment, defaults, core.diagnostics.log, lambda _: plain)
        conversation = CurrentConversation(factory, plain, progress, folders, defaults.mode)
        edits = ChatEdits(peer, bridge, client)
        chat = Chat(peer, client, edits, conversation, environment)
        if agent is not None:
            chat.own_chat = OwnChat(lambda: agent.sessions, environment.background, chat.tell_error)
        features = bridge.features = ChatFeatures(chat, edits, conversation, client.encoding)
        inline = InlineCompletion(bridge.texts, conversation, chat.own_chat, client)
        service = LspService(peer, environment, client, conversation, chat, features, inline, end_agent)
        editor = EditorSettings(peer, environment.settings_file.take_editor, client)
        services: list[Service] = [editor, service] if agent is None else [editor, service, agent]

        async def close() -> None:
            if agent is None:
                core.ending.begin(peer.ended_by, peer.exit_code)
            await service.close("exit")
            if agent is not None:
                await lingering.end(agent, acp_client, peer, environment, core.ending)

        if agent is None:
            core.environment.background.start_soon(_announce_problems, peer, core.environment.models.catalog_refresh)
        ready_after = _PYGLS_AFTER_SECONDS if client.uses_features else None
        initialize = opening.request.raw if opening.request else {}
        core.environment.background.start_soon(functools.partial(bridge.run, initialize, ready_after=ready_after))
        core.environment.background.start_soon(service.watch_parent)
        core.environment.background.start_soon(plain.broken.run)
        return await peer.serve(services, first=opening.rest, foreign=bridge, on_end=close)


async def _announce_problems(peer: Peer, catalog_refresh: CatalogRefresh) -> None:
    """Tell a client without the chat what is wrong with the user's models."""
    for text in catalog_refresh.news():
        await peer.notify("window/showMessage", {"type": 2, "message": visible(text)})


def _label(client: acp_initialize.Client) -> str:
    return " ".join(part for part in (client.name, client.version) if part) or "unknown"


_SERVERS = {"acp": serve_acp, "lsp": serve_lsp}


def run_stdio(protocol: Protocol, opening: Opening, read_fd: int, write_fd: int, options: Options) -> int:
    """Serve an opened connection on two descriptors; returns the exit code."""

    # While a thread imports, the event loop would otherwise wait 5 ms for the interpreter in each of its cycles.
    sys.setswitchinterval(_SWITCH_SECONDS)

    async def run() -> int:
        return await _SERVERS[protocol](opening, descriptor_pipe(read_fd, write_fd), options, Ending(os._exit))

    return anyio.run(run)
