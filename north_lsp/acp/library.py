"""`_north/sessions/*` and `_north/prompts/*`: all stored conversations, whether they are open or not, for pickers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from north_lsp.acp import params as read
from north_lsp.acp.refusals import unknown_session
from north_lsp.agent.session.library.library import Library, NoConversation, Scope, SeveralConversations
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.rpc.messages import INVALID_REQUEST, RESOURCE_NOT_FOUND, Params, RpcError, invalid_params
from north_lsp.rpc.peer import Call, Handler
from north_lsp.storage.conversation import UnknownConversation
from north_lsp.storage.conversation_index import Archived
from north_lsp.storage.summaries import Summary

_MOST = 500
_ARCHIVED: dict[str, Archived] = {"hidden": "hidden", "shown": "shown", "only": "only"}


def library_methods(
    library: Library, session_of: Callable[[Params], Session], sessions: Mapping[str, Session]
) -> dict[str, Handler]:
    """Return the handlers by method name. `sessions` are those that are open; `session_of` finds the one named in the
    params and raises RpcError."""

    def opened(id: str) -> Session | None:
        session = sessions.get(id)
        return session if session is not None and not session.is_closed else None

    async def listed(params: Params, call: Call) -> object:
        """List conversations, the newest first: of `cwd`, or all. `nextStart` is there if there are more."""
        scope = _scope(params)
        rows = await library.listed(Scope(scope.folder, scope.archived, scope.limit + 1, scope.start))
        more = {"nextStart": scope.start + scope.limit} if len(rows) > scope.limit else {}
        return {"sessions": [summary_row(one) for one in rows[: scope.limit]], **more}

    async def search(params: Params, call: Call) -> object:
        """Find conversations by their words. `truncated`: not all could be looked through in time."""
        results = await library.search(read.text(params, "query"), _scope(params))
        rows = [
            {
                **summary_row(hit.summary),
                "match": {"place": hit.place, "snippet": visible(hit.snippet), "entryId": hit.entry_id},
            }
            for hit in results.found
        ]
        return {"sessions": rows, "truncated": results.truncated}

    async def find(params: Params, call: Call) -> object:
        """Find the one conversation whose id begins with `target`; the error has `candidates` if there are several."""
        folder = read.absolute_folder(params.get("cwd"), "cwd")
        try:
            found = await library.find(read.text(params, "target"), folder)
        except NoConversation as error:
            raise RpcError(RESOURCE_NOT_FOUND, visible(str(error))) from None
        except SeveralConversations as error:
            candidates = [summary_row(one) for one in error.candidates]
            raise RpcError(INVALID_REQUEST, visible(str(error)), {"candidates": candidates}) from None
        return {**summary_row(found), "isHere": await library.is_here(found, folder)}

    async def last(params: Params, call: Call) -> object:
        """Return what to continue in `cwd`: what the window (`windowId`) had last, else the newest; `session` is null
        without any."""
        folder = read.absolute_folder(params.get("cwd"), "cwd")
        found = await library.last(read.optional_text(params, "windowId"), folder)
        return {"session": summary_row(found) if found is not None else None}

    async def rename(params: Params, call: Call) -> object:
        """Give the conversation the user's own title. Returns `{title}`, as it is shown."""
        id, title = read.text(params, "sessionId"), read.text(params, "title")
        session = opened(id)
        try:
            if session is not None:
                return {"title": visible(await session.saved.rename(title))}
            session_of({"sessionId": id}) if id in sessions else None
            return {"title": visible(await _stored(library.rename(id, title), id))}
        except ValueError as error:
            raise invalid_params("title", str(error)) from None

    async def archive(params: Params, call: Call) -> object:
        """Hide the conversation from lists, or show it there again (`archived: false`)."""
        id, archived = read.text(params, "sessionId"), read.flag(params, "archived", default=True)
        session = opened(id)
        try:
            await (
                session.saved.archive(archived) if session is not None else _stored(library.archive(id, archived), id)
            )
        except ValueError as error:
            raise RpcError(INVALID_REQUEST, visible(str(error))) from None
        return {"archived": archived}

    async def prompts(params: Params, call: Call) -> object:
        """List prompts that were sent, the newest first: in `cwd`, or all. The last one is there at once."""
        scope = _scope(params)
        for session in tuple(sessions.values()):
            await session.remembering.prompts_kept()
        try:
            rows = await library.prompts(read.optional_text(params, "query") or "", scope.folder, scope.limit)
        except OSError as error:
            raise RpcError(INVALID_REQUEST, f"the history cannot be read: {error.strerror or error}") from None
        return {"prompts": [{"text": row.prompt, "createdAt": row.created_at, "cwd": row.cwd} for row in rows]}

    return {
        "_north/prompts/history": prompts,
        "_north/sessions/archive": archive,
        "_north/sessions/find": find,
        "_north/sessions/last": last,
        "_north/sessions/list": listed,
        "_north/sessions/rename": rename,
        "_north/sessions/search": search,
    }


async def _stored(change: Awaitable[Any], id: str) -> Any:
    try:
        return await change
    except UnknownConversation:
        raise unknown_session(id) from None
    except OSError as error:
        raise RpcError(INVALID_REQUEST, f"the session {id} cannot be changed: {error.strerror or error}") from None


def _scope(params: Params) -> Scope:
    folder = read.optional_path(params, "cwd")
    archived = params.get("archived", "hidden")
    if archived not in _ARCHIVED:
        raise invalid_params("archived", "must be hidden, shown or only")
    limit, start = read.whole_number(params, "limit", 50, 1), read.whole_number(params, "start", 0, 0)
    return Scope(folder, _ARCHIVED[archived], min(limit, _MOST), start)


def summary_row(one: Summary) -> dict[str, Any]:
    texts = {"title": one.title, "firstPrompt": one.first_prompt, "lastPrompt": one.last_prompt, "name": one.name}
    return {
        "sessionId": one.id,
        **{name: visible(text) if text is not None else None for name, text in texts.items()},
        "cwd": str(one.cwd),
        "createdAt": one.created_at,
        "updatedAt": one.updated_at,
        "messageCount": one.message_count,
        "model": one.model,
        "costUsd": round(one.cost_usd, 6),
        "archived": one.archived,
        "parent": one.parent,
    }
