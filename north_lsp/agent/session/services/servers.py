"""Gives a session its MCP servers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio

from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.servers.session_servers import ServerMeans, SessionServers
from north_lsp.agent.session.opening.opened import Stored
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.services.shell import SessionShell
from north_lsp.providers.catalog.catalog import secret_names

_GRACE_SECONDS = 0.3


def session_servers(
    environment: Environment, stored: Stored, roots: Sequence[Path], editor: Editor, diagnostics: Diagnostics
) -> SessionServers:
    """Make the servers of a session; none is started yet."""
    means = ServerMeans(
        environment.locations,
        environment.environ,
        environment.process.connect,
        environment.background,
        lambda: environment.settings,
        lambda: secret_names(environment.models.catalog),
        stored.secrets.is_in,
    )
    return SessionServers(means, roots, stored.approvals.trust, editor, diagnostics)


async def end_together(shell: SessionShell, servers: SessionServers) -> None:
    """End a session's processes: what its commands left running, and its servers."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(shell.end_all, grace=_GRACE_SECONDS))
        tasks.start_soon(servers.close)
