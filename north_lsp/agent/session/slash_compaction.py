"""The slash commands that make room, as far as they need a session."""

from functools import partial
from typing import TYPE_CHECKING

from north_lsp.slash.base import CommandError, Reply

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession

_BEGUN = "The older part of this conversation is summarised now; `/cancel` stops that."


class CompactionHost:
    """The part of a slash command's `Host` that makes room. Every method may raise CommandError."""

    def __init__(self, session: "LiveSession") -> None:
        self._compacted = session

    async def compact(self, instructions: str, keep_last: int | None) -> Reply:
        """End the running turn, then have the older part of the conversation summarised."""
        session = self._compacted
        if session.is_running:
            session.cancel()
            await session.quiet()
        try:
            await session.compacting.check(keep_last)
        except ValueError as error:
            raise CommandError(str(error)) from None
        return Reply(_BEGUN, then=partial(session.compacting.run, instructions, keep_last))
