"""`session/list`: the stored conversations, page by page. A cursor names the last one of the page before, so that
nothing is listed twice when conversations continue between two pages."""

from __future__ import annotations

import base64
import binascii
import json

from north_lsp.acp import params as read
from north_lsp.agent.session.library.conversations import Conversations
from north_lsp.rpc.messages import Params, invalid_params
from north_lsp.rpc.peer import Call, Handler
from north_lsp.storage.conversation_index import Archived

_PAGE = 50
_ARCHIVED: dict[str, Archived] = {"exclude": "hidden", "include": "shown", "only": "only"}
Cursor = tuple[str, str]
"""When the last conversation of a page was updated, and its id."""


def list_method(conversations: Conversations) -> Handler:
    """Return the handler."""

    async def listed(params: Params, call: Call) -> object:
        folder = read.optional_path(params, "cwd")
        last = _read_cursor(read.optional_text(params, "cursor"))
        archived = read.optional_text(params, "archived") or "exclude"
        if archived not in _ARCHIVED:
            raise invalid_params("archived", f"must be {', '.join(_ARCHIVED)}, not {archived[:32]!r}")
        rows = await conversations.listed(folder, _ARCHIVED[archived])
        found = sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)
        if last is not None:
            found = [row for row in found if (row.updated_at, row.id) < last]
        page = found[:_PAGE]
        sessions = [
            {
                "sessionId": row.id,
                "cwd": str(row.cwd),
                **({"additionalDirectories": [str(root) for root in row.further_roots]} if row.further_roots else {}),
                "title": row.title or row.first_prompt,
                "updatedAt": row.updated_at,
                "archived": row.archived,
            }
            for row in page
        ]
        more = {"nextCursor": _write_cursor(page[-1].updated_at, page[-1].id)} if len(found) > _PAGE else {}
        return {"sessions": sessions} | more

    return listed


def _write_cursor(*last: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(last).encode()).decode()


def _read_cursor(cursor: str | None) -> Cursor | None:
    if cursor is None:
        return None
    try:
        match json.loads(base64.urlsafe_b64decode(cursor.encode())):
            case [str(updated_at), str(id)]:
                return updated_at, id
    except (binascii.Error, ValueError):
        pass
    raise invalid_params("cursor", "is not a cursor from session/list")
