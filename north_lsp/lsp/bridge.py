"""pygls behind North's peer: it gets the raw messages that are nobody else's, in order, and never touches the wire."""

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from north_lsp.rpc.messages import INVALID_PARAMS, RpcError, error_reply, is_id
from north_lsp.rpc.peer import Peer

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

_MAX_WAITING = 1000
_CHANGES = ("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose")


class PyglsBridge:
    """A `ForeignProtocol`. Until pygls has loaded, messages wait; then they are handled in their order."""

    def __init__(self, peer: Peer, on_failure: Callable[[str, BaseException], None]) -> None:
        self._peer = peer
        self._on_failure = on_failure
        self._inbox, self._messages = anyio.create_memory_object_stream[dict[str, Any]](_MAX_WAITING)
        self._outbox, self._answers = anyio.create_memory_object_stream[dict[str, Any]](math.inf)
        self._room = anyio.Event()  # cleared while the client leaves too many answers unread
        self._room.set()
        self._muted: set[object] = set()
        self._server: LanguageServer | None = None
        self._received = 0
        self._handled = 0
        self._progress = anyio.Condition()
        self._changed = anyio.Event()

    async def handle(self, raw: dict[str, Any]) -> None:
        self._received += 1
        await self._inbox.send(raw)

    async def run(self, initialize: dict[str, Any]) -> None:
        """Load pygls off the loop, tell it what was negotiated, and feed it until cancelled."""
        self._server = server = await anyio.to_thread.run_sync(self._load, abandon_on_cancel=True)
        self._muted.add(initialize["id"])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._send_answers)
            await self._feed(server, initialize)
            await self._advance(0)
            async for raw in self._messages:
                await self._feed(server, raw)
                await self._advance(1)
                if raw.get("method") in _CHANGES:
                    self._changed.set()
                    self._changed = anyio.Event()
            tasks.cancel_scope.cancel()

    def _load(self) -> "LanguageServer":
        """Importing pygls takes a third of a second: never on the loop."""
        from north_lsp.lsp.features import make_server

        return make_server(self._write, self._on_failure)

    async def _advance(self, count: int) -> None:
        async with self._progress:
            self._handled += count
            self._progress.notify_all()

    async def _caught_up(self) -> "LanguageServer":
        """pygls, once it has handled every message that came before this call."""
        target = self._received
        async with self._progress:
            while self._server is None or self._handled < target:
                await self._progress.wait()
        return self._server

    async def documents(self) -> dict[str, str]:
        """The open texts by URI, as of now."""
        server = await self._caught_up()
        return {uri: document.source for uri, document in server.workspace.text_documents.items()}

    async def version(self, uri: str) -> int | None:
        document = (await self._caught_up()).workspace.text_documents.get(uri)
        return document.version if document is not None else None

    def changed(self) -> anyio.Event:
        """Set at the next change of any document."""
        return self._changed

    async def _feed(self, server: "LanguageServer", raw: dict[str, Any]) -> None:
        try:
            message = server.protocol.structure_message(raw)
        except Exception as error:  # noqa: BLE001 - pygls wraps whatever its converter raises
            self._on_failure(f"structure {raw.get('method')}", error)
            if is_id(raw.get("id")) and "method" in raw:
                refused = RpcError(INVALID_PARAMS, f"invalid params for {raw['method']}")
                await self._peer.send(error_reply(raw["id"], refused))
            return
        await self._room.wait()
        server.protocol.handle_message(message)

    def _write(self, data: bytes) -> None:
        """What pygls sends: answers, in the tasks and callbacks of its own."""
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
