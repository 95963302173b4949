"""Gives a session its tool servers."""

from collections.abc import Sequence
from pathlib import Path

from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.servers.session_servers import ServerMeans, SessionServers
from north_lsp.agent.session.environment import Environment
from north_lsp.agent.session.opened import Stored
from north_lsp.providers.catalog.catalog import secret_names


def session_servers(
    environment: Environment, stored: Stored, roots: Sequence[Path], editor: Editor, diagnostics: Diagnostics
) -> SessionServers:
    """Make the servers of a session; none is started yet."""
    means = ServerMeans(
        environment.locations,
        environment.environ,
        environment.connect,
        environment.background,
        lambda: environment.settings.mcp,
        lambda: secret_names(environment.models.catalog),
    )
    return SessionServers(means, roots, stored.approvals.trust, editor, diagnostics)
