"""Shows that North works, as LSP's progress, which can be cancelled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from north_lsp.rpc.messages import RpcError
from north_lsp.rpc.peer import Peer

_CREATE_SECONDS = 2.0


class Progress:
    """The progress of one connection. `token` is that of what runs now, if any; `is_shown`: the client shows progress
    of the server's own."""

    def __init__(self, peer: Peer, *, is_shown: bool) -> None:
        self._peer = peer
        self._is_shown = is_shown
        self._count = 0
        self.token: str | int | None = None

    @asynccontextmanager
    async def shown(self, token: str | int | None, title: str) -> AsyncIterator[None]:
        """Report progress on the client's token, or on one of our own if the client shows progress."""
        token = token if token is not None else await self._created()
        if token is None:
            yield
            return
        begin = {"kind": "begin", "title": "North", "message": title.strip().split("\n")[0][:80], "cancellable": True}
        await self._tell(token, begin)
        self.token = token
        try:
            yield
        finally:
            self.token = None
            with anyio.CancelScope(shield=True):
                await self._tell(token, {"kind": "end"})

    async def report(self, message: str) -> None:
        """Say what happens."""
        if self.token is not None:
            await self._tell(self.token, {"kind": "report", "message": message})

    async def _created(self) -> str | None:
        if not self._is_shown:
            return None
        self._count += 1
        token = f"north-{self._count}"
        try:
            with anyio.fail_after(_CREATE_SECONDS):
                await self._peer.request("window/workDoneProgress/create", {"token": token})
        except (RpcError, TimeoutError):
            return None
        return token

    async def _tell(self, token: str | int, value: dict[str, object]) -> None:
        await self._peer.notify("$/progress", {"token": token, "value": value})
