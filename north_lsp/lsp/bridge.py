"""Runs pygls behind North's peer: it gets the raw messages that nothing else handles, in order, and never touches the
wire."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from north_lsp.display import one_line
from north_lsp.lsp.features import Features
from north_lsp.lsp.texts import OpenDocumentTexts
from north_lsp.rpc.messages import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, RpcError, error_reply, is_id
from north_lsp.rpc.peer import Peer

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

_MAX_WAITING = 1000
_MANY_WAITING = 100
_TEXTS = ("textDocument/did", "notebookDocument/did")
"""How notifications about texts begin. They are not pygls's: it fails at changes of a text that it does not have."""


class PyglsBridge:
    """A `ForeignProtocol`. pygls is loaded when the client first asks it for something; messages wait for that, and are
    then handled in order. `texts` are the open documents, followed as the messages come in; `features` is what is
    offered in them, set before `run`."""

    def __init__(self, peer: Peer, encoding: str, on_failure: Callable[[str, BaseException], None]) -> None:
        self.texts = OpenDocumentTexts(encoding)
        self.features: Features | None = None
        self._peer = peer
        self._on_failure = on_failure
        self._inbox, self._messages = anyio.create_memory_object_stream[dict[str, Any]](_MAX_WAITING)
        self._outbox, self._answers = anyio.create_memory_object_stream[dict[str, Any]](math.inf)
        self._room = anyio.Event()  # cleared while the client leaves too many answers unread
        self._room.set()
        self._needed = anyio.Event()
        self._muted: set[object] = set()
        self._changed = anyio.Event()

    async def handle(self, raw: dict[str, Any]) -> None:
        # pygls does not answer a message with another version or none, and rejects one without params.
        raw = {**({"params": {}} if "method" in raw else {}), **raw, "jsonrpc": "2.0"}
        method = str(raw.get("method"))
        if not method.startswith(_TEXTS):
            if is_id(raw.get("id")) or self._inbox.statistics().current_buffer_used >= _MANY_WAITING:
                self._needed.set()
            await self._inbox.send(raw)
        elif is_id(raw.get("id")):
            await self._refuse(
                raw, RpcError(INVALID_REQUEST, f"{one_line(method, 60)} is a notification: it has no id")
            )
        elif self.texts.follow(method, raw.get("params") or {}):
            self._changed.set()
            self._changed = anyio.Event()

    async def run(self, initialize: dict[str, Any], *, ready_after: float | None) -> None:
        """Load pygls off the loop, once it is needed or so many seconds have passed, tell it what was negotiated, and
        feed it until cancelled. If it cannot be loaded, requests to it are refused."""
        with anyio.move_on_after(ready_after):
            await self._needed.wait()
        try:
            server = await anyio.to_thread.run_sync(self._load, abandon_on_cancel=True)
        except Exception as error:  # noqa: BLE001 - an installation can be broken in any way
            self._on_failure("loading pygls", error)
            await self._refuse_all()
            return
        self._muted.add(initialize["id"])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._send_answers)
            await self._feed(server, initialize)
            async for raw in self._messages:
                await self._feed(server, raw)
            tasks.cancel_scope.cancel()

    async def _refuse_all(self) -> None:
        async for raw in self._messages:
            if is_id(raw.get("id")) and "method" in raw:
                missing = RpcError(INTERNAL_ERROR, "North's LSP library cannot be loaded; `north-lsp doctor` says why")
                await self._peer.send(error_reply(raw["id"], missing))

    def _load(self) -> LanguageServer:
        """Import pygls and create its server. The import takes a third of a second and 20 MB: never call this on the
        loop."""
        from north_lsp.lsp.pygls_server import make_server

        assert self.features is not None
        return make_server(self._write, self._on_failure, self.features)

    def changed(self) -> anyio.Event:
        """Return an event that is set at the next change of any text."""
        return self._changed

    async def _feed(self, server: LanguageServer, raw: dict[str, Any]) -> None:
        await self._room.wait()
        try:
            message = server.protocol.structure_message(raw)
        except Exception:  # noqa: BLE001 - in whatever way it does not fit
            await self._refuse(raw, RpcError(INVALID_PARAMS, f"invalid params for {raw.get('method')}"))
            return
        try:
            server.protocol.handle_message(message)
        except Exception as error:  # noqa: BLE001 - whatever pygls does, the connection must survive
            self._on_failure(f"pygls {raw.get('method')}", error)
            await self._refuse(raw, RpcError(INTERNAL_ERROR, f"{raw.get('method')} failed inside North; see the log"))

    async def _refuse(self, raw: dict[str, Any], error: RpcError) -> None:
        if is_id(raw.get("id")) and "method" in raw:
            await self._peer.send(error_reply(raw["id"], error))

    def _write(self, data: bytes) -> None:
        """Queue a message that pygls sends: an answer, from one of its own tasks or callbacks."""
        message = json.loads(data)
        if "method" not in message and message.get("id") in self._muted:
            self._muted.discard(message["id"])
            return
        self._outbox.send_nowait(message)
        if self._outbox.statistics().current_buffer_used > _MAX_WAITING:
            self._room = anyio.Event()

    async def _send_answers(self) -> None:
        async for message in self._answers:
            await self._peer.send(message)
            self._room.set()
