"""MCP servers that the client has in itself (`acp`): each message is an `mcp/message` on the connection to it."""

from collections.abc import Mapping
from typing import Any

from north_lsp.agent.ports.servers import Heard
from north_lsp.rpc.messages import Params
from north_lsp.rpc.peer import Peer


class EditorServers:
    """Those of one connection."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._heard: dict[tuple[object, object], Heard] = {}

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

    def take(self, message: Params) -> None:
        """Take what a server says of a request; what is about no request is dropped."""
        server_id, request_id, method = (message.get(key) for key in ("serverId", "requestId", "method"))
        if not (isinstance(server_id, str) and isinstance(request_id, str) and isinstance(method, str)):
            return
        heard = self._heard.get((server_id, request_id))
        params: Any = message.get("params")
        if heard is not None:
            heard(method, params if isinstance(params, dict) else {})
