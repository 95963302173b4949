"""`_north/sessions/import`: takes over a log from anywhere as a new conversation."""

from __future__ import annotations

from pathlib import Path

from north_lsp.acp import params as read
from north_lsp.agent.session.library.conversations import Conversations
from north_lsp.display import visible
from north_lsp.rpc.messages import INVALID_REQUEST, Params, RpcError, invalid_params
from north_lsp.rpc.peer import Call, Handler


def import_method(conversations: Conversations) -> Handler:
    """Return the handler: `{path, cwd, salvage?}` → `{sessionId, name, messages, leftOut, warnings}`. `cwd` becomes the
    conversation's folder unless its own is there."""

    async def take_in(params: Params, call: Call) -> object:
        path, root = Path(read.text(params, "path")), read.absolute_folder(params.get("cwd"), "cwd").resolve()
        if not path.is_absolute() or "\0" in str(path):
            raise invalid_params("path", "must be an absolute path")
        from north_lsp.storage.importing import NotImported

        salvage = params.get("salvage", False)
        if not isinstance(salvage, bool):
            raise invalid_params("salvage", "must be true or false")
        try:
            got = await conversations.import_log(path, root, salvage=salvage)
        except NotImported as refused:
            told = f"{path.name} was not imported: {refused}"
            raise RpcError(INVALID_REQUEST, visible(told), {"canBeSalvaged": refused.can_be_salvaged}) from None
        except FileNotFoundError:
            raise RpcError(INVALID_REQUEST, visible(f"file not found: {path}")) from None
        except OSError as error:
            raise RpcError(INVALID_REQUEST, visible(f"{path} cannot be read: {error.strerror or error}")) from None
        counts = {"messages": got.messages, "leftOut": got.left_out}
        return {"sessionId": got.id, "name": visible(got.name), **counts, "warnings": list(map(visible, got.warnings))}

    return take_in
