"""A conversation that several processes have open: one writes, the others show what it does, live, and may take over.

Who writes, and what was written, is looked at a few times a second, beside the turns and on a thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import anyio
import anyio.to_thread

from north_lsp.agent.ports.events import Event, Notice, OpenElsewhere, QueuedPromptText
from north_lsp.agent.session.replay.reading_along import ReadingAlong, Shows
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.conversation import ConversationBusy
from north_lsp.storage.files import note_use

if TYPE_CHECKING:
    from north_lsp.agent.log.entries import Logged
    from north_lsp.agent.log.log import Log
    from north_lsp.agent.session.opening.left_turn import LeftTurn
    from north_lsp.agent.session.turns.unsent import UnsentPrompts
    from north_lsp.background import Background
    from north_lsp.storage.locks import LockHeld

_SECONDS = 0.2
_SECONDS_ALONE = 0.5
_ASKED_AGAIN = 1.0
_DELETED = "it was deleted in another editor or chat"


class SharedSession(Shows, Protocol):
    """The part of a `Session` that sharing its conversation uses."""

    left_turn: LeftTurn
    replaying: anyio.Lock
    unsent: UnsentPrompts

    @property
    def is_busy(self) -> bool:
        """Whether something runs, or waits to run."""
        ...

    @property
    def is_closed(self) -> bool: ...

    async def let_go(self) -> None:
        """Stop being the writer, so that another process can be. Nothing may run."""
        ...

    def cancel(self) -> None: ...

    async def begin_shell_anew(self) -> None:
        """Begin with a new shell, since another process has run the commands."""
        ...


def _followed(holder: LockHeld) -> str:
    """Say that another process writes a conversation."""
    if holder.is_leaving:
        return ""
    return (
        f"this conversation is open in another editor or chat ({holder}): what happens there is shown here; to "
        "continue it here, take it over or close it there, or continue a copy: `/fork`"
    )


def _unsent(prompt: QueuedPromptText) -> str:
    return f"this prompt was queued there and was not sent: {one_line(prompt.text, 2000)}"


@dataclass(frozen=True, slots=True)
class _Look:
    """The state of a conversation's files on the disk."""

    holder: LockHeld | None = None
    arriving: Logged | None = None
    wanted: str | None = None
    is_gone: bool = False


class Sharing:
    """Shares one conversation with other processes, from `begin` on until the session is closed."""

    def __init__(self, session: SharedSession, log: Log, show: Callable[[Event], Awaitable[None]]) -> None:
        self.holder: LockHeld | None = None
        """The other process that writes it, as far as was seen."""
        self.reading = ReadingAlong(log, session, show)
        self._session = session
        self._log = log
        self._conversation = log.conversation
        self._show = show
        self._told = OpenElsewhere(None)
        self._is_named = False
        self._arriving = anyio.Lock()
        self._is_begun = False
        self._freed = anyio.Event()
        self._went_elsewhere = False

    def opened(self, holder: LockHeld | None) -> None:
        """Note who writes the conversation as it is opened, which the client is told with the answer to that."""
        self.holder, self._is_named = holder, holder is not None
        self._went_elsewhere = holder is not None  # it may have let go by the first look

    def begin(self, background: Background) -> None:
        """Show from now on what other processes do with the conversation, and let go when one of them asks."""
        if not self._is_begun:
            self._is_begun = True
            background.start_soon(self._run)

    async def _run(self) -> None:
        """Look at what others do, until the session is closed."""
        while not self._session.is_closed:
            with suppress(OSError):  # it cannot be read now; the next look may do better
                look = await anyio.to_thread.run_sync(self._look)
                if not self._session.is_closed:  # meanwhile: what it wrote itself would count as another's
                    await self._step(look)
            await anyio.sleep(_SECONDS if self.holder is not None else _SECONDS_ALONE)

    @property
    def is_here(self) -> bool:
        """Whether this process is the writer, and has shown what another one has written before."""
        return self._conversation.is_writer and not self._is_behind and not self._arriving.locked()

    @property
    def _is_behind(self) -> bool:
        """Whether another process wrote it and that is not shown: a mode that is set also makes this one the writer."""
        return self.holder is not None or self._went_elsewhere

    async def arrive(self) -> None:
        """Become the writer, for one prompt after the other so that none overtakes another, and show what another
        process has written meanwhile. Raises ConversationBusy while the other one has it open."""
        async with self._arriving:
            if self._conversation.is_writer and not self._is_behind:
                return
            if (held := await anyio.to_thread.run_sync(self._conversation.lock)) is not None:
                raise ConversationBusy(held)
            await self._arrived()

    async def take_over(self) -> None:
        """Become the writer. Where something runs in the process that is, wait for its end: then it lets go."""
        async with self._arriving:
            await self._take_over()

    async def _take_over(self) -> None:
        ownership = self._conversation.ownership
        try:
            while await anyio.to_thread.run_sync(self._conversation.lock) is not None:
                self._freed = anyio.Event()
                await anyio.to_thread.run_sync(ownership.want)
                with anyio.move_on_after(_ASKED_AGAIN):  # a third process may have been quicker
                    await self._freed.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(ownership.want_no_more)
        await self._arrived()

    async def _arrived(self) -> None:
        """Show what another process has written, now that this one writes."""
        async with self._session.replaying:
            await self.reading.more()
            self.reading.pause()
        went_elsewhere, self._went_elsewhere = self._went_elsewhere or self.holder is not None, False
        self.holder = None
        await self._tell()
        if went_elsewhere:
            await self._session.begin_shell_anew()

    def stop_elsewhere(self) -> None:
        """Ask a process whose editor has gone to stop what it does."""
        if self.holder is not None and self.holder.is_leaving:
            self._conversation.ownership.want(stop=True)

    async def replayed(self) -> tuple[Sequence[Logged], Sequence[Event]]:
        """Note that the conversation is being shown from its beginning; returns its path, and what has arrived of an
        answer after it."""
        if self._conversation.is_writer:
            return self._log.path(), ()
        tools = await self._session.tools()
        arrives = self.holder is not None
        arriving = await anyio.to_thread.run_sync(self._log.arriving) if arrives else None
        path = self.reading.begin()
        gone = arriving is None or any(one.id == arriving.id for one in path)
        return path, () if gone else self.reading.arrived(arriving, tools)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _look(self) -> _Look:
        conversation = self._conversation
        if conversation.is_gone:
            return _Look(is_gone=True)
        with suppress(OSError):  # one that is not stored, or a disk that only reads
            note_use(conversation.path)
        if conversation.is_writer:
            return _Look(wanted=conversation.ownership.wanted())
        holder = conversation.holder()  # first: what is read then was written before it let go
        conversation.refresh()
        return _Look(holder, self._log.arriving() if holder is not None else None)

    async def _step(self, look: _Look) -> None:
        if look.is_gone:
            await self._deleted()
        elif self._conversation.is_writer:
            await self._asked(look.wanted)
        else:
            await self._follow(look)
            await self._tell()
            if look.holder is None:
                self._freed.set()

    async def _follow(self, look: _Look) -> None:
        async with self._session.replaying:
            if not (self._conversation.is_writer or self._session.is_closed):
                await self.reading.more(look.arriving)
                if self.holder is not None and look.holder is None:
                    await self._free()
                self.holder = look.holder
                self._went_elsewhere = self._went_elsewhere or look.holder is not None

    async def _deleted(self) -> None:
        if self._conversation.read_only_reason is None:
            self._conversation.disown(_DELETED)
            text = f"this conversation cannot continue: {_DELETED}. The current turn runs to its end and is not saved"
            await self._show(Notice("warning", text))

    async def _asked(self, wanted: str | None) -> None:
        """Do what another process asks of this one, which writes."""
        if wanted == "stop":
            self._session.cancel()
        if wanted is not None and not self._session.is_busy:
            await anyio.to_thread.run_sync(self._conversation.ownership.want_no_more)
            await self._session.let_go()

    async def _free(self) -> None:
        """Show what is left of what the other process was doing."""
        if await anyio.to_thread.run_sync(self._settle):
            await self._show(Notice("warning", "an interrupted answer was recovered"))
        await self.reading.more()
        self._session.unsent.adopt(self._log.queue())
        left = self._session.left_turn.find()
        await self.reading.interrupted(left.open_ids if left is not None else ())

    def _settle(self) -> bool:
        """Keep what a killed process left, if nobody else has; returns whether an answer was recovered."""
        with self._log.borrowed() as is_mine:
            recovered = is_mine and self._conversation.answer.recover()
            if is_mine:
                with suppress(ConversationBusy):
                    self._session.left_turn.settle()
        return recovered

    async def _tell(self) -> None:
        """Tell the client who writes the conversation, and what happens there, when that has changed."""
        holder, was_there = self.holder, self._told.pid is not None or self._is_named
        self._is_named = False
        if holder is not None:
            state, client = self.reading.state(), holder.client or ""
            now = OpenElsewhere(holder.pid or 0, client, state, holder.is_leaving)
        else:
            left = self._session.left_turn.find() if not self._conversation.is_writer else None
            queued = tuple(self._session.unsent.pop()) if was_there else ()
            reason = left.reason if left is not None else ""
            now = OpenElsewhere(None, unfinished=reason, queued=queued, notice="\n".join(map(_unsent, queued)))
        told, self._told = self._told, now
        if holder is not None and (told.pid, told.is_leaving) != (now.pid, now.is_leaving):
            now = replace(now, notice=_followed(holder))
        if was_there if now.pid is None else now != told:
            await self._show(now)
            if now.queued:
                self._session.unsent.confirm(now.queued)
