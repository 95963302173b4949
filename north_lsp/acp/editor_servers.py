"""MCP servers that the client has in itself (`acp`): each message is an `mcp/message` on the connection to it. In the
draft as it is now, each request is for itself; as it was before, and some clients have it, there are connections
(`mcp/connect`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from north_lsp.agent.ports.servers import Heard
from north_lsp.rpc.messages import METHOD_NOT_FOUND, Params, RpcError
from north_lsp.rpc.peer import Call, Peer


class EditorServers:
    """Reaches the servers that one connection's client has in itself."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._heard: dict[tuple[object, object], Heard] = {}
        self._connected: dict[str, Heard] = {}

    async def ask(
        self, server_id: str, request_id: str, method: str, params: Mapping[str, object], heard: Heard
    ) -> object:
        """Send a request to a server, and return what comes back, as it is. Until then `heard` gets what the server
        says of it. Raises RpcError."""
        self._peer.tell_cancels()  # a client with servers of its own reads them
        self._heard[server_id, request_id] = heard
        asked = {"serverId": server_id, "requestId": request_id, "method": method, "params": dict(params)}
        try:
            return await self._peer.request("mcp/message", asked, cancellable=True)
        finally:
            del self._heard[server_id, request_id]

    async def connect(self, server_id: str, heard: Heard) -> str:
        """Connect to a server, in the older way, and return the connection's id; until it is closed, `heard` gets what
        the server says by itself. Raises RpcError."""
        self._peer.tell_cancels()
        named = {"serverId": server_id, "acpId": server_id}  # both spellings have been in the draft
        answer = await self._peer.request("mcp/connect", named, cancellable=True)
        id = answer.get("connectionId") if isinstance(answer, dict) else None
        if not isinstance(id, str):
            raise RpcError(METHOD_NOT_FOUND, "the answer to mcp/connect has no `connectionId`")
        self._connected[id] = heard
        return id

    async def send(self, connection: str, method: str, params: Mapping[str, object]) -> object:
        """Send a request on a connection, and return its result. Raises RpcError."""
        told = {"connectionId": connection, "method": method, "params": dict(params)}
        return await self._peer.request("mcp/message", told, cancellable=True)

    async def tell(self, connection: str, method: str, params: Mapping[str, object]) -> None:
        """Send a notification on a connection."""
        await self._peer.notify("mcp/message", {"connectionId": connection, "method": method, "params": dict(params)})

    async def close(self, connection: str) -> None:
        """Close a connection. Raises RpcError."""
        self._connected.pop(connection, None)
        await self._peer.request("mcp/disconnect", {"connectionId": connection})

    def take(self, message: Params) -> None:
        """Take what a server says of a request, or by itself; what is about no request or connection is dropped."""
        server_id, request_id, method = (message.get(key) for key in ("serverId", "requestId", "method"))
        connection = message.get("connectionId")
        heard: Heard | None = None
        if isinstance(server_id, str) and isinstance(request_id, str):
            heard = self._heard.get((server_id, request_id))
        elif isinstance(connection, str):
            heard = self._connected.get(connection)
        params: Any = message.get("params")
        if heard is not None and isinstance(method, str):
            heard(method, params if isinstance(params, dict) else {})

    async def answer(self, params: Params, call: Call) -> object:
        """Answer what a server asks of North on a connection. Raises RpcError: there is nothing but the ping."""
        connection = params.get("connectionId")
        if isinstance(connection, str) and connection in self._connected and params.get("method") == "ping":
            return {}
        raise RpcError(METHOD_NOT_FOUND, "North does not offer this method to servers")
