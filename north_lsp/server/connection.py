"""Assembles a connection: a peer, the core (`core.py`), and the services of its protocol.

`initialize` is already answered when this module is imported, so it may import heavy modules.
"""

from __future__ import annotations

import functools
import os
import sys
from dataclasses import replace

import anyio
import anyio.to_thread

from north_lsp.acp import initialize as acp_initialize
from north_lsp.acp.agent import AcpAgent
from north_lsp.acp.files import ClientFiles
from north_lsp.agent.log.modes import MODES, find_mode
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.session.factory import SessionFactory
from north_lsp.display import visible
from north_lsp.lsp import initialize as lsp_initialize
from north_lsp.providers.catalog_refresh import CatalogRefresh
from north_lsp.rpc.opening import Opening
from north_lsp.rpc.peer import Peer, Service
from north_lsp.rpc.pipe import Pipe, descriptor_pipe
from north_lsp.server import lingering
from north_lsp.server.core import open_core
from north_lsp.server.ending import Ending
from north_lsp.server.garbage import resume_collector
from north_lsp.server.opening import Protocol
from north_lsp.server.options import Options

_PYGLS_AFTER_SECONDS = 2.0
"""The first session and the first prompt do not share the interpreter with it, unless the client asks for it before."""
_SWITCH_SECONDS = 0.0005
_REST_SECONDS = 0.05


async def serve_acp(opening: Opening, pipe: Pipe, options: Options, ending: Ending | None = None) -> int:
    """Serve ACP until the client leaves; returns the exit code."""
    client = acp_initialize.read_client(opening.params)
    settings = acp_initialize.read_settings(opening.params)
    async with open_core(options, "acp", _label(client), ending or Ending(), settings) as core:
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
    async with open_core(options, "lsp", _label(acp_client), ending or Ending(), settings) as core:
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
