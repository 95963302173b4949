"""Decides which tools a conversation offers, and records which ones it has looked up."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from north_lsp.agent.log.choices import ToolSelectionEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.goals import GoalEntry
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.workflows import SkillStateEntry
from north_lsp.workspace.workspace import FoundTool, Workspace

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry
    from north_lsp.tools.support.discovery import Discovery


class DeferredFinder:
    """Stands in for the finder in a workspace until the tools are loaded, which takes a while."""

    def __init__(self) -> None:
        self.discovery: Discovery | None = None

    def find(self, query: str, limit: int) -> list[FoundTool]:
        return self.discovery.find(query, limit) if self.discovery is not None else []


def offered_tools(tools: "Registry", workspace: Workspace, log: Log) -> "Registry":
    """Return the tools that a conversation offers. Run it in a thread: it imports heavy modules."""
    from north_lsp.tools.support.discovery import DiscoveringRegistry, Discovery

    finder = workspace.finder
    threshold = workspace.reading.discovery_threshold
    if not isinstance(finder, DeferredFinder) or not threshold:
        return tools
    if finder.discovery is None:
        finder.discovery = Discovery(threshold, chosen_before(log.path()), _noting(log))
    finder.discovery.chosen.update(in_use(log))
    return DiscoveringRegistry(tools, finder.discovery)


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
