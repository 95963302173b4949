"""Internal addresses (`scheme://…`): read-only texts that are not files of the workspace."""

from __future__ import annotations

import re

from north_lsp.errors import ToolError
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.tools.support.manual import read_manual
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.edit.conflicts import Side
from north_lsp.workspace.seen import Seen
from north_lsp.workspace.workspace import Outputs, Workspace

_ADDRESS = lazy_pattern(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_SCHEMES = (
    "artifact://<n>",
    "conflict://<n>[/ours|/theirs|/base]",
    "docs://north[/<page>]",
    "conversation://[<id>]",
    "rule://<name>",
    "skill://<name>[/<file>]",
    "memory://root[/<file>]",
    "mcp://<server>[/<address>]",
    "agent://<id>[/<key>]",
)


def is_address(raw_path: str) -> bool:
    """Tell whether a path is an address other than `file://`."""
    found = _ADDRESS.fullmatch(raw_path)
    return found is not None and found[1].lower() != "file"


async def read_address(raw_path: str, workspace: Workspace) -> tuple[str, str]:
    """Read an address; return it as shown, and its text. Raises ToolError NOT_FOUND naming the schemes or what there
    is."""
    found = _ADDRESS.fullmatch(raw_path)
    scheme, rest = (found[1].lower(), found[2]) if found is not None else ("", "")
    known = workspace.addresses
    match scheme:
        case "artifact":
            return f"artifact://{rest}", await read_output(rest, known.outputs)
        case "conflict":
            return f"conflict://{rest}", _conflict(rest, workspace.seen)
        case "docs":
            return await on_thread(read_manual, rest)
        case "conversation":
            if known.conversations is None:
                raise ToolError("NOT_FOUND", "there are no other conversations here")
            return f"conversation://{rest}", await on_thread(known.conversations, rest)
        case "rule":
            if known.rule is None:
                raise ToolError("NOT_FOUND", "there are no rules here")
            return f"rule://{rest}", await on_thread(known.rule, rest)
        case "skill":
            if known.skills is None:
                raise ToolError("NOT_FOUND", "there are no skills here")
            return f"skill://{rest}", await on_thread(known.skills.skill, rest)
        case "memory":
            if known.memory is None:
                raise ToolError("NOT_FOUND", "there is no memory here")
            return f"memory://{rest}", await on_thread(known.memory, rest)
        case "mcp":
            if known.resource is None:
                raise ToolError("NOT_FOUND", "there are no MCP servers here")
            return f"mcp://{rest}", await known.resource(rest)
        case "agent":
            if known.agent is None:
                raise ToolError("NOT_FOUND", "no agent has handed in anything here")
            return f"agent://{rest}", await on_thread(known.agent, rest)
        case _:
            raise ToolError("NOT_FOUND", f"there is no scheme {scheme}://", f"schemes: {', '.join(_SCHEMES)}")


async def read_output(id: str, outputs: Outputs | None) -> str:
    """Read the full text of an earlier result. Raises ToolError NOT_FOUND."""
    if outputs is None:
        raise ToolError("NOT_FOUND", "no artifacts in this conversation")
    if not id.isascii() or not id.isdigit() or len(id) > 9:
        known = await on_thread(outputs.numbers)
        shown = ", ".join(map(str, known[-20:])) or "none"
        raise ToolError("NOT_FOUND", f"{id[:40]!r} is not the number of an output", f"these can be read: {shown}")
    if await on_thread(outputs.is_closed, int(id)):
        raise ToolError("NOT_FOUND", f"output {id} is the user's own, and closed to you", "ask the user for it")
    return await on_thread(outputs.read, int(id))


def _conflict(rest: str, seen: Seen) -> str:
    number, _, side = rest.partition("/")
    known = seen.conflicts.known
    entry = known.get(int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else None
    if entry is None:
        ids = ", ".join(map(str, known)) or "none: reading a file with merge markers registers them"
        raise ToolError("NOT_FOUND", f"there is no conflict {number[:40]!r}", f"known: {ids}")
    conflict = entry[1]
    if not side:
        return conflict.text
    if side not in ("ours", "theirs", "base"):
        raise ToolError("NOT_FOUND", f"a conflict has no side {side[:40]!r}", "sides: ours, theirs, base")
    chosen: Side = side  # type: ignore[assignment]  # one of the three, as just checked
    text = conflict.side(chosen)
    if text is None:
        raise ToolError("NOT_FOUND", "the markers of this conflict show no base")
    return text
