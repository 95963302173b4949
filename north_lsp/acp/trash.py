"""`_north/sessions/trash` and `_north/sessions/restore`: deleted conversations, for pickers."""

from __future__ import annotations

from typing import Any

from north_lsp.acp import params as read
from north_lsp.acp.library import summary_row
from north_lsp.agent.session.library.library import NoConversation, SeveralConversations
from north_lsp.agent.session.library.trash import Trash
from north_lsp.display import visible
from north_lsp.rpc.messages import INVALID_REQUEST, RESOURCE_NOT_FOUND, Params, RpcError
from north_lsp.rpc.peer import Call, Handler
from north_lsp.storage.errors import ConversationBusy, UnknownConversation
from north_lsp.storage.trash import NotRestored, Trashed

_MOST = 200


def trash_methods(trash: Trash) -> dict[str, Handler]:
    """Return the handlers by method name."""

    async def listed(params: Params, call: Call) -> object:
        """List deleted conversations, the one that was deleted last first: about `cwd`, or all; with the words of
        `query`."""
        folder, query = read.optional_path(params, "cwd"), read.optional_text(params, "query") or ""
        rows = await trash.listed(query, folder, _MOST)
        return {"sessions": [_row(one) for one in rows]}

    async def restore(params: Params, call: Call) -> object:
        """Put a deleted conversation back where it was. Returns what lists show of it."""
        id = read.text(params, "sessionId")
        try:
            return _row(await trash.restore(id))
        except (NoConversation, UnknownConversation):
            told = f"there is no session {id[:64]!r} in the trash"
            raise RpcError(RESOURCE_NOT_FOUND, visible(told), {"sessionId": id[:64]}) from None
        except SeveralConversations as error:
            candidates = [summary_row(one) for one in error.candidates]
            raise RpcError(INVALID_REQUEST, visible(str(error)), {"candidates": candidates}) from None
        except (NotRestored, ConversationBusy) as error:
            raise RpcError(INVALID_REQUEST, visible(str(error))) from None
        except OSError as error:
            problem = f"the session {id[:64]} cannot be restored: {error.strerror or error}"
            raise RpcError(INVALID_REQUEST, visible(problem)) from None

    return {"_north/sessions/trash": listed, "_north/sessions/restore": restore}


def _row(one: Trashed) -> dict[str, Any]:
    return {**summary_row(one.summary), "deletedAt": one.deleted_at}
