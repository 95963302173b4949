"""Works off the queued prompts of a session, turn by turn."""

from __future__ import annotations

import anyio

from north_lsp.agent.edits.gate import TurnGate
from north_lsp.agent.log.unfinished import Unfinished
from north_lsp.agent.ports.events import Notice, TurnEnded, TurnStarted
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.session.opening.left_turn import LeftTurn
from north_lsp.agent.session.services.shell import SessionShell
from north_lsp.agent.session.turns.model_turns import ModelTurns
from north_lsp.agent.session.turns.preparing import Preparation
from north_lsp.agent.session.turns.prompts import Prompts
from north_lsp.agent.shell.own_command import parse_own_command
from north_lsp.agent.turn.failure import ModelFailed
from north_lsp.agent.turn.queue import QueuedPrompt, Stopped


class Turns:
    """The turns of one session. Whoever runs them holds the gate."""

    def __init__(
        self,
        prompts: Prompts,
        preparation: Preparation,
        models: ModelTurns,
        shell: SessionShell,
        left_turn: LeftTurn,
        gate: TurnGate,
        ports: Ports,
    ) -> None:
        self._queue, self._delivery, self._unsent = prompts.queue, prompts.delivery, prompts.unsent
        self._preparation = preparation
        self._models = models
        self._shell = shell
        self._left_turn = left_turn
        self._gate = gate
        self._ports = ports

    async def take_turn(self, own: QueuedPrompt) -> Stopped:
        """Run `own`'s turn when it is its turn, in the order of the queue, which the user may have changed. Raises
        MissingCredential, ModelFailed."""
        own.is_at_gate = True
        while True:
            async with self._gate.turns():
                if self._queue.is_next(own):
                    return await self.run(own)

    async def run(self, own: QueuedPrompt, left: Unfinished | None = None) -> Stopped:
        """Run turns until `own` has had its turn, and for the queued prompts after it that no caller waits for; what
        an earlier process has `left` to do comes first. Raises MissingCredential, ModelFailed."""
        stopped: Stopped = own.stopped or "end_turn"
        while batch := [own] if left is not None else await self._queue.take_follow_ups(own):
            good = False
            self._gate.begin()
            try:
                stopped = await self._run_batch(batch, left)
                good = stopped == "end_turn"
            except ModelFailed:
                if own.stopped is not None:
                    raise
            finally:
                if not good:
                    self._unsent.restore()
            left = None
        return stopped

    async def _run_batch(self, batch: list[QueuedPrompt], left: Unfinished | None) -> Stopped:
        """Run one turn for prompts that are taken together, or continue with one; own commands run one by one."""
        stopped: Stopped = "cancelled"
        try:
            own = parse_own_command(batch[0].parts) if len(batch) == 1 else None
            if own is not None:
                self._queue.done([queued_prompt.id for queued_prompt in batch])  # so that it never runs twice
                stopped = await self._shell.run(own, locked=True)
            else:
                stopped = await self._run_turn(batch, left)
        except ModelFailed:
            stopped = "end_turn"
            raise
        finally:
            for queued_prompt in (*batch, *self._delivery.take_joined()):
                queued_prompt.stopped = stopped
        return stopped

    async def _run_turn(self, batch: list[QueuedPrompt], left: Unfinished | None) -> Stopped:
        ports = self._ports
        message_id, reason = "", "error"
        try:
            await ports.status.set("preparing")
            await self._preparation.prepare()
            if left is None:
                for event in await self._left_turn.give_up(self._models.surroundings.tools):
                    await ports.show(event)
            message_id = left.prompt_id if left is not None else await self._delivery.begin_turn(batch)
            with anyio.CancelScope(shield=True):  # as its end is told of
                await ports.show(TurnStarted(message_id))
            stopped = await self._models.run(batch, left)
            reason = stopped
        except anyio.get_cancelled_exc_class():
            reason = "cancelled"
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self._queue.changed()
                if (trouble := ports.diagnostics.take_trouble()) is not None:
                    await ports.show(Notice("error", trouble))
                self._gate.end()
                if message_id:
                    await ports.show(TurnEnded(message_id, reason))
                else:  # the turn ended before the prompts it took from the queue were stored
                    self._unsent.add(one for one in batch if not one.is_owned)
                await ports.status.set("idle")
        return stopped
