"""`_north/artifacts/*`: the full outputs of a conversation's tool calls, for users who want to see them."""

from __future__ import annotations

from collections.abc import Callable

import anyio.to_thread

from north_lsp.acp import params as read
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.rpc.messages import RESOURCE_NOT_FOUND, Params, RpcError
from north_lsp.rpc.peer import Call, Handler

_MAX_CHARACTERS = 1_000_000


def artifact_methods(session_of: Callable[[Params], Session]) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError."""

    async def listed(params: Params, call: Call) -> object:
        artifacts = session_of(params).artifacts
        numbers = await anyio.to_thread.run_sync(artifacts.numbers) if artifacts is not None else []
        return {"artifacts": [{"artifactId": str(number)} for number in numbers]}

    async def text(params: Params, call: Call) -> object:
        artifacts, id = session_of(params).artifacts, read.text(params, "artifactId")
        offset = read.whole_number(params, "offset", 0, 0)
        limit = read.whole_number(params, "limit", _MAX_CHARACTERS, 1)
        if artifacts is None or not id.isascii() or not id.isdigit() or len(id) > 9:
            raise RpcError(RESOURCE_NOT_FOUND, "there is no such artifact", {"code": "NOT_FOUND"})
        try:
            whole = await anyio.to_thread.run_sync(artifacts.read, int(id))
        except ToolError as error:
            raise RpcError(RESOURCE_NOT_FOUND, visible(error.message), {"code": error.code}) from None
        end = offset + min(limit, _MAX_CHARACTERS)
        found: dict[str, object] = {"text": visible(whole[offset:end]), "totalCharacters": len(whole)}
        return found | ({"nextOffset": end} if end < len(whole) else {})

    return {"_north/artifacts/list": listed, "_north/artifacts/read": text}
