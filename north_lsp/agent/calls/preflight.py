"""Finds an edit that cannot apply while its call still streams, so that the rest need not be awaited."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from north_lsp.agent.log.partial_json import Partial, read_partial
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.tools.base import Need, Tool
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry

_CHANGING: frozenset[Need] = frozenset({"write", "run", "network", "agents"})
_EDITING: frozenset[Need] = frozenset({"read", "write"})
_PLACEHOLDER = "\ue000\n"  # stands for text that has not arrived yet
_FINAL = frozenset({"NOT_FOUND", "NO_MATCH"})
_LATER = {"AMBIGUOUS": ("occurrence", "expectedOccurrences"), "STALE": ("snapshot",)}
_MAX_TEXT = 16 * 1024
_INSIDE, _OUTSIDE = re.compile(r'["\\]'), re.compile(r'["\]},]')


@dataclass
class _Scan:
    """Finds cheaply where a value may end in JSON that arrives in pieces."""

    in_string: bool = False
    is_escaped: bool = False

    def take(self, more: str) -> bool:
        """Scan another piece; True if a value may have become complete."""
        at, ended = 0, False
        while at < len(more):
            if self.is_escaped:
                self.is_escaped, at = False, at + 1
                continue
            found = (_INSIDE if self.in_string else _OUTSIDE).search(more, at)
            if found is None:
                break
            at = found.end()
            match found[0]:
                case '"':
                    ended = ended or self.in_string
                    self.in_string = not self.in_string
                case "\\":
                    self.is_escaped = True
                case _:
                    ended = True
        return ended


@dataclass
class StreamingCall:
    """A call whose arguments are arriving: `parts` are their JSON so far, of `size` characters in total."""

    id: str
    tool: Tool | None
    title: str = ""
    parts: list[str] = field(default_factory=list, init=False)
    size: int = field(default=0, init=False)
    checked: bool = field(default=False, init=False)
    partial: Partial = field(default_factory=lambda: read_partial(""), init=False)
    scan: _Scan = field(default_factory=_Scan, init=False)

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def take(self, more: str) -> bool:
        """Add a piece; True if more arguments are complete than before."""
        self.parts.append(more)
        self.size += len(more)
        if self.size > _MAX_TEXT or self.partial.ended or not self.scan.take(more):
            return False
        before, self.partial = self.partial.complete, read_partial(self.text)
        return self.partial.complete != before


async def cannot_apply(
    call: StreamingCall, earlier: Iterable[ToolCall], tools: Registry, workspace: Workspace
) -> ToolError | None:
    """Return the error that the tool would give, as soon as it is certain. `earlier` are the calls before it in the
    message: none of them has run yet, so an edit of the same file, or of an unknown one, may change the outcome."""
    tool, partial = call.tool.writer if call.tool is not None else None, call.partial
    if tool is None or call.checked or partial.ended:
        return None
    arguments = partial.complete_fields
    if not tool.is_decided(arguments):
        return None
    call.checked = True
    if any(_may_change(other, str(arguments["path"]), tools) for other in earlier):
        return None
    missing = {name: _PLACEHOLDER for name, info in tool.args.model_fields.items() if info.is_required()}
    given: dict[str, Any] = missing | arguments
    try:
        await tool.prepare(tool.args.model_validate(given), workspace)
    except ToolError as error:
        said = _LATER.get(error.code)
        is_final = error.code in _FINAL or (said is not None and any(name in arguments for name in said))
        return error if is_final else None
    except ValueError:  # arguments that the tool itself will refuse
        return None
    return None


def _may_change(other: ToolCall, path: str, tools: Registry) -> bool:
    tool = tools.listed(other.name)
    if tool is None or tool.needs.isdisjoint(_CHANGING):
        return False
    return tool.needs != _EDITING or other.arguments.get("path") in (path, None)
