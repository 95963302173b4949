"""An edit that cannot apply, found while its call still streams: the rest of it need not be waited for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from north_lsp.agent.partial_json import Partial, read_partial
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.tools.base import Tool, Workspace, WriteTool

_NEEDS: Mapping[str, tuple[str, ...]] = {
    "edit_replace_exact": ("path", "old"),
    "edit_after_anchor": ("path", "anchor"),
    "edit_before_anchor": ("path", "anchor"),
    "edit_by_anchor": ("path", "mode", "anchor"),
    "edit_replace_block": ("path", "startAnchor", "endAnchor"),
}
_PLACEHOLDER = "\ue000\n"  # stands for a text that has not come yet
_FINAL = frozenset({"NOT_FOUND", "NO_MATCH"})
_LATER = {"AMBIGUOUS": ("occurrence", "expectedOccurrences"), "STALE": ("snapshot",)}
_MAX_TEXT = 16 * 1024


@dataclass
class StreamingCall:
    """A call whose arguments are arriving. `text` is their JSON so far."""

    id: str
    tool: Tool | None
    text: str = ""
    title: str = ""
    checked: bool = False
    partial: Partial = field(default_factory=lambda: read_partial(""))

    def take(self, more: str) -> bool:
        """Add a piece; whether more arguments are complete than before."""
        self.text += more
        if len(self.text) > _MAX_TEXT or self.partial.ended:
            return False
        before, self.partial = self.partial.complete, read_partial(self.text)
        return self.partial.complete != before


async def cannot_apply(call: StreamingCall, earlier: Iterable[ToolCall], workspace: Workspace) -> ToolError | None:
    """The error that the tool would give, as soon as that is certain. `earlier` are the message's calls before it: none
    of them has run yet, so an edit of the same file, or of nobody knows which, may change the answer."""
    tool, partial = call.tool, call.partial
    needs = _NEEDS.get(tool.name) if tool is not None else None
    if not isinstance(tool, WriteTool) or needs is None or call.checked or partial.ended:
        return None
    arguments = partial.settled
    if not partial.complete.issuperset(needs):
        return None
    if arguments.get("mode") == "replace_between" and "anchorEnd" not in arguments:
        return None
    call.checked = True
    if any(_may_change(other, str(arguments["path"])) for other in earlier):
        return None
    missing = {name: _PLACEHOLDER for name, info in tool.args.model_fields.items() if info.is_required()}
    given: dict[str, Any] = missing | arguments
    try:
        await tool.prepare(tool.args.model_validate(given), workspace)
    except ToolError as error:
        said = _LATER.get(error.code)
        is_final = error.code in _FINAL or (said is not None and any(name in arguments for name in said))
        return error if is_final else None
    except ValueError:  # arguments that the tool will refuse by itself
        return None
    return None


def _may_change(other: ToolCall, path: str) -> bool:
    if not other.name.startswith(("edit_", "undo_", "shell_")):
        return False
    return other.arguments.get("path") in (path, None)
