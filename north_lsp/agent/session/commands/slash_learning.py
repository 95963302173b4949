"""The slash commands about what North learns, as far as they need a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from north_lsp.slash.base import CommandError, MemoryAction

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession


class LearningHost:
    """The part of a slash command's `Host` that learns. Every method may raise CommandError."""

    def __init__(self, session: LiveSession) -> None:
        self._learner = session

    async def learn(self) -> str:
        try:
            return await self._learner.learning.learn()
        except ValueError as error:
            raise CommandError(str(error)) from None

    async def memory(self, action: MemoryAction) -> str:
        memory = self._learner.memory
        actions = {"view": memory.view, "clear": memory.clear, "enqueue": memory.enqueue, "rebuild": memory.rebuild}
        try:
            return await actions[action]()
        except ValueError as error:
            raise CommandError(str(error)) from None
