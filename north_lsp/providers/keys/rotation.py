"""Asks a model with one of several stored keys: a conversation keeps its key, since the vendor caches prompts by key,
until the vendor limits or refuses that key; then the next one is used at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

import anyio
import anyio.to_thread

from north_lsp.providers.base import (
    AssistantMessage,
    Counted,
    Done,
    ErrorKind,
    Failed,
    ModelRequest,
    Provider,
    StreamEvent,
    Told,
)
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.keys.resting import RestingKeys
from north_lsp.storage.credentials import StoredKey
from north_lsp.storage.noting import warn

_KINDS: dict[ErrorKind, str] = {
    "auth": "was refused",
    "rate_limit": "is limited for now",
    "quota_exhausted": "has used up its quota",
}
"""The failures for which another key may help, and what is said of the key."""


class RotatingProvider:
    """One model, asked with several keys of its provider. `make` makes the provider for one key; it may take a moment,
    and raise MissingCredential."""

    def __init__(
        self, title: str, keys: Sequence[StoredKey], resting: RestingKeys, make: Callable[[StoredKey], Provider]
    ) -> None:
        self._title = title
        self._keys = keys
        self._resting = resting
        self._make = make
        self._made: dict[int, Provider] = {}
        self._making = anyio.Lock()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        resting, of = self._resting, request.conversation_id
        tried: set[int] = set()
        # If all of them rest, one is asked nevertheless: whoever asks again has waited, or knows better.
        key = resting.pick(self._keys, of) or resting.soonest(self._keys)
        while True:
            tried.add(key.id)
            failed: Failed | None = None
            delivered = False
            async with aclosing(self._stream(key, request)) as events:
                async for event in events:
                    if isinstance(event, Failed) and event.kind in _KINDS:
                        failed = event
                        break
                    delivered = delivered or not isinstance(event, Counted)
                    if isinstance(event, Done):
                        await anyio.to_thread.run_sync(resting.answered, key)
                    yield event
            if failed is None:
                return
            await anyio.to_thread.run_sync(self._rest, key, failed)
            following = resting.pick(self._keys, of, tried)
            if following is None:
                yield self._all_rest(failed)
                return
            yield Told(f"the key {key.ending} of {self._title} {_KINDS[failed.kind]}; {following.ending} is used")
            if delivered:  # the answer has begun: it is asked for again as after any other break, with the next key
                yield replace(failed, retryable=True, retry_after_ms=None)
                return
            key = following

    async def aclose(self) -> None:
        for provider in self._made.values():
            await provider.aclose()

    async def _stream(self, key: StoredKey, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        try:
            provider = await self._provider(key)
        except MissingCredential as error:
            yield Failed("auth", str(error), AssistantMessage(()))
            return
        async with aclosing(provider.stream(request)) as events:
            async for event in events:
                yield event

    async def _provider(self, key: StoredKey) -> Provider:
        async with self._making:
            if key.id not in self._made:
                self._made[key.id] = await anyio.to_thread.run_sync(self._make, key, abandon_on_cancel=True)
            return self._made[key.id]

    def _rest(self, key: StoredKey, failed: Failed) -> None:
        warn(
            "key_rests", provider=key.provider, ending=key.ending, kind=failed.kind, retryAfterMs=failed.retry_after_ms
        )
        if failed.kind == "auth":
            self._resting.refuse(key)
        else:
            self._resting.limit(key, (failed.retry_after_ms or 0) / 1000 or None)

    def _all_rest(self, failed: Failed) -> Failed:
        """Return the failure of the last key, saying what has become of all of them; if one of them is only limited,
        it is to be tried again when the first of these is free."""
        resting = self._resting
        message = f"{failed.message} (none of the keys can be used: {resting.shown(self._keys)})"
        rests = [rest for key in self._keys if (rest := resting.rest_of(key)) is not None and rest.why == "limited"]
        if not rests:
            return replace(failed, message=message)
        wait = max(min(rest.until for rest in rests) - resting.now(), 0.0)
        kind: ErrorKind = "rate_limit" if failed.kind == "auth" else failed.kind
        retryable = failed.retryable or failed.kind == "auth"
        return replace(failed, kind=kind, message=message, retryable=retryable, retry_after_ms=round(wait * 1000))
