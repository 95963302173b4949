"""What every sign-in by OAuth does, to a provider of models or to an MCP server: it proves that who asks for a token is
who asked for the code, and one process at a time refreshes a token."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Callable
from urllib.parse import urlencode

import anyio
import anyio.to_thread

from north_lsp.storage.locks import FileLock, LockHeld

_LOOK_SECONDS = 0.05


class Proof:
    """The secrets of one sign-in: the `state` that its answer must have, and PKCE's verifier."""

    def __init__(self) -> None:
        self.state = secrets.token_urlsafe(32)
        self._verifier = secrets.token_urlsafe(64)

    def page(self, authorize: str, client: str, redirect: str, **more: str) -> str:
        """Return the address of the page on which the user signs in."""
        asked = {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": redirect,
            "state": self.state,
            "code_challenge": _unpadded(hashlib.sha256(self._verifier.encode()).digest()),
            "code_challenge_method": "S256",
        } | more
        return f"{authorize}{'&' if '?' in authorize else '?'}{urlencode(asked)}"

    def form(self, code: str, client: str, redirect: str, **more: str) -> dict[str, str]:
        """Return what a token is asked for with."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect}
        return form | {"code_verifier": self._verifier, "client_id": client} | more


async def taken(take: Callable[[], FileLock | LockHeld], seconds: float) -> FileLock | None:
    """Take a lock that another process may have for a moment; None if it has it for longer. Raises OSError."""
    with anyio.move_on_after(seconds):
        while not isinstance(lock := await anyio.to_thread.run_sync(take), FileLock):
            await anyio.sleep(_LOOK_SECONDS)
        return lock
    return None


def _unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
