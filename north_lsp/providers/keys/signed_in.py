"""Asks a model with the token of a sign-in. One that ends soon, or was refused, is refreshed before the next one is
asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

import anyio
import anyio.to_thread

from north_lsp.providers.base import AssistantMessage, Counted, Failed, ModelRequest, Provider, StreamEvent
from north_lsp.providers.credentials import Credential, MissingCredential
from north_lsp.providers.keys.oauth import taken
from north_lsp.providers.keys.sign_in import Grant, SignInFailed, refreshed
from north_lsp.providers.keys.sources import SIGN_IN, Keys
from north_lsp.providers.model import ProviderInfo, SignIn

_LOCK_SECONDS = 20.0


class SignedInProvider:
    """One model of a provider that the user has signed in to. `make` makes the provider for one token; it may take a
    moment, and raise MissingCredential."""

    def __init__(
        self,
        info: ProviderInfo,
        about: SignIn,
        keys: Keys,
        environ: Mapping[str, str],
        make: Callable[[Credential], Provider],
    ) -> None:
        self._info = info
        self._about = about
        self._keys = keys
        self._environ = environ
        self._make = make
        self._made: dict[str, Provider] = {}
        self._one_at_a_time = anyio.Lock()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        refused = ""
        while True:
            try:
                token, provider = await self._current(refused)
            except (SignInFailed, MissingCredential, OSError) as error:
                again = f"sign in again with `/login {self._info.id}` or `north-lsp login {self._info.id}`"
                yield Failed("auth", f"{self._info.title} cannot be asked: {error}; {again}", AssistantMessage(()))
                return
            failed: Failed | None = None
            delivered = False
            async with aclosing(provider.stream(request)) as events:
                async for event in events:
                    if isinstance(event, Failed) and event.kind == "auth" and not delivered and not refused:
                        failed = event
                        break
                    delivered = delivered or not isinstance(event, Counted)
                    yield event
            if failed is None:
                return
            refused = token

    async def aclose(self) -> None:
        for provider in self._made.values():
            await provider.aclose()

    async def _current(self, refused: str) -> tuple[str, Provider]:
        """Return the token to ask with, and the provider that does. Raises SignInFailed, MissingCredential, OSError."""
        async with self._one_at_a_time:
            grant = self._keys.sign_in(self._info.id)
            if grant is None:
                raise SignInFailed("you have signed out")
            if grant.ends_soon or grant.access == refused:
                grant = await self._refreshed(grant, refused)
            if grant.access not in self._made:
                credential = Credential(grant.access, SIGN_IN, is_token=True)
                self._made[grant.access] = await anyio.to_thread.run_sync(self._make, credential)
            return grant.access, self._made[grant.access]

    async def _refreshed(self, grant: Grant, refused: str) -> Grant:
        """Refresh the token, unless another process has done so meanwhile: who refreshes does it alone, since what
        refreshes may count once. One that has not ended is used if that fails. Raises SignInFailed, OSError."""
        keys, id = self._keys, self._info.id
        lock = await taken(lambda: keys.lock_sign_in(id), _LOCK_SECONDS)
        if lock is None:
            raise SignInFailed("another process is refreshing the sign-in and does not finish")
        try:
            await anyio.to_thread.run_sync(keys.refresh)
            now = keys.sign_in(id)
            if now is None:
                raise SignInFailed("you have signed out")
            if now.access != refused and not now.ends_soon:
                return now
            try:
                with anyio.CancelScope(shield=True):  # once it is asked, the token before may be spent
                    renewed = await refreshed(now, self._about, self._environ)
                    kept = await anyio.to_thread.run_sync(keys.renew_sign_in, id, now, renewed)
            except (SignInFailed, OSError):
                if now.has_ended or now.access == refused:
                    raise
                return now
            if kept is None:
                raise SignInFailed("you have signed out")
            return kept
        finally:
            lock.release(remove=False)
