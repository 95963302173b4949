"""The draft's methods about conversations that need not be open: `session/set_title`, `session/archive`,
`session/unarchive` and `session/status`. They do what North's own `_north/sessions/*` do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from north_lsp.acp import params as read
from north_lsp.acp.refusals import unknown_session
from north_lsp.agent.session.library.conversations import Conversations
from north_lsp.agent.session.session import Session
from north_lsp.rpc.messages import Params
from north_lsp.rpc.peer import Call, Handler


def draft_session_methods(
    library: Mapping[str, Handler],
    sessions: Mapping[str, Session],
    conversations: Conversations,
    end: Callable[[str], Awaitable[None]],
) -> dict[str, Handler]:
    """Return the handlers by method name. `library` are those of `_north/sessions/*`, `sessions` are open, and `end`
    closes one of them."""

    async def known(params: Params) -> str:
        id = read.text(params, "sessionId")
        if id not in sessions and not await conversations.has(id):
            raise unknown_session(id)
        return id

    async def set_title(params: Params, call: Call) -> object:
        """Give a conversation the user's own title. Returns `{title}`, as it is stored."""
        await known(params)
        return await library["_north/sessions/rename"](params, call)

    async def archive(params: Params, call: Call) -> object:
        """Close a conversation and hide it from lists."""
        id = await known(params)
        await end(id)
        await library["_north/sessions/archive"]({"sessionId": id, "archived": True}, call)
        return {}

    async def unarchive(params: Params, call: Call) -> object:
        """Show a conversation in lists again."""
        await library["_north/sessions/archive"]({"sessionId": await known(params), "archived": False}, call)
        return {}

    async def status(params: Params, call: Call) -> object:
        """Tell whether a conversation is open here. Changes nothing."""
        session = sessions.get(await known(params))
        return {"status": "open" if session is not None and not session.is_closed else "saved"}

    return {
        "session/set_title": set_title,
        "session/archive": archive,
        "session/unarchive": unarchive,
        "session/status": status,
    }
