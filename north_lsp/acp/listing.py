"""`session/list`: the stored conversations, page by page. A cursor says where the next page begins."""

import base64
import binascii

from north_lsp.acp import params as read
from north_lsp.agent.session.conversations import Conversations
from north_lsp.rpc.messages import Params, invalid_params
from north_lsp.rpc.peer import Call, Handler

_PAGE = 50


def list_method(conversations: Conversations) -> Handler:
    """Return the handler."""

    async def listed(params: Params, call: Call) -> object:
        folder = read.optional_path(params, "cwd")
        start = _read_cursor(read.optional_text(params, "cursor"))
        found = await conversations.listed(folder)
        page = found[start : start + _PAGE]
        sessions = [
            {
                "sessionId": row.id,
                "cwd": str(row.cwd),
                "title": row.title or row.first_prompt,
                "updatedAt": row.updated_at,
            }
            for row in page
        ]
        more = start + _PAGE < len(found)
        return {"sessions": sessions} | ({"nextCursor": _write_cursor(start + _PAGE)} if more else {})

    return listed


def _write_cursor(start: int) -> str:
    return base64.urlsafe_b64encode(f"from:{start}".encode()).decode()


def _read_cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        kind, _, number = base64.urlsafe_b64decode(cursor.encode()).decode().partition(":")
        if kind == "from" and number.isdecimal():
            return int(number)
    except (binascii.Error, UnicodeError, ValueError):
        pass
    raise invalid_params("cursor", "is not a cursor from session/list")
