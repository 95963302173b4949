"""A server that the editor has in itself, over the connection to the editor. The protocol has no sessions there: each
request says by itself which version it is of. Editors that go by an older draft have connections, and sessions on
them."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.abc

from north_lsp import __version__
from north_lsp.agent.ports.servers import Channel, ServerSpec
from north_lsp.background import beside
from north_lsp.errors import ToolError
from north_lsp.mcp.transport import failure
from north_lsp.rpc.framing import Frame
from north_lsp.rpc.messages import Id, RpcError, error_reply, result_reply

VERSION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "north", "title": "North", "version": __version__},
}
_UNAVAILABLE = -33001
_MOST_AT_ONCE = 64
_MOST_WAITING = 1000
_END_SECONDS = 1.0


class EditorTransport:
    """The messages to one server. Each request that is sent has a task of its own, which ends with its answer."""

    def __init__(self, channel: Channel, server_id: str, tasks: anyio.abc.TaskGroup) -> None:
        self._channel = channel
        self._server_id = server_id
        self._tasks = tasks
        self._run = uuid.uuid4().hex
        self._asked: dict[Id, anyio.CancelScope] = {}
        self._send, self._receive = anyio.create_memory_object_stream[Frame](_MOST_WAITING)
        self.is_refused = False
        """The editor has refused a request itself: it may go by another draft."""
        self.reached = True
        self.why = "the connection was closed"

    def post(self, message: dict[str, Any]) -> None:
        id, method, params = message.get("id"), message["method"], message.get("params") or {}
        if method == "notifications/cancelled":
            if (scope := self._asked.get(params["requestId"])) is not None:
                scope.cancel()
        elif id is None:
            self._tell(method, params)
        else:
            if len(self._asked) >= _MOST_AT_ONCE:
                raise failure("it does not answer what North asks", "continue without it")
            self._asked[id] = anyio.CancelScope()
            self._tasks.start_soon(self._ask, id, method, params)

    def negotiated(self, version: str) -> None:
        pass

    async def frames(self) -> AsyncIterator[Frame]:
        with self._receive:
            async for frame in self._receive:
                yield frame

    def close(self, why: str) -> None:
        """Let the connection end with what has arrived."""
        self.why = why
        self._send.close()

    def abandon(self) -> None:
        """End the connection, also if nobody has read from it."""
        self._send.close()
        self._receive.close()

    def _tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification: servers without sessions get none."""

    async def _answered(self, id: Id, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a request. Raises RpcError."""
        told = {**params, "_meta": {**_META, **params.get("_meta", {})}}
        return _reply(id, await self._channel.ask(self._server_id, f"{self._run}-{id}", method, told, self._heard))

    async def _ask(self, id: Id, method: str, params: Mapping[str, Any]) -> None:
        with self._asked[id]:
            try:
                try:
                    reply = await self._answered(id, method, params)
                finally:
                    del self._asked[id]
            except RpcError as error:
                if error.code == _UNAVAILABLE:
                    self.close("the editor has removed the server")
                    return
                self.is_refused = True
                reply = error_reply(id, error)
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self._send.send(reply)

    def _heard(self, method: str, params: Mapping[str, object]) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": dict(params)}
        with suppress(anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):  # a flood is not kept
            self._send.send_nowait(message)


class ConnectedTransport(EditorTransport):
    """The messages on a connection to one server, in the older way."""

    connection = ""

    async def connect(self) -> None:
        """Open the connection. Raises RpcError."""
        self.connection = await self._channel.connect(self._server_id, self._heard)

    async def disconnect(self) -> None:
        if not self.connection:
            return
        with anyio.move_on_after(_END_SECONDS, shield=True), suppress(RpcError):  # the editor finds out by itself
            await self._channel.close(self.connection)

    def _tell(self, method: str, params: Mapping[str, Any]) -> None:
        self._tasks.start_soon(self._channel.tell, self.connection, method, params)

    async def _answered(self, id: Id, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return result_reply(id, await self._channel.send(self.connection, method, params))


def _reply(id: Id, outcome: object) -> dict[str, Any]:
    """Return a server's answer as the answer to a request."""
    if isinstance(outcome, Mapping) and "result" in outcome:
        return result_reply(id, outcome["result"])
    error = outcome.get("error") if isinstance(outcome, Mapping) else None
    if isinstance(error, Mapping) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str):
        return error_reply(id, RpcError(error["code"], error["message"]))
    return error_reply(id, RpcError(-33002, "the editor's answer does not follow the protocol"))


@asynccontextmanager
async def over_editor(spec: ServerSpec) -> AsyncIterator[EditorTransport]:
    """Talk to a server of the editor's."""
    assert spec.channel is not None
    async with beside() as tasks:
        transport = EditorTransport(spec.channel, spec.server_id, tasks)
        try:
            yield transport
        finally:
            transport.abandon()


@asynccontextmanager
async def connected_over_editor(spec: ServerSpec, refused: ToolError) -> AsyncIterator[ConnectedTransport]:
    """Connect to a server of an editor that goes by the older draft. Raises `refused` for an editor that does not."""
    assert spec.channel is not None
    async with beside() as tasks:
        transport = ConnectedTransport(spec.channel, spec.server_id, tasks)
        try:
            try:
                await transport.connect()
            except RpcError:
                raise refused from None
            yield transport
        finally:
            transport.abandon()
            await transport.disconnect()
