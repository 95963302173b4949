"""Which tools a conversation offers, and which it has looked up."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from north_lsp.storage.conversation import Conversation
from north_lsp.tools.base import FoundTool, Workspace

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry
    from north_lsp.tools.support.discovery import Discovery


class LateFinder:
    """Stands in a workspace before the tools are loaded, which takes a while."""

    def __init__(self) -> None:
        self.discovery: Discovery | None = None

    def find(self, query: str, limit: int) -> list[FoundTool]:
        return self.discovery.find(query, limit) if self.discovery is not None else []


def offered(tools: "Registry", workspace: Workspace, conversation: Conversation) -> "Registry":
    """The tools of a conversation. Imports what is heavy: for a thread."""
    from north_lsp.tools.support.discovery import DiscoveringRegistry, Discovery, chosen_before

    finder = workspace.finder
    threshold = workspace.reading.discovery_threshold
    if not isinstance(finder, LateFinder) or not threshold or len(tools.tools()) <= threshold:
        return tools
    if finder.discovery is None:
        finder.discovery = Discovery(threshold, chosen_before(conversation.active_path()), _noting(conversation))
    return DiscoveringRegistry(tools, finder.discovery)


def _noting(conversation: Conversation) -> Callable[[Iterable[str]], None]:
    def note(names: Iterable[str]) -> None:
        conversation.append("mcp_tool_selection", tools=list(names))

    return note
