"""What the internal addresses of one conversation lead to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from north_lsp.agent.servers.session_servers import SessionServers
from north_lsp.agent.session.opening.opened import Stored
from north_lsp.agent.session.process.environment import Environment
from north_lsp.workspace.workspace import Addresses, SkillFiles


class LateSkills:
    """The files of skills, which are looked for when one is read."""

    def __init__(self, skills: Callable[[], SkillFiles]) -> None:
        self._skills = skills

    def skill(self, address: str) -> str:
        return self._skills().skill(address)

    def skill_path(self, address: str) -> Path:
        return self._skills().skill_path(address)


def known_addresses(
    stored: Stored,
    environment: Environment,
    project: str,
    skills: Callable[[], SkillFiles],
    servers: SessionServers,
    agent: Callable[[str], str],
) -> Addresses:
    """Return what can be read of a conversation of a `project`, by its hash. `skills` is asked when one is
    read; `agent` reads what agents have handed in."""

    def others(id: str) -> str:
        from north_lsp.agent.log.export import OtherConversations

        return OtherConversations(environment.locations, project, stored.conversation.id)(id)

    def rule(name: str) -> str:
        return stored.context.rule_text(name)

    def memory(address: str) -> str:
        return stored.context.memory_text(address)

    return Addresses(stored.artifacts, others, rule, LateSkills(skills), memory, servers.read, agent)
