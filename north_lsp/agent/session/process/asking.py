"""Asks the user outside of a turn, so that a cancel gives the question up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import anyio

from north_lsp.agent.ports.editor import Choice, UserInterface
from north_lsp.storage.entries import new_entry_id


class Questions:
    """The questions of one session that belong to no turn: of slash commands, and about the conversation itself."""

    def __init__(self, editor: UserInterface) -> None:
        self.editor = editor
        self._waiting: list[anyio.CancelScope] = []

    async def choose(self, question: str, options: Sequence[tuple[str, str]], detail: str = "") -> str | None:
        """Ask the user to choose; return the option's id, None if nobody chose or the question was given up. `detail`
        is Markdown below the question."""
        with self.waiting():
            return await self.editor.choose(Choice(f"choice-{new_entry_id(())}", question, tuple(options), detail))
        return None

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait for something that the user may give up; then what is inside is left."""
        with anyio.CancelScope() as scope:
            self._waiting.append(scope)
            try:
                yield
            finally:
                self._waiting.remove(scope)

    def give_up(self) -> None:
        """Cancel the questions that wait for an answer."""
        for scope in self._waiting:
            scope.cancel()
