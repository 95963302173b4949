"""Tells the user's extensions that the user goes from one conversation to another: before, when one may keep the
present one, and after. One that fails or does not answer in time before it keeps it, too."""

from __future__ import annotations

from typing import Literal

from north_lsp.agent.ports.extension_events import ExtensionEvents
from north_lsp.lazy_dataclass import dataclass

Reason = Literal["new", "resume", "fork", "branch", "handoff"]


class SwitchKept(ValueError):
    """An extension keeps the user in the present conversation; the text says which one, and why."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the conversation is not switched: {why}")


@dataclass(frozen=True, slots=True)
class Switch:
    """A way from one conversation (None: none was open) to another one."""

    reason: Reason
    previous: str | None


class Switches:
    """Tells of the switches of one client: which conversation it was in last is known here alone. `extensions` are told
    of them."""

    def __init__(self, extensions: ExtensionEvents) -> None:
        self._events = extensions
        self._last: str | None = None
        self._made: dict[str, Reason] = {}

    def is_in(self, id: str) -> None:
        """Note that the user is in a conversation."""
        self._last = id

    def has_made(self, id: str, reason: Reason) -> None:
        """Note why there is a conversation that has not been opened yet."""
        self._made[id] = reason

    async def before(self, reason: Reason | None, target: str | None) -> Switch:
        """Tell that the user goes from one conversation to another: to `target`, to a new one (None), or to a fork of
        `target`. Without a reason, it is to resume that one, or why it was just made. Raises SwitchKept."""
        why = reason or self._made.get(target or "", "resume")
        switch = Switch(why, self._last)
        if switch.previous is None or (reason != "fork" and switch.previous == target):
            return switch
        event = {"reason": why, "target": target, "sessionId": switch.previous}
        async for one in self._events.tell("session_before_switch", event):
            if one.problem:
                raise SwitchKept(f"the extension {one.extension} {one.problem}; fix it, or remove it from its folder")
            if one.cancels:
                raise SwitchKept(f"the extension {one.extension} cancels that{f': {one.why}' if one.why else ''}")
        return switch

    async def after(self, switch: Switch, id: str) -> list[str]:
        """Tell that the user has gone there; return what went wrong in extensions, a sentence each."""
        self._made.pop(id, None)
        if switch.previous in (None, id):
            return []
        event = {"reason": switch.reason, "sessionId": id, "previousSessionId": switch.previous}
        answers = [one async for one in self._events.tell("session_switch", event)]
        return [f"the extension {one.extension} {one.problem}" for one in answers if one.problem]
