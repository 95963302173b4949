"""`_north/look`: the tools that only look, for a client's own use, such as a chat of its own."""

from __future__ import annotations

from collections.abc import Callable

from north_lsp.acp import params as read
from north_lsp.acp.refusals import refusal
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.rpc.messages import Params, invalid_params
from north_lsp.rpc.peer import Call, Handler


def look_methods(session_of: Callable[[Params], Session]) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError."""

    async def look(params: Params, call: Call) -> object:
        session, tool, arguments = session_of(params), read.text(params, "tool"), params.get("arguments", {})
        if not isinstance(arguments, dict):
            raise invalid_params("arguments", "must be an object")
        try:
            return {"text": visible(await session.look(tool, arguments))}
        except ToolError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise refusal(error, f"{error.message}{hint}") from None

    return {"_north/look": look}
