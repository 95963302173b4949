"""Errors of requests: a tool's that refused something, and a session that there is none of."""

from __future__ import annotations

from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.rpc.messages import INVALID_REQUEST, RESOURCE_NOT_FOUND, RpcError


def refusal(error: ToolError, text: str) -> RpcError:
    """Make a tool's error that of a request, which says `text`."""
    number = RESOURCE_NOT_FOUND if error.code == "NOT_FOUND" else INVALID_REQUEST
    return RpcError(number, visible(text), {"code": error.code})


def unknown_session(id: str) -> RpcError:
    """Make the error for an id that no conversation has."""
    return RpcError(RESOURCE_NOT_FOUND, f"there is no session {id[:64]!r}", {"sessionId": id[:64]})
