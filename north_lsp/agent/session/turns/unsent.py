"""The prompts of a session that were queued and not sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from north_lsp.agent.log.queued import QueuedRow
from north_lsp.agent.ports.events import QueuedPromptText
from north_lsp.agent.turn.queue import PromptQueue, QueuedPrompt
from north_lsp.storage.errors import ConversationBusy


class UnsentPrompts:
    """The prompts that were queued and not sent: they belong in the user's input again. Those that an earlier process
    left queued (`rows`) are among them. They remain stored until they are confirmed."""

    def __init__(self, queue: PromptQueue, rows: Sequence[QueuedRow]) -> None:
        self._queue = queue
        self._waiting = _texts(rows)

    def adopt(self, rows: Sequence[QueuedRow]) -> None:
        """Take over what another process left queued, so that the user gets it back."""
        self._queue.adopt(rows)
        self._waiting = _texts(rows)

    def restore(self) -> None:
        """Take what no request waits for out of the queue, since the turn that it waited for did not end well."""
        self.add(self._queue.restore_unsent())

    def add(self, prompts: Iterable[QueuedPrompt]) -> None:
        self._waiting += [QueuedPromptText(prompt.id, prompt.text) for prompt in prompts]

    def give_back(self, back: Sequence[QueuedPromptText]) -> None:
        """Put popped prompts back, since the client could not be told of them."""
        self._waiting = [*back, *self._waiting]

    def pop(self) -> list[QueuedPromptText]:
        """Return, once, the texts that were queued and will not be sent."""
        back, self._waiting = self._waiting, []
        return back

    def confirm(self, prompts: Sequence[QueuedPromptText]) -> None:
        """Drop unsent prompts from the store: the user has them back."""
        with suppress(ConversationBusy):  # another process has the conversation open now, and offers them, too
            self._queue.done([prompt.id for prompt in prompts])


def _texts(rows: Iterable[QueuedRow]) -> list[QueuedPromptText]:
    return [QueuedPromptText(row.id, row.text) for row in rows]
