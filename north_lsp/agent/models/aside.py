"""Asks a model beside the turns (for a title, a summary, a profile) and records what that used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from north_lsp.agent.log.log import Log
from north_lsp.providers.base import AssistantMessage, Done, Failed, ModelRequest, Provider, TextDelta, Usage
from north_lsp.providers.model import Model

_TRIES = 3
_LONGEST_WAIT_SECONDS = 30.0

Progress = Callable[[int], Awaitable[None]]
"""Is told of how many more characters have arrived."""


async def _untold(_: int) -> None:
    pass


class AsideRequests:
    """Requests for one purpose, recorded in one conversation's log. `count` adds what a request used to the costs of
    all conversations."""

    def __init__(self, log: Log, purpose: str, count: Callable[[Model, Usage], None]) -> None:
        self._log = log
        self._purpose = purpose
        self._count = count

    async def ask(
        self, request: ModelRequest, model: Model, provider: Provider, progress: Progress = _untold
    ) -> Done | Failed:
        """Ask once, and record what it used, whatever became of the answer."""
        end = await _end_of(request, provider, progress)
        usage = (end.message if isinstance(end, Done) else end.partial).usage
        if usage != Usage():
            self._count(model, usage)
            self._log.record_usage(self._purpose, model.selector, usage, model.prices.split(usage))
        return end


async def until_done(ask: Callable[[], Awaitable[Done | Failed]], first_wait_seconds: float) -> Done | Failed:
    """Ask, and again after failures that may be temporary, unless the vendor wants a long wait."""
    wait = first_wait_seconds
    for attempt in range(1, _TRIES + 1):
        end = await ask()
        if isinstance(end, Done) or not end.retryable or attempt == _TRIES:
            return end
        asked_for = (end.retry_after_ms or 0) / 1000
        if asked_for > _LONGEST_WAIT_SECONDS:
            return end
        await anyio.sleep(asked_for or wait)
        wait *= 2
    raise AssertionError("the last attempt returns")


async def _end_of(request: ModelRequest, provider: Provider, progress: Progress) -> Done | Failed:
    async for event in provider.stream(request):
        match event:
            case Done() | Failed():
                return event
            case TextDelta(_, text):
                await progress(len(text))
            case _:
                pass
    return Failed("network", "the stream ended early", AssistantMessage(()), retryable=True)
