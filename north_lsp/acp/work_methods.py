"""`_north/work/get`, `_north/goal/*`: the goal and the workflow, for users who look at them, and who edit the goal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from north_lsp.acp import params as read
from north_lsp.acp.work import work_fields
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.rpc.messages import Params, invalid_params
from north_lsp.rpc.peer import Call, Handler


def work_methods(session_of: Callable[[Params], Session]) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError."""

    async def get(params: Params, call: Call) -> object:
        return work_fields(session_of(params).goal_and_work.now)

    async def goal(params: Params, call: Call) -> object:
        return _document(session_of(params))

    async def replace(params: Params, call: Call) -> object:
        session, text = session_of(params), read.text(params, "markdown")
        try:
            await session.goal_and_work.replace(text)
        except ValueError as error:
            raise invalid_params("markdown", visible(str(error))) from None
        return _document(session)

    return {"_north/work/get": get, "_north/goal/get": goal, "_north/goal/set": replace}


def _document(session: Session) -> dict[str, Any]:
    return {"ok": True, "markdown": session.goal_and_work.document}
