"""Waits before a model is asked again, with a countdown that the user can see, shorten and end."""

from __future__ import annotations

import math
from typing import Literal

import anyio

from north_lsp.agent.log.log import Log
from north_lsp.agent.log.marks import RetryEntry
from north_lsp.agent.log.projection import retry_shown
from north_lsp.agent.ports.events import RetryEnded, RetryWaiting
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.turn.retry import Retries, RetryControl, Wait
from north_lsp.providers.base import Failed
from north_lsp.storage.entries import new_entry_id


class RetryWait:
    """The waits of one turn; `retries` decides whether and for how long. Those that are shown are in the log."""

    def __init__(self, retries: Retries, control: RetryControl, ports: Ports, log: Log) -> None:
        self.retries = retries
        self._control = control
        self._ports = ports
        self._log = log
        self._attempt = 0  # number of the current retry

    async def wait(self, step: Wait, failure: Failed) -> bool:
        """Wait before a retry; returns False if the user gives up."""
        ports, control = self._ports, self._control
        ports.diagnostics.event(
            "api_retry_attempt",
            layer=step.layer,
            attempt=step.attempt,
            delayMs=round(step.seconds * 1000),
            kind=failure.kind,
        )
        id = f"retry-{new_entry_id(())}"
        outcome: Literal["over", "stopped"] = "stopped"
        first = True
        self._attempt = step.attempt
        await ports.status.set("retrying")
        control.begin()  # before it is shown: the user may be quick
        deadline = anyio.current_time() + step.seconds
        try:
            # A wait that ends has begun, however short it is.
            while (left := max(deadline - anyio.current_time(), 0.0)) > 0 or first:
                if step.shown:
                    remaining, why = math.ceil(left), failure.message
                    event = RetryWaiting(id, step.attempt, step.of, remaining, why, "waiting", first, failure.kind)
                    await ports.show(event)
                first = False
                if await control.wait(min(left, 1.0)):
                    break
            outcome = "stopped" if control.aborted else "over"
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.ended("cancelled by the user")
            raise
        finally:
            control.finished()
            if step.shown and not first:
                with anyio.CancelScope(shield=True):
                    entry = RetryEntry(id, step.attempt, step.of, failure.message, failure.kind, outcome)
                    self._log.append(entry)
                    await ports.show(retry_shown(entry, is_first=False))
        return outcome == "over"

    async def ended(self, error: str = "") -> None:
        """Show how the retries ended, if there were any."""
        attempt, self._attempt = self._attempt, 0
        if attempt:
            await self._ports.show(RetryEnded(not error, attempt, error))
