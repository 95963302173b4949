"""`_north/tasks/*` and `_north/agents/list`: what agents work on, for users who look at it."""

from __future__ import annotations

from collections.abc import Callable

from north_lsp.acp import params as read
from north_lsp.acp.tasks import task_row
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.rpc.messages import RESOURCE_NOT_FOUND, Params, RpcError
from north_lsp.rpc.peer import Call, Handler


def task_methods(session_of: Callable[[Params], Session]) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError."""

    async def listed(params: Params, call: Call) -> object:
        return {"tasks": [task_row(row) for row in session_of(params).agents.listed()]}

    async def transcript(params: Params, call: Call) -> object:
        session, id = session_of(params), read.text(params, "taskId")
        try:
            return {"markdown": visible(await session.agents.transcript(id))}
        except ToolError as error:
            raise RpcError(RESOURCE_NOT_FOUND, visible(error.message)) from None

    async def cancel(params: Params, call: Call) -> object:
        return {"cancelled": session_of(params).agents.cancel(read.text(params, "taskId"))}

    async def agents(params: Params, call: Call) -> object:
        known = await session_of(params).agents.known()
        rows = [
            {"name": one.name, "description": one.description, "source": one.source.shown}
            | ({"why": one.why} if one.why else {})
            for one in known.all
        ]
        return {"agents": [{key: visible(value) for key, value in row.items()} for row in rows]}

    return {
        "_north/agents/list": agents,
        "_north/tasks/list": listed,
        "_north/tasks/transcript": transcript,
        "_north/tasks/cancel": cancel,
    }
