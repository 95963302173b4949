"""`_north/permissions/*`: lists what the user has allowed in this project, and revokes it."""

from __future__ import annotations

from collections.abc import Callable

from north_lsp.acp import params as read
from north_lsp.agent.approvals.listing import what_it_allows
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.rpc.messages import Params
from north_lsp.rpc.peer import Call, Handler


def permission_methods(session_of: Callable[[Params], Session]) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError."""

    async def listed(params: Params, call: Call) -> object:
        rows = []
        for one in await session_of(params).approvals.listed():
            row = {"id": one.id, "allows": visible(what_it_allows(one)), "origin": one.origin}
            row |= {"since": one.since} if one.since else {}
            rows.append(row | ({"lastUsed": one.last_used} if one.last_used else {}))
        return {"permissions": rows}

    async def revoke(params: Params, call: Call) -> object:
        return {"revoked": await session_of(params).approvals.revoke(read.text(params, "id"))}

    async def trust(params: Params, call: Call) -> object:
        """Set and return the workspace's trust. An editor with its own trust passes on what the user told it; without
        `trusted` this only reads."""
        session = session_of(params)
        if params.get("trusted") is not None:
            await session.approvals.set_trusted(read.flag(params, "trusted"), "editor")
        decided = session.approvals.trusted
        return {"trusted": None, "by": None} if decided is None else {"trusted": decided[0], "by": decided[1]}

    return {"_north/permissions/list": listed, "_north/permissions/revoke": revoke, "_north/trust": trust}
