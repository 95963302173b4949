"""`_north/learned/list`: the files with what was learned of a session's project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from north_lsp.agent.session.session import Session
from north_lsp.rpc.messages import Params
from north_lsp.rpc.peer import Call, Handler


def learning_methods(session_of: Callable[[Params], Session]) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError."""

    async def listed(params: Params, call: Call) -> object:
        found = await session_of(params).learning.files()
        return {"files": [asdict(one) | {"path": str(one.path)} for one in found]}

    return {"_north/learned/list": listed}
