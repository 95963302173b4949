"""The slash commands that make room, as far as they need a session."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from north_lsp.slash.base import CommandError, Reply

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession

_BEGUN = "The older part of this conversation is being summarized; `/cancel` stops it."

_HANDS_OVER = (
    "A summary of this conversation is written for a new one, which opens then if your editor can; `/cancel` stops "
    "that. If it does not open, choose it in the list of conversations."
)


class CompactionHost:
    """The part of a slash command's `Host` that makes room. Every method may raise CommandError."""

    def __init__(self, session: LiveSession) -> None:
        self._compacted = session

    async def compact(self, instructions: str, keep_last: int | None) -> Reply:
        """End the running turn, then have the older part of the conversation summarized."""
        session = self._compacted
        await self._end_turn()
        try:
            await session.compacting.check(keep_last)
        except ValueError as error:
            raise CommandError(str(error)) from None
        return Reply(_BEGUN, then=partial(session.compacting.run, instructions, keep_last))

    async def hand_over(self, focus: str) -> Reply:
        """End the running turn, then begin another conversation with a summary of this one."""
        session = self._compacted
        await self._end_turn()
        try:
            await session.compacting.check(0)
        except ValueError:
            raise CommandError("there is nothing to hand over yet") from None
        return Reply(_HANDS_OVER, then=partial(session.compacting.hand_over, focus))

    async def _end_turn(self) -> None:
        if self._compacted.is_running:
            self._compacted.cancel()
            await self._compacted.quiet()
