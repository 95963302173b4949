"""Decides when a model that failed is asked again: three budgets, their delays, and the user's control over the
wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Literal

import anyio

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Failed

Layer = Literal["request", "stream", "turn"]

_REQUEST_CAP = 30.0
_QUICK = 2.0


@dataclass(frozen=True, slots=True)
class RetrySettings:
    """Budgets count repeats, not the first try. Delays are in milliseconds; `base_delay_ms` is that of a turn's first
    repeat, and a request's first repeat waits half of it."""

    enabled: bool = True
    request_max_retries: int = 5
    stream_max_retries: int = 5
    max_retries: int = 3
    base_delay_ms: int = 2000
    max_delay_ms: int = 300_000
    max_elapsed_ms: int = 900_000


@dataclass(frozen=True, slots=True)
class Wait:
    """Try again after `seconds`. A quick first repeat is not `shown`."""

    layer: Layer
    seconds: float
    attempt: int
    of: int
    shown: bool


@dataclass(frozen=True, slots=True)
class RetryExhausted:
    """Do not try again. `note` says what was tried, or when to try again; empty if there is nothing to add."""

    note: str = ""


def _random() -> float:
    import random

    return random.random()


@dataclass
class Retries:
    """The budgets of one turn. `jitter` returns numbers from 0 to 1."""

    settings: RetrySettings
    jitter: Callable[[], float] = _random
    now: Callable[[], datetime] = datetime.now
    _used: dict[Layer, int] = field(default_factory=lambda: {"request": 0, "stream": 0, "turn": 0})
    _waited: float = 0.0

    def succeeded(self) -> None:
        """Reset the budgets, since an answer arrived."""
        self._used = {"request": 0, "stream": 0, "turn": 0}

    def after(self, failure: Failed, *, started: bool, delivered: bool) -> Wait | RetryExhausted:
        """Decide what to do after a failure. `started`: the stream had begun; `delivered`: the user has seen some of
        it."""
        settings = self.settings
        if not failure.retryable:
            return RetryExhausted()
        hint = (failure.retry_after_ms or 0) / 1000
        limit = settings.max_elapsed_ms / 1000
        if hint > limit:
            at = (self.now() + timedelta(seconds=hint)).strftime("%H:%M")
            return RetryExhausted(f"try again at {at}")
        if not delivered:
            layer: Layer = "stream" if started else "request"
            budget = settings.stream_max_retries if started else settings.request_max_retries
            if self._used[layer] < budget:
                base = min(settings.base_delay_ms / 2000 * 2 ** self._used[layer], _REQUEST_CAP)
                base *= 0.75 + self.jitter() / 2
                return self._wait(layer, max(base, hint), budget, limit)
        if not settings.enabled or self._used["turn"] >= settings.max_retries:
            tried = sum(self._used.values())
            return RetryExhausted(f"tried again {tried} times" if tried > 1 else "tried again once" if tried else "")
        base = min(settings.base_delay_ms * 2 ** self._used["turn"], settings.max_delay_ms) / 1000
        return self._wait("turn", max(base, hint), settings.max_retries, limit)

    def _wait(self, layer: Layer, seconds: float, budget: int, limit: float) -> Wait | RetryExhausted:
        if self._waited + seconds > limit:
            return RetryExhausted(f"gave up after {round(self._waited)} s of waiting")
        self._waited += seconds
        self._used[layer] += 1
        if layer == "turn":
            self._used["request"] = self._used["stream"] = 0
        shown = layer == "turn" or self._used[layer] > 1 or seconds > _QUICK
        return Wait(layer, seconds, self._used[layer], budget, shown)


class RetryControl:
    """The user's control over retries: whether there are any (`settings`), and while North waits for one, to continue
    now or to give up."""

    def __init__(self, settings: RetrySettings) -> None:
        self.settings = settings
        self._event: anyio.Event | None = None
        self.aborted = False

    @property
    def is_waiting(self) -> bool:
        return self._event is not None

    def set_enabled(self, enabled: bool) -> None:
        """Set whether a failed model is asked again, from the next turn on."""
        self.settings = replace(self.settings, enabled=enabled)

    def now(self) -> None:
        """End the wait; does nothing if there is none."""
        if self._event is not None:
            self._event.set()

    def abort(self) -> None:
        """End the wait and the retries; does nothing if there is none."""
        if self._event is not None:
            self.aborted = True
            self._event.set()

    def begin(self) -> None:
        """Let the user end the wait from now on, which is shown and then continues in steps."""
        self._event, self.aborted = anyio.Event(), False

    async def wait(self, seconds: float) -> bool:
        """Wait for a step; returns True if the user has ended the wait, even before."""
        assert self._event is not None
        with anyio.move_on_after(seconds):
            await self._event.wait()
        return self._event.is_set()

    def finished(self) -> None:
        self._event = None
