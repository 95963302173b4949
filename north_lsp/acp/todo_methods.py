"""`_north/todo/*`: the todo list, for users who look at it and edit it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from north_lsp.acp import params as read
from north_lsp.acp.todo import phase_rows
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.rpc.messages import Params, invalid_params
from north_lsp.rpc.peer import Call, Handler


def todo_methods(session_of: Callable[[Params], Session]) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError."""

    async def get(params: Params, call: Call) -> object:
        return _state(session_of(params))

    async def replace(params: Params, call: Call) -> object:
        session, text = session_of(params), read.text(params, "markdown")
        try:
            await session.todo.replace(text)
        except ValueError as error:
            raise invalid_params("markdown", visible(str(error))) from None
        return _state(session)

    return {"_north/todo/get": get, "_north/todo/set": replace}


def _state(session: Session) -> dict[str, Any]:
    todo = session.todo
    return {"ok": True, "phases": phase_rows(todo.now), "markdown": visible(todo.document)}
