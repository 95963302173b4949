"""`_north/paths/complete`: what a user may mean by the letters after an `@`, also besides paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from north_lsp.acp import params as read
from north_lsp.agent.session.completion.mentioning import FoundName
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.rpc.messages import Params
from north_lsp.rpc.peer import Call, Handler
from north_lsp.workspace.files.completion import FoundPath

_LIMIT = 10
_LONGEST_QUERY = 500


def path_methods(session_of: Callable[[Params], Session]) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError."""

    async def complete(params: Params, call: Call) -> object:
        session, query = session_of(params), read.text(params, "query")
        query, limit = query[:_LONGEST_QUERY], read.whole_number(params, "limit", _LIMIT, 1)
        found = await session.mentioning.complete(query, limit)
        paths, names = [_row(one) for one in found.paths.found], [_named(one) for one in found.names]
        return {"paths": paths, "names": names, "isIncomplete": found.is_incomplete}

    return {"_north/paths/complete": complete}


def _named(found: FoundName) -> dict[str, Any]:
    return {"name": visible(found.spelled), "kind": found.kind, "detail": visible(found.detail)}


def _row(found: FoundPath) -> dict[str, Any]:
    kind = "folder" if found.is_folder else "file"
    return {"path": visible(found.shown), "uri": found.path.as_uri(), "kind": kind}
