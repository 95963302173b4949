"""Signs in to a server behind an address, by OAuth as the protocol has it: the server says who signs users in, the user
does it in a browser, and North gets a token, which it refreshes."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from typing import Any

import anyio
import anyio.to_thread
import httpx2

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.mcp.sign_in_client import Carry, carried_by, sign_in_client
from north_lsp.mcp.sign_in_places import Places, hosts, is_safe
from north_lsp.mcp.sign_in_steps import MAX_BYTES, SECONDS, code_of, granted, registered, resource_of, signer_of
from north_lsp.mcp.transport import failure
from north_lsp.providers.keys.callback import callback
from north_lsp.providers.keys.oauth import Proof, taken
from north_lsp.storage.credentials import CredentialStore
from north_lsp.web.client import Resolve, WebClient, resolved

Show = Callable[[str, Sequence[str]], Awaitable[None]]
"""Has the user open an address in a browser; tells which hosts have a part in the sign-in."""

_EARLY = 60.0


@dataclass(frozen=True)
class Tokens:
    """What a sign-in gave, and what is needed to refresh it."""

    access: str
    refresh: str
    expires_at: float
    endpoint: str
    client: str
    resource: str

    def is_spent(self, refused: str) -> bool:
        """Whether another token is needed, as this one ends soon or was refused."""
        return self.access == refused or 0 < self.expires_at < time.time() + _EARLY

    def may_do(self, refused: str) -> bool:
        """Whether the token has not ended and was not refused."""
        return self.access != refused and not 0 < self.expires_at <= time.time()


class SignIns:
    """The sign-ins to servers, kept with the user's keys. `note` is told each token before anybody gets it."""

    def __init__(
        self,
        environ: Mapping[str, str],
        store: CredentialStore,
        note: Callable[[Iterable[str]], None],
        resolve: Resolve = resolved,
        carry: Carry | None = None,
    ) -> None:
        self._carry = carry or carried_by(environ)
        self._store = store
        self._note = note
        self._web = WebClient(environ, resolve)
        self._locks: dict[str, anyio.Lock] = {}

    async def sign_in(self, spec: ServerSpec, show: Show) -> None:
        """Have the user sign in. Raises ToolError, OSError."""
        if not is_safe(spec.url, spec):
            raise failure("its address must begin with https://: a token would be sent there")
        places = Places(self._web, spec)
        async with sign_in_client(places, self._carry, SECONDS) as client:
            resource, signers, scope = await resource_of(client, spec)
            signer = await signer_of(client, signers, spec, places)
            taking_part = hosts(signer.addresses)
            proof = Proof()
            async with callback(proof.state) as answer:
                client_id = spec.client_id or await registered(client, signer, answer.address)
                more = {"resource": resource} | ({"scope": scope} if scope else {})
                await show(proof.page(signer.authorize, client_id, answer.address, **more), taking_part)
                code = await code_of(answer.wait, signer)
                form = proof.form(code, client_id, answer.address, resource=resource)
                given = await granted(client, signer.token, form)
            tokens = self._noted(_tokens(given, Tokens("", "", 0, signer.token, client_id, resource)))
        await anyio.to_thread.run_sync(self.keep, spec, json.dumps(asdict(tokens)))

    async def sign_out(self, spec: ServerSpec) -> bool:
        """Forget the sign-in to a server; False if there is none. Raises OSError."""
        return bool(await anyio.to_thread.run_sync(lambda: self._store.remove(provider=_name(spec))))

    async def token(self, spec: ServerSpec, refused: str = "") -> str:
        """Return the token for a server, empty without a sign-in. One that ends soon, or that was `refused`, is
        refreshed. Raises ToolError, OSError."""
        tokens = await self._found(spec)
        if tokens is None or not tokens.is_spent(refused):
            return tokens.access if tokens is not None else ""
        if not tokens.refresh:
            return "" if refused else tokens.access
        try:
            return await self._refreshed(spec, refused)
        except (ToolError, OSError):
            if tokens.may_do(refused):
                return tokens.access
            raise

    async def _refreshed(self, spec: ServerSpec, refused: str) -> str:
        """Refresh a token, unless that was done meanwhile: who refreshes does it alone, among all processes, since a
        server may revoke what is used twice."""
        async with self._alone(spec):
            before = await anyio.to_thread.run_sync(self._store.sign_in, _name(spec))
            tokens = _read_tokens(before)
            if before is None or tokens is None or not tokens.is_spent(refused) or not tokens.refresh:
                return tokens.access if tokens is not None else ""
            form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh, "client_id": tokens.client}
            if not is_safe(tokens.endpoint, spec):
                raise failure("its sign-in is refreshed at an address that North does not sign in at")
            async with sign_in_client(Places(self._web, spec), self._carry, SECONDS) as client:
                given = await granted(client, tokens.endpoint, form | {"resource": tokens.resource})
            renewed = self._noted(_tokens(given, tokens))
            with anyio.CancelScope(shield=True):  # the token before is spent
                after = json.dumps(asdict(renewed))
                if await anyio.to_thread.run_sync(self._store.renew_sign_in, _name(spec), before, after):
                    return renewed.access
        found = await self._found(spec)  # the user has signed out meanwhile, or in again
        return found.access if found is not None else ""

    @asynccontextmanager
    async def _alone(self, spec: ServerSpec) -> AsyncIterator[None]:
        """Hold the lock of a sign-in. Raises ToolError, OSError."""
        name = _name(spec)
        async with self._locks.setdefault(name, anyio.Lock()):
            lock = await taken(lambda: self._store.lock(name), 2 * SECONDS)
            if lock is None:
                raise failure("another process is refreshing its sign-in and does not finish")
            try:
                yield
            finally:
                lock.release(remove=False)

    async def _found(self, spec: ServerSpec) -> Tokens | None:
        tokens = await anyio.to_thread.run_sync(self._kept, spec)
        return self._noted(tokens) if tokens is not None else None

    def _noted(self, tokens: Tokens) -> Tokens:
        self._note(token for token in (tokens.access, tokens.refresh) if token)
        return tokens

    def keep(self, spec: ServerSpec, tokens: str) -> None:
        """Store what a sign-in gave. Blocks; raises OSError."""
        self._store.keep_sign_in(_name(spec), f"MCP server {spec.name}", tokens)

    def _kept(self, spec: ServerSpec) -> Tokens | None:
        return _read_tokens(self._store.sign_in(_name(spec)))


def _read_tokens(kept: str | None) -> Tokens | None:
    try:
        return Tokens(**json.loads(kept)) if kept is not None else None
    except (ValueError, TypeError):
        return None


class SignedIn(httpx2.Auth):
    """Puts the token of a sign-in into each request. A request that is refused was not carried out: it is sent once
    more with another token, if there is one."""

    def __init__(self, spec: ServerSpec, sign_ins: SignIns) -> None:
        self._spec = spec
        self._sign_ins = sign_ins

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Put the token in. Raises ToolError where the user has signed in and that cannot be refreshed: no server is
        asked as if the user was nobody."""
        token = ""
        with suppress(OSError):  # it is not known whether there is one: the server says what is missing
            token = await self._sign_ins.token(self._spec)
        if token:
            request.headers["authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401 and token and (another := await self._another(token)) not in ("", token):
            request.headers["authorization"] = f"Bearer {another}"
            response.stream = _Short(response.stream)  # what is read of it first may have no end
            yield request

    async def _another(self, refused: str) -> str:
        try:
            return await self._sign_ins.token(self._spec, refused)
        except (ToolError, OSError):
            return ""  # the server says what is missing


class _Short(httpx2.AsyncByteStream):
    """The body of a refusal, which nobody wants; a long one is not read to its end."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._whole:
            size += len(chunk)
            if size > MAX_BYTES:
                raise httpx2.ReadError("the server keeps refusing")
            yield chunk

    async def aclose(self) -> None:
        await self._whole.aclose()


def _name(spec: ServerSpec) -> str:
    """Name the sign-in: of this server, as it is named there, at this address."""
    return "mcp:" + hashlib.sha256(json.dumps([spec.origin, spec.name, spec.url]).encode()).hexdigest()[:32]


def _tokens(granted: Mapping[str, Any], before: Tokens) -> Tokens:
    refresh, seconds = granted.get("refresh_token"), granted.get("expires_in")
    expires_at = time.time() + seconds if isinstance(seconds, int | float) and 0 < seconds < 1e9 else 0.0
    kept = refresh if isinstance(refresh, str) else before.refresh
    return replace(before, access=str(granted["access_token"]), refresh=kept, expires_at=expires_at)
