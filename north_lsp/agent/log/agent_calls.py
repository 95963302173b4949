"""The ids under which the calls of agents stand among those of the conversation: they are not calls of its answers.
And how an agent's own log begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from north_lsp.agent.log.entries import UnknownEntry

_MARK = "agent:"
BEGAN = "session_init"
"""The kind of the first entry of an agent's log."""


def agent_call_id(agent_id: str, call_id: str) -> str:
    """Return the id of an agent's call; that of one that has it already stays."""
    before = f"{_MARK}{agent_id}:"
    return call_id if call_id.startswith(before) else f"{before}{call_id}"


def agent_began(
    agent: str, system: str, task: str, tools: Sequence[str], schema: Mapping[str, object] | None
) -> UnknownEntry:
    """Make the first entry of an agent's log: what it was given."""
    row = {"type": BEGAN, "agent": agent, "systemPrompt": system, "task": task, "tools": list(tools)}
    return UnknownEntry(row | ({"outputSchema": dict(schema)} if schema is not None else {}))


def is_of_agent(call_id: str) -> bool:
    """Tell whether a call is an agent's."""
    return call_id.startswith(_MARK)
