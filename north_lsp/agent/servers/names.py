"""Names the tools of servers, so that models can call them. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from north_lsp.lazy_pattern import lazy_pattern

_MAX = 64
_HASH = 4
_OTHER = lazy_pattern(r"[^a-z0-9_]+")
_REPEATED = lazy_pattern(r"_{2,}")


def tool_name(server: str, tool: str) -> str:
    """Return `mcp_<server>_<tool>`, in characters that every vendor accepts, at most 64 of them."""
    before, after = _plain(server), _plain(tool)
    after = after.removeprefix(f"{before}_") or after
    name = _REPEATED.sub("_", f"mcp_{before}_{after}").rstrip("_")
    if len(name) <= _MAX:
        return name
    short = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()[:_HASH]
    return f"{name[: _MAX - _HASH - 1].rstrip('_')}_{short}"


def tool_names(tools: Iterable[tuple[str, str]], taken: Iterable[str] = ()) -> tuple[list[str], list[str]]:
    """Name tools, given as server and tool, in order. One whose name is taken gets a number; what is returned second
    says so."""
    used, names, warnings = set(taken), list[str](), list[str]()
    for server, tool in tools:
        wanted = name = tool_name(server, tool)
        number = 1
        while name in used:
            number += 1
            name = f"{wanted[: _MAX - len(str(number)) - 1]}_{number}"
        if name != wanted:
            warnings.append(f"the tool {tool} of the MCP server {server} is called {name}: {wanted} is taken")
        used.add(name)
        names.append(name)
    return names, warnings


def _plain(text: str) -> str:
    return _REPEATED.sub("_", _OTHER.sub("_", text.lower())).strip("_")
