"""What the user sends while a turn runs: words for this turn (`steer`), and prompts for when it ends (`followUp`)."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

import anyio

from north_lsp.agent.log.prompt import Part, shown_parts
from north_lsp.agent.ports.events import QueueChanged, QueuedText
from north_lsp.storage.entries import new_entry_id
from north_lsp.storage.settings import DequeueMode, InterruptMode, QueueKind
from north_lsp.vocabulary import Mode

Row = dict[str, str]
"""Words as they are stored: their `id`, `kind`, `mode`, and the `text` that the user gets back."""

Stopped = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


@dataclass(eq=False)
class Queued:
    """Something that waits. `mode` is the one that was in force when it was sent. Where `scope` is set, a request of
    the client's own waits for it, and ends with it; `stopped` is how the turn ended that it became part of."""

    id: str
    kind: QueueKind
    parts: tuple[Part, ...]
    mode: Mode
    scope: anyio.CancelScope | None = None
    settled: anyio.Event = field(default_factory=anyio.Event)
    delivered: bool = False
    stopped: Stopped | None = None

    @property
    def is_owned(self) -> bool:
        return self.scope is not None

    @property
    def text(self) -> str:
        return shown_parts(self.parts)


class PromptQueue:
    """The queues of one session, in the order in which things were sent. `show` is told of every change; before that,
    `keep` stores what waits, and what has left the queue without being in the conversation or back with the user yet:
    `kept` is what an earlier process left of that."""

    def __init__(
        self,
        show: Callable[[QueueChanged], Awaitable[None]],
        keep: Callable[[list[Row]], None] = lambda rows: None,
        kept: Sequence[Row] = (),
    ) -> None:
        self._show = show
        self._keep = keep
        self._kept = list(kept)
        self._leaving: list[str] = [row["id"] for row in kept]
        self._words: list[Queued] = []
        self._shown: QueueChanged = QueueChanged((), ())
        self._open = False
        self._mode: Mode | None = None
        self.steering_mode: DequeueMode = "one-at-a-time"
        self.follow_up_mode: DequeueMode = "one-at-a-time"
        self.interrupt_mode: InterruptMode = "immediate"

    def set_modes(self, steering: DequeueMode, follow_up: DequeueMode, interrupt: InterruptMode) -> None:
        """How much is taken at once for the turn and for the next one, and whether it interrupts calls."""
        self.steering_mode, self.follow_up_mode, self.interrupt_mode = steering, follow_up, interrupt

    @property
    def waiting(self) -> Sequence[Queued]:
        return tuple(self._words)

    @property
    def is_open(self) -> bool:
        """A turn runs that takes words."""
        return self._open

    @property
    def interrupts(self) -> bool:
        """The calls that have not begun are to be skipped for what the user said."""
        return self.interrupt_mode == "immediate" and any(word.kind == "steer" for word in self._words)

    def open(self, mode: Mode) -> None:
        """A turn begins, in a mode; words that were sent in another one are not for it."""
        self._open, self._mode = True, mode

    def takes(self, mode: Mode) -> bool:
        """Whether a turn runs that takes words sent in this mode."""
        return self._open and mode == self._mode

    def close(self) -> None:
        """The turn has ended: words that were for it go back to whoever sent them, and prompts wait for the next."""
        self._open = False
        for word in [word for word in self._words if word.kind == "steer"]:
            if word.is_owned:
                word.kind = "followUp"
            else:
                self._leave(word)
                self._settle(word, delivered=False)

    def put(
        self, kind: QueueKind, parts: tuple[Part, ...], mode: Mode, scope: anyio.CancelScope | None = None
    ) -> Queued:
        """Add at the end. `scope` is that of the request that waits for it. Call `changed` behind it."""
        word = Queued(new_entry_id({other.id for other in self._words}), kind, parts, mode, scope)
        self._words.append(word)
        return word

    async def changed(self) -> None:
        """Store and tell what waits, if that is not what was told last."""
        self._store()
        rows = {
            kind: tuple(QueuedText(word.id, word.text) for word in self._words if word.kind == kind)
            for kind in ("steer", "followUp")
        }
        event = QueueChanged(rows["steer"], rows["followUp"])
        if event != self._shown:
            self._shown = event
            await self._show(event)

    def _store(self) -> None:
        rows = [row for row in self._kept if row["id"] in self._leaving]
        rows += [{"id": word.id, "kind": word.kind, "mode": word.mode, "text": word.text} for word in self._words]
        if rows != self._kept:
            self._keep(rows)
            self._kept = rows

    def _leave(self, word: Queued) -> None:
        if any(row["id"] == word.id for row in self._kept):
            self._leaving.append(word.id)

    def stored(self, words: Sequence[Queued]) -> list[str]:
        """Those that are stored as waiting, by id: whoever puts them into the conversation names them there."""
        ids = [row["id"] for row in self._kept]
        return [word.id for word in words if word.id in ids]

    def delivered(self, words: Sequence[Queued]) -> None:
        """They stand in the conversation, by whose entry they do not wait any more."""
        ids = {word.id for word in words}
        self._leaving = [id for id in self._leaving if id not in ids]
        self._kept = [row for row in self._kept if row["id"] not in ids]

    def done(self, ids: Collection[str]) -> None:
        """They are back with the user, or under way."""
        self._leaving = [id for id in self._leaving if id not in ids]
        self._store()

    async def steer(self, parts: tuple[Part, ...], mode: Mode) -> Queued:
        """Wait until the words are part of the conversation, or have come back (`delivered` tells), as do words that
        were sent in another mode than the turn's. Cancelling withdraws them. Raises ValueError while no turn runs."""
        if self._open and not self.takes(mode):
            return Queued("", "steer", parts, mode)
        word = self._put_into_turn("steer", parts, mode)
        await self.changed()
        try:
            await word.settled.wait()
        finally:
            if word in self._words:
                self._words.remove(word)
                with anyio.CancelScope(shield=True):
                    await self.changed()
        return word

    async def follow_up(self, parts: tuple[Part, ...], mode: Mode) -> Queued:
        """A prompt for the end of the turn, which nobody waits for. Raises ValueError while no turn runs."""
        word = self._put_into_turn("followUp", parts, mode)
        await self.changed()
        return word

    def _put_into_turn(self, kind: QueueKind, parts: tuple[Part, ...], mode: Mode) -> Queued:
        if not self._open:
            raise ValueError("no turn is running: send a prompt instead")
        return self.put(kind, parts, mode)

    async def take_steering(self) -> list[Queued]:
        """The oldest words for this turn, or all of them; they are delivered with that."""
        words = [word for word in self._words if word.kind == "steer"]
        taken = words if self.steering_mode == "all" else words[:1]
        return await self._taken(taken)

    async def take_follow_ups(self, own: Queued) -> list[Queued]:
        """What the next turn is for: the oldest prompt (or all that wait), up to `own`, whose request asks; behind it
        only those that nobody waits for. Empty when there is none."""
        words = [word for word in self._words if word.kind == "followUp"]
        if own in words:
            taken = words if self.follow_up_mode == "all" else words[:1]
            if not (self.follow_up_mode == "all" or taken[0] is own or not taken[0].is_owned):
                taken = [own]  # an owned prompt ahead has its own task, which comes for it
        elif words and not words[0].is_owned:
            ahead = next((index for index, word in enumerate(words) if word.is_owned), len(words))
            taken = words[:ahead] if self.follow_up_mode == "all" else words[:1]
        else:
            taken = []
        return await self._taken(taken)

    async def _taken(self, words: list[Queued]) -> list[Queued]:
        for word in words:
            self._leave(word)
            self._settle(word, delivered=True)
        if words:
            await self.changed()
        return words

    def _settle(self, word: Queued, *, delivered: bool) -> None:
        if word in self._words:
            self._words.remove(word)
        word.delivered = delivered
        word.settled.set()

    # -- the user changes his mind -----------------------------------------------------------------------------------

    def find(self, id: str) -> Queued:
        """Raises KeyError for what does not wait (any more)."""
        for word in self._words:
            if word.id == id:
                return word
        raise KeyError(id)

    async def edit(
        self,
        word: Queued,
        parts: tuple[Part, ...] | None = None,
        kind: QueueKind | None = None,
        place: int | None = None,
    ) -> None:
        """Other words, another queue, or another place in it (from 0)."""
        word.parts = parts or word.parts
        word.kind = kind or word.kind
        if place is not None:
            self._words.remove(word)
            others = [index for index, other in enumerate(self._words) if other.kind == word.kind]
            self._words.insert(others[place] if place < len(others) else len(self._words), word)
        await self.changed()

    async def withdraw(self, word: Queued) -> None:
        """Out of the queue; a request that waits for it answers that it was cancelled."""
        self._settle(word, delivered=False)
        if word.scope is not None:
            word.scope.cancel()
        await self.changed()

    def drop(self, word: Queued) -> None:
        """Whoever waited for it does not any more."""
        if word in self._words:
            self._words.remove(word)
        self.done([word.id])

    def give_back(self) -> list[Queued]:
        """Everything that nobody waits for, out of the queues: the user gets it back, and then it is `done`."""
        back = [word for word in self._words if not word.is_owned]
        for word in back:
            self._leave(word)
            self._settle(word, delivered=False)
        return back


class Steering:
    """What the user says to the turn that runs. `say` brings it into the conversation."""

    def __init__(self, queue: PromptQueue, say: Callable[[Queued], Awaitable[None]]) -> None:
        self._queue = queue
        self._say = say

    def interrupts(self) -> bool:
        """Whether the calls that have not begun are to be skipped for it."""
        return self._queue.interrupts

    async def take(self) -> bool:
        """Bring the oldest of it, or all of it, into the conversation; whether there was anything."""
        with anyio.CancelScope(shield=True):  # what is taken out of the queue stands in the conversation
            said = await self._queue.take_steering()
            for word in said:
                await self._say(word)
        return bool(said)
