"""`_north/sessions/salvage`: copies what can be read of a damaged conversation into a new one."""

from __future__ import annotations

from north_lsp.acp import params as read
from north_lsp.acp.refusals import unknown_session
from north_lsp.agent.session.library.conversations import Conversations
from north_lsp.rpc.messages import INVALID_REQUEST, Params, RpcError
from north_lsp.rpc.peer import Call, Handler
from north_lsp.storage.conversation import UnknownConversation


def salvage_method(conversations: Conversations) -> Handler:
    """Return the handler: `{sessionId, cwd}` → `{sessionId, messages, leftOut}` of the copy. `cwd` becomes its folder
    if its own is gone."""

    async def salvage(params: Params, call: Call) -> object:
        id, root = read.text(params, "sessionId"), read.absolute_folder(params.get("cwd"), "cwd").resolve()
        try:
            got = await conversations.salvage(id, root)
        except UnknownConversation:
            raise unknown_session(id) from None
        except (ValueError, OSError) as error:
            raise RpcError(INVALID_REQUEST, f"nothing could be copied: {error}") from None
        return {"sessionId": got.id, "messages": got.messages, "leftOut": got.left_out}

    return salvage
