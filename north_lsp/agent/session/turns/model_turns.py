"""Turns of a model: begun with what holds for them, and kept when they have ended."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from north_lsp.agent.costs.limits import Spending
from north_lsp.agent.log.prompt import TextPart
from north_lsp.agent.log.unfinished import Unfinished
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports import trace
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.results import StopTurn
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.session.keeping.remembering import Remembering
from north_lsp.agent.session.keeping.saved import SavedConversation
from north_lsp.agent.session.opening.opened import Stored
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.services.shell import SessionShell
from north_lsp.agent.session.services.surroundings import ModelSurroundings
from north_lsp.agent.session.turns.prompts import Prompts
from north_lsp.agent.session.turns.template_turns import TemplateTurn, template_turn
from north_lsp.agent.turn.history import History
from north_lsp.agent.turn.queue import QueuedPrompt, Steering, Stopped, in_numbers
from north_lsp.agent.turn.retry import Retries, RetryControl
from north_lsp.agent.turn.retry_wait import RetryWait
from north_lsp.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from north_lsp.agent.session.services.wiring import SessionParts


@dataclass
class TurnMeans:
    """What the turns of one session are made with."""

    stored: Stored
    history: History
    shell: SessionShell
    environment: Environment
    spending: Spending
    ports: Ports
    saved: SavedConversation
    _parts: SessionParts | None = field(default=None, init=False)

    async def parts(self) -> SessionParts:
        """Return the parts that turns share; their modules are loaded with the first turn."""
        if self._parts is None:
            await anyio.to_thread.run_sync(import_module, "north_lsp.agent.session.services.wiring")
            from north_lsp.agent.session.services.wiring import session_parts

            means = (self.shell, self.environment, self.spending, self.ports, self.saved)
            self._parts = session_parts(self.stored, self.history, *means)
        return self._parts


class ModelTurns:
    """The turns of one session's models, one after the other."""

    def __init__(
        self,
        means: TurnMeans,
        surroundings: ModelSurroundings,
        choice: ModelChoice,
        prompts: Prompts,
        remembering: Remembering,
        retry_control: RetryControl,
    ) -> None:
        self.surroundings = surroundings
        self._templates = prompts.delivery.templates
        self._means = means
        self._retry_control = retry_control
        self._choice = choice
        self._prompts = prompts
        self._remembering = remembering

    async def run(self, batch: Sequence[QueuedPrompt], left: Unfinished | None) -> Stopped:
        """Run one turn for prompts that are in the conversation, or continue with one. Raises MissingCredential,
        ModelFailed."""
        mode, means = batch[-1].mode, self._means
        diagnostics, status = means.ports.diagnostics, means.ports.status
        queue, delivery = self._prompts.queue, self._prompts.delivery
        wanted = await template_turn(self._templates, means.stored.log, batch, left)
        mode, sent_in = wanted.mode(mode), mode
        planning = await self._choice.planning() if mode == "plan" else None
        planning = planning or await wanted.model(self._choice, means.ports.editor)
        model, provider = planning or await self._choice.answering()
        started = anyio.current_time()
        diagnostics.begin_turn()
        diagnostics.event("user_prompt", **in_numbers(batch), **trace.fields(), mode=mode)
        context = await wanted.context(await self.surroundings.context(model, mode), means.ports.editor)
        with diagnostics.guarded("reading the costs"):
            await means.environment.costs.look()
        parts = await means.parts()
        waiting = RetryWait(Retries(self._retry_control.settings), self._retry_control, parts.ports, means.stored.log)
        steering = Steering(queue, delivery.look_up, delivery.join_turn)
        turn = parts.turn(context, self._choice, provider, waiting, steering)
        queue.open(sent_in)
        means.spending.begin_turn()
        is_stopped = False
        try:
            stopped = await self._called(wanted, parts, context) or await turn.run(left)
            is_stopped = stopped == "cancelled"
            if (following := turn.next) is not None and not is_stopped:
                if following.compacts:
                    with suppress(ValueError):  # there is nothing to summarize
                        await parts.builder(context, self._choice).summarize_now(model, "", None)
                queue.put("followUp", (TextPart(following.text, is_made=True),), following.mode)
            return stopped
        except anyio.get_cancelled_exc_class():
            is_stopped = True
            with anyio.CancelScope(shield=True):
                await status.set("cancelling")
            raise
        finally:
            queue.close()
            with anyio.CancelScope(shield=True):
                means.stored.conversation.resolve_pending()  # no question may be left without a decision
                await turn.finalize()
                if is_stopped:
                    await means.saved.note_stop()
                await means.saved.sync()
                self._remembering.turn_ended()
                with diagnostics.guarded("counting costs"):
                    await self._finish_costs()
            duration, state = round((anyio.current_time() - started) * 1000), status.current
            diagnostics.event("cancel_complete" if state == "cancelling" else "turn_end", durationMs=duration)

    async def _called(self, wanted: TemplateTurn, parts: SessionParts, context: TurnContext) -> Stopped | None:
        """Run the commands that the templates of the turn want the output of; return how the turn has ended if the user
        stops it there."""
        means = self._means
        stopped: Stopped | None = None
        with means.ports.diagnostics.guarded("running the commands of a template"):
            try:
                for name, commands in wanted.commands:
                    from north_lsp.agent.shell.own_commands import KeptCommands

                    kept = KeptCommands(means.stored.log, means.stored.artifacts, means.saved.sync)
                    await parts.called_commands(context, kept).run(name, commands)
            except StopTurn:
                stopped = "cancelled"
        return stopped

    async def _finish_costs(self) -> None:
        costs = self._means.environment.costs
        await costs.finish()
        if (problem := costs.take_problem()) is not None:
            await self._means.ports.show(Notice("warning", problem))
