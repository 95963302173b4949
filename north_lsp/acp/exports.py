"""Methods about a conversation as a whole: as a file or a text, what a summary replaced of it, and in numbers."""

from __future__ import annotations

import os
from collections.abc import Callable

from north_lsp.acp import params as read
from north_lsp.acp.refusals import refusal
from north_lsp.agent.session.keeping.exporting import Exports, Wanted, stored_exports
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.session import Session
from north_lsp.errors import ToolError
from north_lsp.rpc.messages import INVALID_REQUEST, Params, RpcError, invalid_params
from north_lsp.rpc.peer import Call, Handler

_MAX_CHARACTERS = 10_000_000


def export_methods(find: Callable[[str], Session | None], environment: Environment) -> dict[str, Handler]:
    """Return the handlers by method name. `find` returns the session of an id if it is open; others are read from the
    store, and stay closed."""

    async def exports_of(params: Params) -> Exports:
        id = read.text(params, "sessionId")
        session = find(id)
        return session.exports if session is not None else await stored_exports(environment, id)

    async def export(params: Params, call: Call) -> object:
        """Write the conversation to `path`, or return its text without one."""
        from north_lsp.agent.exports.export import as_format

        path, named = read.optional_text(params, "path"), read.optional_text(params, "format")
        if path is not None and not os.path.isabs(path):
            raise invalid_params("path", "must be an absolute path")
        raw, replace = read.flag(params, "raw"), read.flag(params, "replace")
        try:
            wanted = as_format(named) if named is not None else None
            exports = await exports_of(params)
            if path is not None:
                written, format = await exports.write(Wanted(path, wanted, raw, replace))
                return {"path": str(written), "format": format}
            format = wanted or "html"
            text = await exports.text(format, raw=raw)
        except ToolError as error:
            raise _refused(error) from None
        if len(text) > _MAX_CHARACTERS:
            told = f"the conversation has {len(text):,} characters in this format: export it to a file"
            raise RpcError(INVALID_REQUEST, told, {"code": "TOO_LARGE"})
        return {"text": text, "format": format}

    async def stats(params: Params, call: Call) -> object:
        try:
            return (await (await exports_of(params)).statistics()).to_json()
        except ToolError as error:
            raise _refused(error) from None

    async def replaced(params: Params, call: Call) -> object:
        """Return what a summary (`compactionId`) took the place of, as `{text}`."""
        summary = read.text(params, "compactionId")
        try:
            text = await (await exports_of(params)).replaced(summary)
        except ToolError as error:
            raise _refused(error) from None
        return {"text": text[:_MAX_CHARACTERS]}

    return {
        "_north/sessions/export": export,
        "_north/sessions/replaced": replaced,
        "_north/sessions/stats": stats,
    }


def _refused(error: ToolError) -> RpcError:
    return refusal(error, f"{error.message}: {error.hint}" if error.hint else error.message)
