"""Gives consecutive calls that read a common group id, so that a client can fold them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from north_lsp.agent.ports.events import (
    AnswerDelta,
    CallEnded,
    CallNamed,
    CallPreviewed,
    CallProposes,
    CallReady,
    CallRunning,
    CallTitled,
    Event,
    UserSaid,
)

_LOOKING = frozenset({"read", "search"})


class ReadGroups:
    """One session's groups. A prompt, an answer's text or a call of another kind ends a group; its id is that of its
    first call."""

    def __init__(self) -> None:
        self._current: str | None = None
        self._open: dict[str, str] = {}

    def mark(self, event: Event, updates: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield an event's updates, marked with the group of their call."""
        match event:
            case UserSaid():
                self._current = None
            case AnswerDelta(text=text) if text.strip():
                self._current = None
            case CallNamed(call_id, _, kind):
                if kind in _LOOKING:
                    self._current = self._open[call_id] = self._current or call_id
                else:
                    self._current = None
            case _:
                pass
        group = self._open.get(event.call_id) if isinstance(event, AboutCall) else None
        if isinstance(event, CallEnded):
            self._open.pop(event.call_id, None)
        for update in updates:
            yield update if group is None else _with_group(update, group)


AboutCall = CallNamed | CallTitled | CallPreviewed | CallReady | CallProposes | CallRunning | CallEnded


def _with_group(update: dict[str, Any], group: str) -> dict[str, Any]:
    meta = update.get("_meta") or {}
    return update | {"_meta": meta | {"north": meta.get("north", {}) | {"group": group}}}
