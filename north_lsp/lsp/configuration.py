"""The editor's settings for North: told with `workspace/didChangeConfiguration`, or asked for with
`workspace/configuration` where the client does not tell them itself. Many editors mix files of the opened folder into
them (`.dir-locals.el`, `.zed/settings.json`): then they may say no more than a project's own file."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import anyio

from north_lsp.lsp.initialize import LspClient, changed_settings
from north_lsp.rpc.messages import Params, RpcError
from north_lsp.rpc.peer import Call, Peer

_PATIENCE_SECONDS = 10.0
_SECTION = "north"


class Take(Protocol):
    """Applies settings of the editor, by their keys; with `as_project` they may set no more than a project's own
    file."""

    def __call__(self, editor: dict[str, object], *, as_project: bool) -> None: ...


class EditorSettings:
    """A peer's service. `take` gets all that is set in the editor, by the settings' keys."""

    def __init__(self, peer: Peer, take: Take, client: LspClient) -> None:
        self._peer = peer
        self._take = partial(take, as_project=not client.tells_own_settings)
        self._asks = client.is_asked_for_settings

    def owns(self, method: str) -> bool:
        return method in ("initialized", "workspace/didChangeConfiguration")

    async def request(self, method: str, params: Params, call: Call) -> object:
        raise AssertionError(f"{method} is a notification")

    async def notification(self, method: str, params: Params) -> None:
        told = changed_settings(params) if method == "workspace/didChangeConfiguration" else None
        if told is not None:
            self._take(told)
        elif self._asks:
            await self._ask()

    async def _ask(self) -> None:
        """Ask for them; a client that fails to answer has none."""
        try:
            with anyio.fail_after(_PATIENCE_SECONDS):
                answer = await self._peer.request("workspace/configuration", {"items": [{"section": _SECTION}]})
        except (RpcError, TimeoutError):
            return
        if isinstance(answer, list) and answer and isinstance(answer[0], dict):
            self._take(answer[0])
