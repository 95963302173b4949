"""What a user sends to a session: a prompt for a turn of its own, for the one that runs, or for the queue. Commands in
it are run on the way."""

from __future__ import annotations

from typing import Protocol

import anyio

from north_lsp.agent.log.log import Log
from north_lsp.agent.log.prompt import Part, is_blank
from north_lsp.agent.session.commands.slash_commands import SlashCommands
from north_lsp.agent.session.keeping.remembering import Remembering
from north_lsp.agent.session.learning.learning import Learning
from north_lsp.agent.session.learning.memory import Memory
from north_lsp.agent.session.opening.left_turn import LeftTurn
from north_lsp.agent.session.opening.read_only import way_out
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.running_work import RunningWork
from north_lsp.agent.session.services.shell import SessionShell
from north_lsp.agent.session.sharing import Sharing
from north_lsp.agent.session.turns.turns import Turns
from north_lsp.agent.shell.own_command import nothing_to_run, parse_own_command
from north_lsp.agent.turn.queue import Answered, PromptQueue, QueuedPrompt, Stopped
from north_lsp.storage.errors import ConversationBusy
from north_lsp.storage.turn_settings import QueueKind
from north_lsp.vocabulary import Mode

_NO_TURN = "no turn is running: send a prompt instead"


class PromptedSession(Protocol):
    """The part of a `Session` that this needs."""

    mode: Mode
    queue: PromptQueue
    left_turn: LeftTurn
    sharing: Sharing

    @property
    def learning(self) -> Learning: ...

    @property
    def memory(self) -> Memory: ...

    @property
    def remembering(self) -> Remembering: ...

    @property
    def is_closed(self) -> bool: ...

    @property
    def read_only_reason(self) -> str | None: ...


class PromptIntake:
    """Accepts the prompts of one session: answers slash commands, runs own commands and queues the rest."""

    def __init__(
        self,
        session: PromptedSession,
        log: Log,
        slash: SlashCommands,
        shell: SessionShell,
        turns: Turns,
        work: RunningWork,
        environment: Environment,
    ) -> None:
        self._session = session
        self._conversation = log.conversation
        self._queue = session.queue
        self._slash = slash
        self._shell = shell
        self._turns = turns
        self._work = work
        self._environment = environment

    async def prompt(
        self, parts: tuple[Part, ...], scope: anyio.CancelScope, kind: QueueKind | None = None
    ) -> Answered:
        """Run a turn for what the user sent. A prompt during a turn waits for its end (`followUp`) or becomes part of
        it (`steer`), as `kind` or the settings say. Cancelling `scope` cancels only this prompt.

        Raises ValueError for nothing to send or a conversation that cannot be written, MissingCredential, ModelFailed.
        """
        session = self._session
        _check(parts)
        if session.is_closed:
            raise ValueError("this conversation has been closed")
        if (reason := session.read_only_reason) is not None:
            if not await self._slash.take_harmless(parts):
                told = f"this conversation cannot be continued: {reason}; {way_out(self._conversation)}"
                raise ValueError(told)
            return Answered("end_turn")
        session.learning.withdraw_offer()
        session.remembering.prompt(self._slash.shown(parts))
        mode = session.mode
        if not session.sharing.is_here:
            try:
                if not await self._arrived():
                    return Answered("cancelled", is_unsent=True)
            except ConversationBusy:
                if not await self._slash.take_harmless(parts):
                    raise
                return Answered("end_turn")
        own = parse_own_command(parts)
        if own is None:
            rest = await self._slash.take(parts)
            if rest is None:
                return Answered("end_turn")
            parts = rest
        stopped: Stopped = "cancelled"
        queued_prompt: QueuedPrompt | None = None
        with self._work.within(scope):  # before the first await, so that a cancel right after the prompt finds it
            if own is not None:
                stopped = await self._shell.run(own)
            else:
                queued_prompt = self._put(parts, scope, mode, kind)
                stopped = await self._queued(queued_prompt)
        if scope.cancelled_caught:
            stopped = "cancelled"
        is_unsent = stopped == "cancelled" and queued_prompt is not None and not queued_prompt.is_stored
        return Answered(stopped, is_unsent)

    def _put(
        self, parts: tuple[Part, ...], scope: anyio.CancelScope, mode: Mode, kind: QueueKind | None
    ) -> QueuedPrompt:
        wanted = kind or self._environment.settings.turns.queue_default
        steers = wanted == "steer" and self._queue.takes(mode)
        return self._queue.put("steer" if steers else "followUp", parts, mode, scope)

    async def _queued(self, queued_prompt: QueuedPrompt) -> Stopped:
        """Have a prompt wait for its turn, and for that turn's end."""
        try:
            if self._work.gate.is_taken:
                await self._queue.changed()
            stopped = await self._turns.take_turn(queued_prompt)
            self._session.learning.offer_after(stopped)
            self._session.memory.begin_after(stopped)
            return stopped
        finally:
            self._queue.drop(queued_prompt)

    async def resume_turn(self, scope: anyio.CancelScope) -> Stopped:
        """Continue with the turn that an earlier process did not finish. Raises ValueError if there is none,
        ConversationBusy, MissingCredential, ModelFailed."""
        if not self._session.sharing.is_here and not await self._arrived():
            return "cancelled"
        left_turn = self._session.left_turn
        with self._work.within(scope):
            async with self._work.gate.turns():
                if (left := left_turn.find()) is None:
                    raise ValueError("there is no unfinished turn to continue")
                return await self._turns.run(QueuedPrompt("", "followUp", (), left_turn.mode_of(left)), left)
        return "cancelled"

    async def _arrived(self) -> bool:
        """Make this process the writer of the conversation; False if the prompt is cancelled meanwhile. Raises
        ConversationBusy."""
        with self._work.within(anyio.CancelScope()) as scope:  # a cancel right after the prompt finds it
            await self._session.sharing.arrive()
        return not scope.cancel_called

    async def steer(self, parts: tuple[Part, ...]) -> QueuedPrompt:
        """Queue a prompt for the running turn: it is `delivered` when it has become part of the turn, and not if the
        turn ended without it. Raises ValueError if no turn runs, or for nothing to send."""
        _check(parts)
        self._session.remembering.prompt(self._slash.shown(parts))
        rest = await self._without_commands(parts)
        if rest is None:
            return QueuedPrompt("", "steer", parts, self._session.mode, delivered=True)
        return await self._queue.steer(rest, self._session.mode)

    async def follow_up(self, parts: tuple[Part, ...]) -> QueuedPrompt:
        """Queue a prompt for the end of the running turn; one that consists only of commands does not wait. Raises
        ValueError if no turn runs, or for nothing to send."""
        _check(parts)
        self._session.remembering.prompt(self._slash.shown(parts))
        rest = parts if parse_own_command(parts) is not None else await self._without_commands(parts)
        if rest is None:
            return QueuedPrompt("", "followUp", parts, self._session.mode, delivered=True)
        return await self._queue.follow_up(rest, self._session.mode)

    async def _without_commands(self, parts: tuple[Part, ...]) -> tuple[Part, ...] | None:
        """Run the commands in a prompt for the running turn; returns what is left of it. Raises ValueError if no turn
        runs."""
        if not self._queue.is_open:
            raise ValueError(_NO_TURN)
        if (own := parse_own_command(parts)) is not None:
            await self._shell.run(own)
            return None
        return await self._slash.take(parts)

    async def edit_queued(
        self, queued_prompt: QueuedPrompt, parts: tuple[Part, ...] | None, kind: QueueKind | None, place: int | None
    ) -> None:
        """Change a queued prompt. Raises ValueError if nothing would be left to send."""
        if parts is not None:
            _check(parts)
        rest = parts
        if parts is not None and parse_own_command(parts) is None:
            rest = await self._slash.take(parts)
            if rest is None:
                await self._queue.withdraw(queued_prompt)
                return
        await self._queue.edit(queued_prompt, rest, kind, place)


def _check(parts: tuple[Part, ...]) -> None:
    """Refuse a prompt with nothing to send. Raises ValueError."""
    if is_blank(parts):
        raise ValueError("nothing to send: the message is empty")
    if (problem := nothing_to_run(parts)) is not None:
        raise ValueError(problem)
