"""What the internal addresses of one conversation lead to."""

from __future__ import annotations

from collections.abc import Callable

from north_lsp.agent.log.export import OtherConversations
from north_lsp.agent.servers.session_servers import SessionServers
from north_lsp.agent.session.opening.opened import Stored
from north_lsp.agent.session.process.environment import Environment
from north_lsp.workspace.workspace import Addresses, SkillFiles


def known_addresses(
    stored: Stored,
    environment: Environment,
    project: str,
    skills: SkillFiles,
    servers: SessionServers,
    agent: Callable[[str], str],
) -> Addresses:
    """Return what can be read of a conversation of a `project`, by its hash; `agent` reads what agents have handed
    in."""
    others = OtherConversations(environment.locations, project, stored.conversation.id)
    context = stored.context
    return Addresses(stored.artifacts, others, context.rule_text, skills, context.memory_text, servers.read, agent)
