"""Prompts that the user sends while a turn runs: for this turn (`steer`), and for when it ends (`followUp`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import field
from typing import Literal, NamedTuple

import anyio

from north_lsp.agent.log.prompt import Part, TextPart, shown_parts, without_editor
from north_lsp.agent.log.queued import QueuedRow
from north_lsp.agent.ports.events import QueueChanged, QueuedPromptText
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.entries import new_entry_id
from north_lsp.storage.turn_settings import DequeueMode, InterruptMode, QueueKind
from north_lsp.vocabulary import Mode

Stopped = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class Answered(NamedTuple):
    """How the work for a prompt stopped; and whether the prompt is neither part of the conversation nor was run, so
    that it belongs to the user again."""

    stopped: Stopped
    is_unsent: bool = False


@dataclass(eq=False)
class QueuedPrompt:
    """A prompt that waits. `mode` is the one that was set when it was sent. If `scope` is set, a request of the client
    waits for the prompt and ends with it, `is_at_gate` once that may begin a turn; `stopped` is how the turn that it
    became part of ended. It `is_stored` once it is part of the conversation. One that `stands_alone` says what holds
    for its turn, and shares it with no other."""

    id: str
    kind: QueueKind
    parts: tuple[Part, ...]
    mode: Mode
    scope: anyio.CancelScope | None = None
    delivered: bool = False
    stands_alone: bool = False
    settled: anyio.Event = field(default_factory=anyio.Event, init=False)
    stopped: Stopped | None = field(default=None, init=False)
    is_at_gate: bool = field(default=False, init=False)
    is_stored: bool = field(default=False, init=False)

    @property
    def is_owned(self) -> bool:
        return self.scope is not None

    @property
    def text(self) -> str:
        return shown_parts(self.parts)


def in_numbers(prompts: Sequence[QueuedPrompt]) -> dict[str, object]:
    """Return what North's log may have of prompts: how long they are, and whether they had to wait."""
    texts = [part.text for one in prompts for part in one.parts if isinstance(part, TextPart)]
    attached = sum(len(without_editor(one.parts)) for one in prompts) - len(texts)
    return {"length": sum(map(len, texts)), "attachments": attached, "queued": not any(one.is_owned for one in prompts)}


class PromptQueue:
    """The queued prompts of one session, in the order in which they were sent. `show` is told of every change; before
    that, `keep` stores what is queued, and what has left the queue but is neither in the conversation nor back with the
    user yet. `kept` is what an earlier process left of that. `stands_alone` tells which prompts share a turn with no
    other; a session sets it."""

    def __init__(
        self,
        show: Callable[[QueueChanged], Awaitable[None]],
        keep: Callable[[list[QueuedRow]], None] = lambda rows: None,
        kept: Sequence[QueuedRow] = (),
    ) -> None:
        self._show = show
        self._keep = keep
        self._kept = list(kept)
        self._leaving: list[str] = [row.id for row in kept]
        self._prompts: list[QueuedPrompt] = []
        self._shown: QueueChanged = QueueChanged((), ())
        self._open = False
        self._mode: Mode | None = None
        self.stands_alone: Callable[[tuple[Part, ...]], bool] = lambda parts: False
        self.steering_mode: DequeueMode = "one-at-a-time"
        self.follow_up_mode: DequeueMode = "one-at-a-time"
        self.interrupt_mode: InterruptMode = "immediate"

    def adopt(self, kept: Sequence[QueuedRow]) -> None:
        """Take over what another process left queued: it goes back to the user."""
        self._kept, self._leaving = list(kept), [row.id for row in kept]

    def set_modes(self, steering: DequeueMode, follow_up: DequeueMode, interrupt: InterruptMode) -> None:
        """Set how many prompts are taken at once for the turn and for the next one, and whether steering interrupts
        calls."""
        self.steering_mode, self.follow_up_mode, self.interrupt_mode = steering, follow_up, interrupt

    @property
    def waiting(self) -> Sequence[QueuedPrompt]:
        return tuple(self._prompts)

    @property
    def is_open(self) -> bool:
        """Whether a turn runs that takes steering."""
        return self._open

    @property
    def interrupts(self) -> bool:
        """Whether calls that have not begun must be skipped because of steering."""
        return self.interrupt_mode == "immediate" and any(
            queued_prompt.kind == "steer" for queued_prompt in self._prompts
        )

    def open(self, mode: Mode) -> None:
        """Begin a turn in a mode; steering that was sent in another mode is not for it."""
        self._open, self._mode = True, mode

    def takes(self, mode: Mode) -> bool:
        """Tell whether a turn runs that takes steering sent in this mode."""
        return self._open and mode == self._mode

    def close(self) -> None:
        """End the turn: steering that it did not take goes back to its sender, and follow-ups wait for the next
        turn."""
        self._open = False
        for queued_prompt in [queued_prompt for queued_prompt in self._prompts if queued_prompt.kind == "steer"]:
            if queued_prompt.is_owned:
                queued_prompt.kind = "followUp"
            else:
                self._leave(queued_prompt)
                self._finish(queued_prompt, delivered=False)

    def put(
        self, kind: QueueKind, parts: tuple[Part, ...], mode: Mode, scope: anyio.CancelScope | None = None
    ) -> QueuedPrompt:
        """Add a prompt at the end. `scope` is that of the request that waits for it. Call `changed` afterwards."""
        id, alone = new_entry_id({other.id for other in self._prompts}), self.stands_alone(parts)
        queued_prompt = QueuedPrompt(id, "followUp" if alone else kind, parts, mode, scope, stands_alone=alone)
        self._prompts.append(queued_prompt)
        return queued_prompt

    async def changed(self) -> None:
        """Store and show what is queued, if that has changed."""
        self._store()
        rows = {
            kind: tuple(
                QueuedPromptText(queued_prompt.id, queued_prompt.text)
                for queued_prompt in self._prompts
                if queued_prompt.kind == kind
            )
            for kind in ("steer", "followUp")
        }
        event = QueueChanged(rows["steer"], rows["followUp"])
        if event != self._shown:
            self._shown = event
            await self._show(event)

    def _store(self) -> None:
        rows = [row for row in self._kept if row.id in self._leaving]
        rows += [
            QueuedRow(queued_prompt.id, queued_prompt.kind, queued_prompt.mode, queued_prompt.text)
            for queued_prompt in self._prompts
        ]
        if rows != self._kept:
            self._keep(rows)
            self._kept = rows

    def _leave(self, queued_prompt: QueuedPrompt) -> None:
        if any(row.id == queued_prompt.id for row in self._kept):
            self._leaving.append(queued_prompt.id)

    def stored(self, queued_prompts: Sequence[QueuedPrompt]) -> list[str]:
        """Return the ids of those prompts that are stored as queued, to be named in the entry that puts them into the
        conversation."""
        ids = [row.id for row in self._kept]
        return [queued_prompt.id for queued_prompt in queued_prompts if queued_prompt.id in ids]

    def delivered(self, queued_prompts: Sequence[QueuedPrompt]) -> None:
        """Take prompts out of the store that are in the conversation now; their entry has taken them out of the
        queue."""
        for queued_prompt in queued_prompts:
            queued_prompt.is_stored = True
        ids = {queued_prompt.id for queued_prompt in queued_prompts}
        self._leaving = [id for id in self._leaving if id not in ids]
        self._kept = [row for row in self._kept if row.id not in ids]

    def done(self, ids: Collection[str]) -> None:
        """Take prompts out of the store that are back with the user, or being processed."""
        self._leaving = [id for id in self._leaving if id not in ids]
        self._store()

    async def steer(self, parts: tuple[Part, ...], mode: Mode) -> QueuedPrompt:
        """Queue steering, and wait until it is part of the conversation or has come back (see `delivered`). It comes
        back at once if it was sent in another mode than the turn's, or stands alone. Cancelling withdraws it. Raises
        ValueError if no turn runs."""
        if self._open and (not self.takes(mode) or self.stands_alone(parts)):
            return QueuedPrompt("", "steer", parts, mode)
        queued_prompt = self._put_into_turn("steer", parts, mode)
        await self.changed()
        try:
            await queued_prompt.settled.wait()
        finally:
            if queued_prompt in self._prompts:
                self._prompts.remove(queued_prompt)
                with anyio.CancelScope(shield=True):
                    await self.changed()
        return queued_prompt

    async def follow_up(self, parts: tuple[Part, ...], mode: Mode) -> QueuedPrompt:
        """Queue a prompt for the end of the turn, which no request waits for. Raises ValueError if no turn runs."""
        queued_prompt = self._put_into_turn("followUp", parts, mode)
        await self.changed()
        return queued_prompt

    def _put_into_turn(self, kind: QueueKind, parts: tuple[Part, ...], mode: Mode) -> QueuedPrompt:
        if not self._open:
            raise ValueError("no turn is running: send a prompt instead")
        return self.put(kind, parts, mode)

    async def take_steering(self) -> list[QueuedPrompt]:
        """Take the oldest steering for this turn, or all of it; it counts as delivered."""
        queued_prompts = [queued_prompt for queued_prompt in self._prompts if queued_prompt.kind == "steer"]
        taken = queued_prompts if self.steering_mode == "all" else queued_prompts[:1]
        return await self._taken(taken)

    def is_next(self, own: QueuedPrompt) -> bool:
        """Tell whether `own` may have its turn now: no other prompt whose request waits has been put before it."""
        waiting = [one for one in self._prompts if one.kind == "followUp"]
        if self.follow_up_mode == "all" or own not in waiting or waiting[0] is own:
            return True
        return not (waiting[0].is_owned and waiting[0].is_at_gate)

    async def take_follow_ups(self, own: QueuedPrompt) -> list[QueuedPrompt]:
        """Take the prompts of the next turn: the oldest one (or all), up to `own`, whose request is calling; after
        `own` only those that no request waits for. Empty if there are none."""
        queued_prompts = [queued_prompt for queued_prompt in self._prompts if queued_prompt.kind == "followUp"]
        if own in queued_prompts:
            taken = _together(queued_prompts) if self.follow_up_mode == "all" else queued_prompts[:1]
            if not (self.follow_up_mode == "all" or taken[0] is own or not taken[0].is_owned):
                taken = [own]  # an owned prompt ahead has its own task, which will take it
        elif queued_prompts and not queued_prompts[0].is_owned:
            ahead = next(
                (index for index, queued_prompt in enumerate(queued_prompts) if queued_prompt.is_owned),
                len(queued_prompts),
            )
            taken = _together(queued_prompts[:ahead]) if self.follow_up_mode == "all" else queued_prompts[:1]
        else:
            taken = []
        return await self._taken(taken)

    async def _taken(self, queued_prompts: list[QueuedPrompt]) -> list[QueuedPrompt]:
        for queued_prompt in queued_prompts:
            self._leave(queued_prompt)
            self._finish(queued_prompt, delivered=True)
        if queued_prompts:
            with anyio.CancelScope(shield=True):  # what is taken must reach who takes it
                await self.changed()
        return queued_prompts

    def _finish(self, queued_prompt: QueuedPrompt, *, delivered: bool) -> None:
        if queued_prompt in self._prompts:
            self._prompts.remove(queued_prompt)
        queued_prompt.delivered = delivered
        queued_prompt.settled.set()

    # -- the user changes their mind ---------------------------------------------------------------------------------

    def find(self, id: str) -> QueuedPrompt:
        """Find a queued prompt. Raises KeyError if it is not queued (any more)."""
        for queued_prompt in self._prompts:
            if queued_prompt.id == id:
                return queued_prompt
        raise KeyError(id)

    async def edit(
        self,
        queued_prompt: QueuedPrompt,
        parts: tuple[Part, ...] | None = None,
        kind: QueueKind | None = None,
        place: int | None = None,
    ) -> None:
        """Give a queued prompt other parts, another queue, or another place in it (from 0). One that stands alone waits
        for the turn's end."""
        queued_prompt.parts = parts or queued_prompt.parts
        queued_prompt.stands_alone = self.stands_alone(queued_prompt.parts)
        queued_prompt.kind = "followUp" if queued_prompt.stands_alone else kind or queued_prompt.kind
        if place is not None:
            self._prompts.remove(queued_prompt)
            others = [index for index, other in enumerate(self._prompts) if other.kind == queued_prompt.kind]
            self._prompts.insert(others[place] if place < len(others) else len(self._prompts), queued_prompt)
        await self.changed()

    async def withdraw(self, queued_prompt: QueuedPrompt) -> None:
        """Remove a prompt from the queue; a request that waits for it is answered as cancelled."""
        self._finish(queued_prompt, delivered=False)
        if queued_prompt.scope is not None:
            queued_prompt.scope.cancel()
        await self.changed()

    def drop(self, queued_prompt: QueuedPrompt) -> None:
        """Drop a prompt whose request no longer waits for it."""
        if queued_prompt in self._prompts:
            self._prompts.remove(queued_prompt)
        self.done([queued_prompt.id])

    def restore_unsent(self) -> list[QueuedPrompt]:
        """Take everything that no request waits for out of the queue: the user gets it back, and then it is `done`."""
        back = [queued_prompt for queued_prompt in self._prompts if not queued_prompt.is_owned]
        for queued_prompt in back:
            self._leave(queued_prompt)
            self._finish(queued_prompt, delivered=False)
        return back


def _together(prompts: Sequence[QueuedPrompt]) -> list[QueuedPrompt]:
    """Return those at the beginning that share a turn."""
    alone = next((index for index, one in enumerate(prompts) if one.stands_alone), len(prompts))
    return list(prompts[: max(alone, 1)])


class Steering:
    """Steering for the running turn. `look_up` finds what it mentions, which may take long and ask the user;
    `append_user_message` adds it to the conversation, with what has been found by then."""

    def __init__(
        self,
        queue: PromptQueue,
        look_up: Callable[[QueuedPrompt], Awaitable[None]],
        append_user_message: Callable[[QueuedPrompt], Awaitable[None]],
    ) -> None:
        self._queue = queue
        self._look_up = look_up
        self._append_user_message = append_user_message

    def interrupts(self) -> bool:
        """Tell whether calls that have not begun must be skipped because of it."""
        return self._queue.interrupts

    async def take(self) -> bool:
        """Add the oldest steering, or all of it, to the conversation; returns whether there was any."""
        said = await self._queue.take_steering()
        try:
            for queued_prompt in said:
                await self._look_up(queued_prompt)
        finally:
            with anyio.CancelScope(shield=True):
                for queued_prompt in said:
                    await self._append_user_message(queued_prompt)
        return bool(said)
