"""Masks every request to a model, and puts back in its answer what the placeholders stand for. There is no other way to
models."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, TypeVar, cast

import anyio.to_thread

from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.agent.secrets.streams import StreamRestorer
from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    Failed,
    Message,
    ModelRequest,
    Provider,
    StreamEvent,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from north_lsp.providers.model import Model
from north_lsp.providers.pool import ProviderPool

_T = TypeVar("_T")
_M = TypeVar("_M", bound=Message | ToolSpec)
_TRIES = 4
_Masked = dict[int | str, tuple[Message | ToolSpec, Message | ToolSpec]]
"""What was sent and what stood for it, by the message's identity or the tool's name."""


class MaskedPool:
    """The providers of a connection, for what is said in one conversation, or outside of all of them."""

    def __init__(self, pool: ProviderPool, secrets: Secrets) -> None:
        self._pool = pool
        self._masking = RequestMask(secrets)

    def of(self, secrets: Secrets) -> MaskedPool:
        """Return the same providers with the placeholders of a conversation."""
        return MaskedPool(self._pool, secrets)

    async def get(self, model: Model) -> Provider:
        """Return a model's provider. Raises MissingCredential."""
        return MaskedProvider(await self._pool.get(model), self._masking)


class MaskedProvider:
    """A provider that is never told a secret."""

    def __init__(self, provider: Provider, masking: RequestMask) -> None:
        self._provider = provider
        self._masking = masking

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        masked = await anyio.to_thread.run_sync(self._masking.masked, request)
        await self._masking.secrets.tell()
        if (why := self._masking.secrets.unknown) is not None:
            yield Failed("bad_request", why, AssistantMessage(()))
            return
        restorer = StreamRestorer(self._masking.secrets)
        async with aclosing(self._provider.stream(masked)) as events:
            async for event in events:
                for one in restorer.take(event):
                    yield one

    async def aclose(self) -> None:
        await self._provider.aclose()


class RequestMask:
    """Masks requests, each message and each tool once: what was sent before is the same object again, so that it is not
    converted again. Messages are found by identity or, if they were read from the log again, by their place; tools,
    which are described again for each request, by name."""

    def __init__(self, secrets: Secrets) -> None:
        self.secrets = secrets
        self._revision = -1
        self._known: _Masked = {}
        self._places: list[int] = []

    def masked(self, request: ModelRequest) -> ModelRequest:
        """Return a request without secrets. Takes a moment: for a thread."""
        secrets = self.secrets
        if secrets.is_on:
            secrets.refresh()
        for _ in range(_TRIES):
            known, begun = self._known if secrets.revision == self._revision else {}, secrets.revision
            used: _Masked = {}
            places = chain(self._places, repeat(None))
            made = replace(
                request,
                system=secrets.sent(request.system),
                messages=[
                    self._once(id(one), one, known, used, place)
                    for one, place in zip(request.messages, places, strict=False)
                ],
                tools=[self._once(one.name, one, known, used) for one in request.tools],
            )
            if secrets.revision == begun:  # else a value was found that may stand further up, too
                break
        if secrets.is_on and request.conversation_id:
            self._known, self._revision = used, begun
            self._places = [id(one) for one in request.messages]
        return made

    def _once(self, key: int | str, value: _M, known: _Masked, used: _Masked, place: int | None = None) -> _M:
        """Return the masked value; `place` is the key of the message that stood there in the last request."""
        found = known.get(key)
        if found is None or (found[0] is not value and found[0] != value):
            there = known.get(place) if place is not None else None
            is_same = there is not None and there[0] == value
            found = value, there[1] if there is not None and is_same else _masked(value, self.secrets)
        used[key] = found
        return cast(_M, found[1])


def _masked(value: Message | ToolSpec, secrets: Secrets) -> Message | ToolSpec:
    match value:
        case UserMessage(text):
            return _with(value, text=secrets.sent(text))
        case ToolResult(text=text):
            return _with(value, text=secrets.sent(text))
        case AssistantMessage(blocks=blocks):
            return _with(value, blocks=_same(blocks, tuple(_block(block, secrets) for block in blocks)))
        case ToolSpec(_, description, schema):
            return _with(value, description=secrets.sent(description), schema=secrets.sent(schema))


def _block(block: Block, secrets: Secrets) -> Block:
    match block:
        case Text(text):
            return _with(block, text=secrets.sent(text))
        case Thinking(thinking=text, signature=None):
            return _with(block, thinking=secrets.sent(text))
        case Thinking():  # only its vendor gets it, as that vendor wrote and signed it
            return block
        case ToolCall(arguments=arguments):
            return _with(block, arguments=secrets.sent(arguments))


def _with(value: _T, **fields: object) -> _T:
    """Return a dataclass with other values; the same object if they are the same."""
    if all(getattr(value, name) is one for name, one in fields.items()):
        return value
    return cast(_T, replace(cast(Any, value), **fields))


def _same(before: tuple[_T, ...], now: tuple[_T, ...]) -> tuple[_T, ...]:
    return before if all(one is other for one, other in zip(before, now, strict=True)) else now
