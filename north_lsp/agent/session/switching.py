"""Tells the user's extensions that the user goes from one conversation to another: before, when one may keep the
present one, and after. One that fails or does not answer in time before it keeps it, too."""

import json
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

import anyio.to_thread

from north_lsp.agent.session.extension_events import (
    ExtensionFailed,
    answer_of,
    ensure_not_kept,
    kept_by_failure,
    problems_after,
    told_of,
)
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.locations import Locations

Reason = Literal["new", "resume", "fork", "branch", "handoff"]
_STAYS = "the conversation is not switched"
_JUST_MADE = 2.0  # seconds between the making of a copy and the last time that it was written


@dataclass(frozen=True, slots=True)
class Switch:
    """A way from one conversation (None: none was open) to another one."""

    reason: Reason
    previous: str | None


class Switches:
    """Those of one client: which conversation it was in last is known here alone."""

    def __init__(self, locations: Locations) -> None:
        self._locations = locations
        self._last: str | None = None

    def is_in(self, id: str) -> None:
        """Note that the user is in a conversation."""
        self._last = id

    async def before(self, reason: Reason | None, target: str | None) -> Switch:
        """Tell that the user goes from one conversation to another: to `target`, to a new one (None), or to a fork of
        `target`. Without a reason, it is to resume that one, or to open a copy that was just made. Raises
        KeptByExtension."""
        why = reason if reason is not None else await self._reason(target or "")
        switch = Switch(why, self._last)
        if switch.previous is None or (reason != "fork" and switch.previous == target):
            return switch
        event = {"reason": why, "target": target, "sessionId": switch.previous}
        for one in await told_of("session_before_switch", self._extensions):
            try:
                answer = await answer_of(one, event)
            except ExtensionFailed as error:
                raise kept_by_failure(one, error, _STAYS) from None
            ensure_not_kept(one, answer, _STAYS)
        return switch

    async def after(self, switch: Switch, id: str) -> list[str]:
        """Tell that the user has gone there; return what went wrong in extensions, a sentence each."""
        if switch.previous in (None, id):
            return []
        event = {"reason": switch.reason, "sessionId": id, "previousSessionId": switch.previous}
        return await problems_after("session_switch", self._extensions, event)

    async def _reason(self, id: str) -> Reason:
        return await anyio.to_thread.run_sync(_reason, self._locations.conversations, id)

    @property
    def _extensions(self) -> Path:
        return self._locations.config / "extensions"


def _reason(folder: Path, id: str) -> Reason:
    if not valid_conversation_id(id):
        return "resume"
    log = folder / f"{id}.jsonl"
    try:
        with log.open("rb") as file:
            header = json.loads(file.readline())
        made = datetime.fromisoformat(header["timestamp"]).timestamp()
        relation: Reason = header["parentSession"]["relation"]
        is_copy = relation in get_args(Reason) and log.stat().st_mtime - made < _JUST_MADE
    except (OSError, ValueError, LookupError, TypeError):
        return "resume"
    return relation if is_copy else "resume"
