"""Commands in the client's own terminals, through ACP's `terminal/*`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from north_lsp.errors import ToolError
from north_lsp.rpc.messages import RpcError
from north_lsp.rpc.peer import Late, Peer

_MAX_BYTES = 50_000
_SECONDS = 10.0
# The editor waits until the terminal's shell is there, which takes its time on a busy machine.
_CREATE_SECONDS = 30.0


class ClientTerminal:
    """One of the client's terminals; a tool call embeds it by its `id`."""

    def __init__(self, peer: Peer, session_id: str, id: str) -> None:
        self.id = id
        self._peer = peer
        self._session_id = session_id

    @classmethod
    async def create(
        cls, peer: Peer, session_id: str, argv: Sequence[str], cwd: Path, environ: Mapping[str, str]
    ) -> ClientTerminal:
        """Open a terminal in the client and run `argv` there. Raises ToolError."""
        params = {
            "sessionId": session_id,
            "command": argv[0],
            "args": list(argv[1:]),
            "cwd": str(cwd),
            "env": [{"name": name, "value": value} for name, value in environ.items()],
            "outputByteLimit": _MAX_BYTES,
        }
        late = partial(_close_late, peer, session_id)
        answer = await _ask(peer, "terminal/create", params, _CREATE_SECONDS, late)
        id = answer.get("terminalId")
        if not isinstance(id, str):
            raise ToolError("UNAVAILABLE", "the editor opened no terminal")
        return cls(peer, session_id, id)

    async def output(self) -> str:
        """Return what the terminal shows so far. Raises ToolError."""
        return str((await self._call("terminal/output")).get("output", ""))

    async def wait(self) -> int | None:
        """Wait for the command's end. Returns the exit code, None if the client does not tell it. Raises ToolError."""
        try:
            answer = await self._peer.request("terminal/wait_for_exit", self._params(), cancellable=True)
        except RpcError as error:
            raise ToolError("UNAVAILABLE", f"the editor lost the terminal: {error}") from None
        code = answer.get("exitCode") if isinstance(answer, dict) else None
        return code if isinstance(code, int) and not isinstance(code, bool) else None

    async def kill(self) -> None:
        await self._call("terminal/kill")

    async def release(self) -> None:
        await self._call("terminal/release")

    async def _call(self, method: str) -> dict[str, Any]:
        return await _ask(self._peer, method, self._params())

    def _params(self) -> dict[str, Any]:
        return {"sessionId": self._session_id, "terminalId": self.id}


async def _close_late(peer: Peer, session_id: str, answer: object) -> None:
    """Close a terminal that the editor opened after North gave up: what runs there is wanted no more."""
    id = answer.get("terminalId") if isinstance(answer, dict) else None
    if not isinstance(id, str):
        return
    terminal = ClientTerminal(peer, session_id, id)
    for close in (terminal.kill, terminal.release):
        with contextlib.suppress(ToolError):  # nobody is left to be told
            await close()


async def _ask(
    peer: Peer, method: str, params: dict[str, Any], seconds: float = _SECONDS, late: Late | None = None
) -> dict[str, Any]:
    try:
        with anyio.fail_after(seconds):
            answer = await peer.request(method, params, cancellable=True, late=late)
    except TimeoutError:
        raise ToolError("UNAVAILABLE", f"the editor did not answer {method} within {seconds:g} s") from None
    except RpcError as error:
        raise ToolError("UNAVAILABLE", f"the editor's terminal failed at {method}: {error}") from None
    return answer if isinstance(answer, dict) else {}
