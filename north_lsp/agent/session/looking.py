"""Tools that only look, used by the client itself: they see what the model would, and nothing of what it has seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from north_lsp.agent.ports.results import ok
from north_lsp.errors import ToolError
from north_lsp.workspace.seen import Seen
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:  # loads pydantic, which opening a session does without
    from north_lsp.tools.registry import Registry

_TOOLS = ("find_files", "read_file", "search_text")


async def look(name: str, arguments: Mapping[str, object], tools: Registry, workspace: Workspace) -> str:
    """Run a tool that reads and return what it says. To the conversation's model that counts as not seen, and other
    conversations and earlier outputs are out of reach. Raises ToolError."""
    if name not in _TOOLS:
        raise ToolError("NOT_FOUND", f"there is no tool called {name[:64]!r} here", f"available: {', '.join(_TOOLS)}")
    tool, args = tools.check(name, arguments, "ask")
    if (reader := tool.reader) is None:
        raise ToolError("DENIED", f"{name} does not only read")
    addresses = replace(workspace.addresses, outputs=None, conversations=None, rule=None)
    output = await reader.run(args, replace(workspace, seen=Seen(), addresses=addresses))
    return output.text if output.text is not None else ok(output.data)
