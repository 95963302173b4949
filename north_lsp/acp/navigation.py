"""`session/fork` and `_north/sessions/*`: going back in a conversation, its tree, labels and copies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, get_args

from north_lsp.acp import params as read
from north_lsp.acp.checkpoints import CONFLICTS, outcome
from north_lsp.acp.drafts import draft_blocks
from north_lsp.acp.refusals import refusal
from north_lsp.agent.log.tree import Row, find_filter
from north_lsp.agent.session.library.conversations import Conversations
from north_lsp.agent.session.navigation.navigation import Copied, What
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.rpc.messages import INVALID_REQUEST, Params, RpcError, invalid_params
from north_lsp.rpc.peer import Call, Handler

_WHAT: tuple[What, ...] = get_args(What)


def navigation_methods(session_of: Callable[[Params], Session]) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError."""

    async def tree(params: Params, call: Call) -> object:
        navigation = session_of(params).navigation
        try:
            filter = find_filter(read.optional_text(params, "filter") or "default")
        except ValueError as error:
            raise invalid_params("filter", str(error)) from None
        rows = await navigation.tree(filter, read.optional_text(params, "query") or "")
        return {"nodes": list(map(_node, rows))}

    async def rewind(params: Params, call: Call) -> object:
        navigation, id = session_of(params).navigation, read.text(params, "entryId")
        summary = _summary(params)
        what, conflicts = _what(params), CONFLICTS.get(read.optional_text(params, "conflicts") or "skip")
        if conflicts is None:
            raise invalid_params("conflicts", "must be skip, overwrite or merge")
        with _refused():
            if params.get("dryRun") is True:
                plan, draft = await navigation.look(id, conflicts)
                offered = {"offersSummary": True} if navigation.offers_summary(id) else {}
                return {**outcome(plan), "prompt": draft_blocks(draft), **offered}
            gone = await navigation.go(id, what, conflicts, summary)
        if gone.moved:
            await navigation.show_again()
        answer = {"moved": gone.moved, **outcome(gone.plan), "prompt": draft_blocks(gone.draft)}
        answer |= {"summarized": True} if gone.has_summary else {}
        return answer | ({"unrestored": list(gone.stays)} if gone.stays else {})

    async def branch(params: Params, call: Call) -> object:
        with _refused():
            copied = await session_of(params).navigation.branch(read.text(params, "entryId"))
        return {"sessionId": copied.id, "prompt": draft_blocks(copied.draft)} | _warnings(copied)

    async def label(params: Params, call: Call) -> object:
        navigation, text = session_of(params).navigation, read.optional_text(params, "label") or ""
        with _refused():
            return {"label": navigation.label(read.optional_text(params, "entryId"), text) or None}

    return {
        "_north/sessions/tree": tree,
        "_north/sessions/rewind": rewind,
        "_north/sessions/branch": branch,
        "_north/sessions/label": label,
    }


async def forked(
    params: Params,
    source: Session | None,
    conversations: Conversations,
    open_session: Callable[[Params], Awaitable[Session]],
) -> Session:
    """Copy a conversation into the project of `cwd`, and open the copy; `source` is its session if it is open. Raises
    RpcError, and UnknownConversation."""
    root = read.absolute_folder(params.get("cwd"), "cwd")
    with _refused():
        if source is not None:
            copied = await source.navigation.fork(root)
        else:
            copied = await conversations.fork(read.text(params, "sessionId"), root)
    try:
        return await open_session({**params, "sessionId": copied.id})
    except RpcError:
        await conversations.delete(copied.id)
        raise


def _what(params: Params) -> What:
    wanted = read.optional_text(params, "what") or "conversation"
    for what in _WHAT:
        if what == wanted:
            return what
    raise invalid_params("what", f"must be {', '.join(_WHAT[:-1])} or {_WHAT[-1]}")


def _summary(params: Params) -> str | None:
    """Read whether what is left behind is to be summarized, and how; None if not. Raises RpcError."""
    how, wanted = read.optional_text(params, "instructions") or "", read.flag(params, "summarize")
    if how and not wanted:
        raise invalid_params("instructions", "are for a summary: set summarize")
    return how.strip() if wanted else None


def _node(row: Row) -> dict[str, Any]:
    node: dict[str, Any] = {"id": row.id, "parentId": row.parent, "depth": row.depth, "kind": row.kind}
    node |= {"role": row.role} if row.role else {}
    node |= {"text": row.text, "timestamp": row.at, "onPath": row.is_on_path, "isLeaf": row.is_here}
    return node | ({"label": visible(row.label)} if row.label else {})


def _warnings(copied: Copied) -> dict[str, Any]:
    if copied.is_whole:
        return {}
    return {"warnings": ["the full outputs of the tool calls could not be copied"]}


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except ToolError as error:
        raise refusal(error, error.message) from None
    except ValueError as error:
        raise RpcError(INVALID_REQUEST, visible(str(error)).replace("\n", " ")) from None
    except OSError as error:
        raise RpcError(INVALID_REQUEST, f"the copy cannot be written: {error.strerror or error}") from None
