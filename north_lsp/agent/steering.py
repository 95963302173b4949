"""Words that the user sends while a turn runs, for this turn: delivered between two steps of it, or given back."""

from dataclasses import dataclass, field

import anyio

from north_lsp.agent.prompt import Part


@dataclass
class _Word:
    parts: tuple[Part, ...]
    settled: anyio.Event = field(default_factory=anyio.Event)
    delivered: bool = False


class Steering:
    """The queue of one session. It is open while a turn runs."""

    def __init__(self) -> None:
        self._words: list[_Word] = []
        self._open = False

    @property
    def waits(self) -> bool:
        return bool(self._words)

    def open(self) -> None:
        self._open = True

    def close(self) -> None:
        """The turn has ended: what was not delivered goes back to whoever sent it."""
        self._open = False
        words, self._words = self._words, []
        for word in words:
            word.settled.set()

    async def send(self, parts: tuple[Part, ...]) -> bool:
        """Wait until the words are part of the conversation, or have come back: True or False. Cancelling withdraws
        them. Raises ValueError while no turn runs."""
        if not self._open:
            raise ValueError("no turn is running: send a prompt instead")
        word = _Word(parts)
        self._words.append(word)
        try:
            await word.settled.wait()
        finally:
            if word in self._words:
                self._words.remove(word)
        return word.delivered

    def take(self) -> tuple[Part, ...] | None:
        """The oldest words, which are delivered with that."""
        if not self._words:
            return None
        word = self._words.pop(0)
        word.delivered = True
        word.settled.set()
        return word.parts
