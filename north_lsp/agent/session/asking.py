"""Asks the user outside of a turn, so that a cancel gives the question up."""

from collections.abc import Sequence

import anyio

from north_lsp.agent.ports.editor import Choice, UserInterface
from north_lsp.storage.entries import new_entry_id


class Questions:
    """The questions of one session that belong to no turn: of slash commands, and about the conversation itself."""

    def __init__(self, editor: UserInterface) -> None:
        self._editor = editor
        self._waiting: list[anyio.CancelScope] = []

    async def choose(self, question: str, options: Sequence[tuple[str, str]], detail: str = "") -> str | None:
        """Ask the user to choose; return the option's id, None if nobody chose or the question was given up. `detail`
        is Markdown below the question."""
        with anyio.CancelScope() as scope:
            self._waiting.append(scope)
            try:
                return await self._editor.choose(Choice(f"choice-{new_entry_id(())}", question, tuple(options), detail))
            finally:
                self._waiting.remove(scope)
        return None

    def give_up(self) -> None:
        """Give up the questions that wait."""
        for scope in self._waiting:
            scope.cancel()
