"""Decides which tools a conversation offers, and records which ones it has looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from north_lsp.agent.log.choices import ToolSelectionEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.goals import GoalEntry
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.workflows import SkillStateEntry

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry
    from north_lsp.tools.support.discovery import Discovery


class ToolSearch:
    """The tools of one conversation, some of which its models look up."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._discovery: Discovery | None = None

    def offered(self, tools: Registry, threshold: int) -> Registry:
        """Return the tools that the conversation offers; with a threshold of 0, all. Run it in a thread: it imports
        heavy modules."""
        from north_lsp.tools.support.discovery import DiscoveringRegistry, Discovery

        if not threshold:
            return tools
        if self._discovery is None:
            self._discovery = Discovery(threshold, chosen_before(self._log.path()), _noting(self._log))
        self._discovery.chosen.update(in_use(self._log))
        return DiscoveringRegistry(tools, self._discovery)


def _noting(log: Log) -> Callable[[Iterable[str]], None]:
    def note(names: Iterable[str]) -> None:
        log.append(ToolSelectionEntry(tuple(names)))

    return note


def chosen_before(path: Iterable[Logged]) -> set[str]:
    """Return the tools that were looked up in a stored conversation."""
    selections = [one.entry for one in path if isinstance(one.entry, ToolSelectionEntry)]
    return set(selections[-1].tools) if selections else set()


def in_use(log: Log) -> set[str]:
    """Return the rarely used tools that the model needs now: of a goal that is there, of a workflow that is active."""
    found = log.those(_uses_tools)
    names: set[str] = set()
    for one in found:
        match one.entry:
            case GoalEntry(goal):
                names = names | {"goal"} if goal is not None else names - {"goal"}
            case SkillStateEntry(skill=skill, slug=slug):
                names = names | {"workflow", "goal"} if skill and slug else names - {"workflow"}
            case _:
                pass
    return names


def _uses_tools(one: Logged) -> bool:
    return isinstance(one.entry, GoalEntry | SkillStateEntry)
