"""Signs the user in to a provider in a browser, by OAuth with PKCE, and refreshes what that gave. Knows nothing of
where it is kept; a token is never shown."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import anyio.to_thread

from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.credentials import can_be_sent
from north_lsp.providers.json_values import as_object
from north_lsp.providers.keys.callback import callback
from north_lsp.providers.keys.oauth import Proof
from north_lsp.providers.model import SignIn
from north_lsp.providers.tls import verification

_EARLY_SECONDS = 60.0
_WAIT_SECONDS = 300.0
_SECONDS = 15.0
_MAX_BYTES = 256 * 1024
_SECRETS = frozenset({"code", "code_verifier", "refresh_token"})


class SignInFailed(ValueError):
    """The user is not signed in; the text says why."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a sign-in gave: a token, what refreshes it, and when it ends (seconds since 1970; 0: it does not say)."""

    access: str
    refresh: str = ""
    expires_at: float = 0.0

    @classmethod
    def from_json(cls, text: str) -> Grant | None:
        """Read a stored one; None for anything else."""
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            return None
        match row:
            case {"access": str(access), "refresh": str(refresh), "expires_at": int() | float() as ends} if access:
                return cls(access, refresh, float(ends))
            case _:
                return None

    def to_json(self) -> str:
        return json.dumps({"access": self.access, "refresh": self.refresh, "expires_at": self.expires_at})

    @property
    def ends_soon(self) -> bool:
        return 0 < self.expires_at < time.time() + _EARLY_SECONDS

    @property
    def has_ended(self) -> bool:
        return 0 < self.expires_at <= time.time()

    def __repr__(self) -> str:
        return "Grant()"


async def sign_in(about: SignIn, environ: Mapping[str, str], show: Callable[[str], Awaitable[None]]) -> Grant:
    """Have the user sign in on a page that `show` has opened, within five minutes. Raises SignInFailed, OSError."""
    proof = Proof()
    async with callback(proof.state, about.port) as answer:
        scope = {"scope": " ".join(about.scopes)} if about.scopes else {}

        async def answered() -> Mapping[str, str]:
            await show(proof.page(about.authorize, about.client_id, answer.address, **scope))
            return await answer.wait()

        code = await _code(answered)
        return await _granted(about, environ, proof.form(code, about.client_id, answer.address), "")


async def refreshed(grant: Grant, about: SignIn, environ: Mapping[str, str]) -> Grant:
    """Return what takes the place of a token that ends. Raises SignInFailed, OSError."""
    if not grant.refresh:
        raise SignInFailed("the sign-in has ended")
    form = {"grant_type": "refresh_token", "refresh_token": grant.refresh, "client_id": about.client_id}
    return await _granted(about, environ, form, grant.refresh)


async def _code(wait: Callable[[], Awaitable[Mapping[str, str]]]) -> str:
    with anyio.move_on_after(_WAIT_SECONDS):
        given = await wait()
        if "error" in given or not given.get("code"):
            why = given.get("error_description") or given.get("error") or "the answer has no code"
            raise SignInFailed(f"the sign-in failed: {one_line(why, 300)}")
        return given["code"]
    raise SignInFailed(f"the sign-in timed out after {_WAIT_SECONDS / 60:g} minutes")


async def _granted(about: SignIn, environ: Mapping[str, str], form: Mapping[str, str], before: str) -> Grant:
    status, given = await _posted(about.token, environ, form)
    token = given.get("access_token")
    if status != 200 or not isinstance(token, str) or not token:
        said = str(given.get("error_description") or given.get("error") or f"status {status}")
        for name in _SECRETS & form.keys():
            said = said.replace(form[name], "…")
        raise SignInFailed(f"the sign-in service gave no token: {one_line(said, 300)}")
    if str(given.get("token_type", "bearer")).lower() != "bearer" or not can_be_sent(token):
        raise SignInFailed("the sign-in service gave an unsupported type of token")
    refresh, seconds = given.get("refresh_token"), given.get("expires_in")
    lasts = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < 10**9
    ends = time.time() + float(seconds) if lasts and seconds is not None else 0.0
    return Grant(token, refresh if isinstance(refresh, str) and refresh else before, ends)


async def _posted(address: str, environ: Mapping[str, str], form: Mapping[str, str]) -> tuple[int, Mapping[str, Any]]:
    import httpx2

    verify = await anyio.to_thread.run_sync(verification, environ, address)
    try:
        with anyio.fail_after(_SECONDS):
            async with httpx2.AsyncClient(verify=verify, timeout=_SECONDS, follow_redirects=False) as client:
                headers = {"accept": "application/json"}
                async with client.stream("POST", address, data=dict(form), headers=headers) as response:
                    data = b""
                    async for piece in response.aiter_bytes():
                        data += piece
                        if len(data) > _MAX_BYTES:
                            raise SignInFailed("the answer to the sign-in is too long")
    except TimeoutError:
        raise SignInFailed(f"there was no answer to the sign-in within {_SECONDS:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise SignInFailed(f"the sign-in service cannot be reached ({one_line(str(error), 200)})") from None
    try:
        return response.status_code, as_object(json.loads(data))
    except (ValueError, RecursionError):
        return response.status_code, {}
