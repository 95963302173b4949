"""Models and keys over ACP: signing in and out, `_north/models/list` and `_north/keys/*`. A key that is passed in goes
to the key store or stays in the memory of this process; it never reaches a log, a conversation or an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from north_lsp.acp import params as read
from north_lsp.acp.elicitation import Elicitation
from north_lsp.acp.initialize import KEY_METHOD, SIGN_IN_METHOD, Client
from north_lsp.acp.signing_in import sign_in_for
from north_lsp.agent.models.keys import UserKeys
from north_lsp.agent.session.process.environment import Environment
from north_lsp.providers.catalog.model_selection import Allowed
from north_lsp.providers.model import ProviderInfo
from north_lsp.rpc.messages import AUTH_REQUIRED, INTERNAL_ERROR, Params, RpcError, invalid_params
from north_lsp.rpc.peer import Call, Handler, Peer
from north_lsp.storage.credentials import StoredKey

_T = TypeVar("_T")


def model_methods(
    environment: Environment, allowed_of: Callable[[Params], Allowed], peer: Peer, client: Client
) -> dict[str, Handler]:
    """Return the handlers by method name. `allowed_of` tells which models the session named in the params may use."""
    methods = _ModelMethods(environment, allowed_of, peer, client)
    environment.models.catalog_refresh.listen(methods.tell_status)
    return {
        "authenticate": methods.authenticate,
        "logout": methods.logout,
        "auth/status": methods.status,
        "_north/models/list": methods.models,
        "_north/keys/list": methods.keys,
        "_north/keys/set": methods.set_key,
        "_north/keys/remove": methods.remove_key,
    }


class _ModelMethods:
    def __init__(
        self, environment: Environment, allowed_of: Callable[[Params], Allowed], peer: Peer, client: Client
    ) -> None:
        self._peer = peer
        self._client = client
        self._told: Mapping[str, Any] | None = None
        self._models = environment.models
        self._keys = UserKeys(environment.models, environment.locations, environment.environ)
        self._allowed_of = allowed_of

    async def authenticate(self, params: Params, call: Call) -> object:
        """Sign in. Succeeds if any model can be used, even one that needs no key; North's own clients pass a key in
        `_meta.north`. A prompt to a model without a key tells the user what to do. A provider's method has the user
        sign in to it in a browser."""
        method = read.text(params, "methodId")
        if method.startswith(SIGN_IN_METHOD) and (info := await self._signs_in(method)) is not None:
            await sign_in_for(call, info, self._keys, Elicitation(self._peer, {"requestId": call.id}, self._client))
            return {}
        if method != KEY_METHOD:
            raise invalid_params("methodId", f"must be one of the offered methods, not {method!r}")
        meta = params.get("_meta")
        given = meta.get("north") if isinstance(meta, dict) else None
        if isinstance(given, dict):
            await self.set_key(given, call)
        if (problem := await self._models.problem()) is not None:
            raise RpcError(AUTH_REQUIRED, problem)
        return {}

    async def status(self, params: Params, call: Call) -> object:
        """Tell whether there are keys, and where. Without any, North works with the models that need none."""
        self._told = await self._status()
        return self._told

    async def tell_status(self) -> None:
        """Tell a client that has asked for the status when it is another one. Others do not know the draft's word."""
        if self._told is not None and (now := await self._status()) != self._told:
            self._told = now
            await self._peer.notify("auth/status_update", now)

    async def _status(self) -> Mapping[str, Any]:
        accounts = await self._keys.accounts()
        if accounts:
            return {"state": "authenticated", "accounts": [{"label": label, "active": True} for label in accounts]}
        return {"state": "unauthenticated" if await self._models.problem() is not None else "not_required"}

    async def logout(self, params: Params, call: Call) -> object:
        """Forget every key that North stored or was given; environment variables and models.yml belong to the user and
        stay."""
        await _stored(self._keys.forget_all())
        return {}

    async def models(self, params: Params, call: Call) -> object:
        """List the models: `{pattern?, available?, sessionId?}` → `{models}`."""
        pattern = read.optional_text(params, "pattern") or ""
        found = await self._models.listed(pattern, self._allowed_of(params), available=read.flag(params, "available"))
        return {"models": [row.to_json() for row in found]}

    async def keys(self, params: Params, call: Call) -> object:
        """Return the stored keys by label and last characters, and the providers that a key can be stored for."""
        stored = [_shown(key) | {"rest": self._keys.rest_of(key)} for key in await self._keys.known()]
        providers = [
            {"id": info.id, "name": info.title} | ({"signsIn": True} if info.sign_in is not None else {})
            for info in self._keys.providers()
        ]
        return {"keys": stored, "providers": providers}

    async def set_key(self, params: Params, call: Call) -> object:
        """Store a key: `{provider, key, label?, runtime?, force?}` → `{key?}`. The key is tried first, unless `force`
        says to store it in any case; with `runtime` it is kept in this process only."""
        info = self._provider(read.text(params, "provider"))
        secret = read.text(params, "key").strip()
        if not secret:
            raise invalid_params("key", "must not be empty")
        problem = None if read.flag(params, "force") else await self._keys.problem(info, secret)
        if problem is not None:
            raise RpcError(AUTH_REQUIRED, problem, {"field": "key", "mayForce": True})
        if read.flag(params, "runtime"):
            await self._keys.give(info, secret)
            return {}
        label = read.optional_text(params, "label") or info.title
        return {"key": _shown(await _stored(self._keys.store(info, secret, label[:80])))}

    async def remove_key(self, params: Params, call: Call) -> object:
        """Remove one key or all keys of a provider: `{id}` or `{provider}` → `{removed}`, the number of keys."""
        id, provider = params.get("id"), read.optional_text(params, "provider")
        if (id is None) == (provider is None):
            raise invalid_params("id", "must be given, or provider, but not both")
        if id is not None and (not isinstance(id, int) or isinstance(id, bool)):
            raise invalid_params("id", "must be a number")
        return {"removed": await _stored(self._keys.remove(id, provider))}

    async def _signs_in(self, method: str) -> ProviderInfo | None:
        """Return the provider of a method; None for one that nobody signs in to."""
        await self._models.catalog_refresh.refresh()
        found = self._keys.provider(method.removeprefix(SIGN_IN_METHOD))
        return found if found is not None and found.sign_in is not None else None

    def _provider(self, id: str) -> ProviderInfo:
        found = self._keys.provider(id)
        if found is None:
            raise invalid_params("provider", f"must be a provider that North knows, not {id[:64]!r}")
        return found


async def _stored(work: Awaitable[_T]) -> _T:
    try:
        return await work
    except OSError as error:
        raise RpcError(INTERNAL_ERROR, str(error)) from None


def _shown(key: StoredKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "provider": key.provider,
        "label": key.label,
        "ending": key.ending,
        "createdAt": key.created_at,
        "lastUsedAt": key.last_used_at,
    }
